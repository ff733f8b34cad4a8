// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/runs/table_panel.h"

#include <utility>

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/window/files/export.h"
#include "app/window/files/write_path.h"
#include "app/window/look/spoken.h"
#include "app/window/panels/runs/row_table.h"
#include "app/window/panels/runs/table_panel_model.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/format.h"
#include "viz/draw/svg.h"

namespace kvscope {

namespace {

constexpr int kFilterWidth = 100;    // px
constexpr int kRefreshPauseMs = 40;  // a drag through the steps must not build a table for each

}  // namespace

TablePanel::TablePanel(Workspace& workspace, SessionController&, QWidget* parent)
    : QWidget(parent),
      m_workspace(workspace),
      m_model(new VizTableModel(this)),
      m_sorted(new TableSorter(this)),
      m_view(new QTableView(this)),
      m_filter(new QLineEdit(this)),
      m_note(new QLabel(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(8, 6, 8, 6);
  column->setSpacing(6);
  m_tools = new QWidget(this);
  auto* tools = new QHBoxLayout(m_tools);
  tools->setContentsMargins(0, 0, 0, 0);
  tools->setSpacing(6);
  m_filter->setPlaceholderText("Filter rows");
  offerClear(*m_filter);
  m_filter->setAccessibleName("filter the rows of the table");
  m_filter->setObjectName("header");
  m_filter->setMinimumWidth(kFilterWidth);
  auto* copy = new QToolButton(m_tools);
  copy->setObjectName("headerText");
  copy->setText("Copy");
  copy->setToolTip("copy the selected rows, or all (Ctrl+C)");
  copy->setAccessibleName("copy rows");
  auto* save = new QToolButton(m_tools);
  save->setObjectName("headerText");
  save->setText("Export CSV…");
  save->setAccessibleName("export the table as CSV");
  tools->addWidget(m_filter, 1);
  tools->addWidget(copy);
  tools->addWidget(save);
  column->addWidget(m_tools);

  m_sorted->setSourceModel(m_model);
  m_sorted->setFilterKeyColumn(-1);
  m_sorted->setFilterCaseSensitivity(Qt::CaseInsensitive);
  m_view->setModel(m_sorted);
  m_view->setSortingEnabled(true);
  m_view->sortByColumn(-1, Qt::AscendingOrder);
  makeRowTable(*m_view, m_workspace, "data table");
  m_view->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  column->addWidget(m_view, 1);
  m_note->setObjectName("secondary");
  m_note->setWordWrap(true);
  m_note->setTextFormat(Qt::PlainText);
  m_note->hide();
  column->addWidget(m_note);
  setFocusProxy(m_view);

  auto* copy_action = new QAction("Copy rows", m_view);
  copy_action->setShortcut(QKeySequence::Copy);
  copy_action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  m_view->addAction(copy_action);
  const auto copy_rows = [this] { QApplication::clipboard()->setText(tsv()); };
  connect(copy_action, &QAction::triggered, this, copy_rows);
  connect(copy, &QToolButton::clicked, this, copy_rows);
  connect(save, &QToolButton::clicked, this, &TablePanel::exportCsv);
  connect(m_filter, &QLineEdit::textChanged, this, [this](const QString& text) {
    m_sorted->setFilterFixedString(text);
    Q_EMIT factsChanged();
  });
  m_pause.setSingleShot(true);
  m_pause.setInterval(kRefreshPauseMs);
  connect(&m_pause, &QTimer::timeout, this, &TablePanel::refresh);
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged})
    connect(&workspace, signal, this, &TablePanel::refreshSoon);
}

void TablePanel::setSource(const QString& title, Source source) {
  m_title = title;
  m_source = std::move(source);
  m_view->setAccessibleDescription(title);
  refresh();
}

void TablePanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  refresh();
}

void TablePanel::refresh() {
  if (!isVisible()) return;
  viz::Table table = m_source ? m_source() : viz::Table{};
  const bool other_columns = table.columns != m_model->table().columns;
  m_model->setTable(std::move(table));
  if (other_columns) {
    m_view->sortByColumn(-1, Qt::AscendingOrder);  // a new table stands in its own order
    m_view->resizeColumnsToContents();
  }
  const QString note = qs(m_model->table().note);
  m_note->setText(note);
  m_note->setVisible(!note.isEmpty());
  Q_EMIT factsChanged();
}

QString TablePanel::facts() const {
  const auto all = qs(viz::format_count(m_model->rowCount()));
  const QString rows = m_sorted->rowCount() == m_model->rowCount()
                           ? QString("%1 rows").arg(all)
                           : QString("%1 of %2 rows").arg(qs(viz::format_count(m_sorted->rowCount())), all);
  return m_title.isEmpty() ? rows : m_title + " · " + rows;
}

QString TablePanel::csv() const { return QString::fromStdString(viz::to_csv(rowsOf(*m_view))); }

QString TablePanel::tsv() const { return tsvOf(*m_view, m_view->selectionModel()->hasSelection()); }

bool TablePanel::writeCsv(const QString& path, QString* error) const { return writeFile(path, csv().toStdString(), error); }

void TablePanel::exportCsv() {
  const QString path = askWhereToWrite(*this, "Export CSV", m_title.isEmpty() ? "table.csv" : m_title.toLower().replace(' ', '-') + ".csv",
                                       "Comma-separated values (*.csv)");
  if (path.isEmpty()) return;
  QString error;
  if (!writeCsv(path, &error)) QMessageBox::warning(this, "Export CSV", error);  // the note below goes with the next step that is shown
}

}  // namespace kvscope
