// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/runs/bookmark_panel.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QPainter>
#include <QSignalBlocker>
#include <QTableWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/window/session/bookmarks.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"

namespace kvscope {

namespace {

enum Column { kName, kStep, kNote, kColumns };

QIcon flag(const QColor& colour) {
  QPixmap pixmap(24, 24);
  pixmap.setDevicePixelRatio(2);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(colour);
  painter.drawRect(QRectF(2, 1, 1.5, 10));
  painter.drawPolygon(QPolygonF{{2, 1}, {10, 4}, {2, 7}});
  return pixmap;
}

}  // namespace

BookmarkPanel::BookmarkPanel(Workspace& workspace, Bookmarks& bookmarks, QWidget* parent)
    : QWidget(parent), m_workspace(workspace), m_bookmarks(bookmarks), m_table(new QTableWidget(0, kColumns, this)) {
  const auto button = [this](const QString& text, const QString& help) {
    auto* b = new QToolButton(this);
    b->setObjectName("headerText");
    b->setText(text);
    b->setToolTip(help);
    b->setAccessibleName(help);
    b->setFocusPolicy(Qt::StrongFocus);
    return b;
  };
  m_add = button("Add", "Bookmark this view (Ctrl+B)");
  m_go = button("Go", "Go to the bookmark (Enter)");
  m_colour = button("Colour", "Next colour of the flag");
  m_remove = button("Remove", "Remove the bookmark (Delete)");
  m_tools = new QWidget(this);
  auto* tools = new QHBoxLayout(m_tools);
  tools->setContentsMargins(0, 0, 0, 0);
  tools->setSpacing(2);
  for (QToolButton* b : {m_add, m_go, m_colour, m_remove}) tools->addWidget(b);
  tools->addStretch(1);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(8, 6, 8, 6);
  column->setSpacing(6);
  column->addWidget(m_tools);
  column->addWidget(m_table, 1);

  m_table->setHorizontalHeaderLabels({"name", "step", "note"});
  m_table->setAccessibleName("bookmarks");
  m_table->verticalHeader()->hide();
  m_table->verticalHeader()->setDefaultSectionSize(px(*this, 24));
  m_table->horizontalHeader()->setStretchLastSection(true);
  m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  m_table->setColumnWidth(kName, px(*this, 230));
  m_table->setColumnWidth(kStep, px(*this, 64));
  m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
  m_table->setSelectionMode(QAbstractItemView::SingleSelection);
  m_table->setEditTriggers(QAbstractItemView::EditKeyPressed | QAbstractItemView::AnyKeyPressed);
  m_table->setTabKeyNavigation(false);
  m_table->setShowGrid(false);
  m_table->setFrameShape(QFrame::NoFrame);
  m_table->installEventFilter(this);
  setFocusProxy(m_table);

  connect(m_add, &QToolButton::clicked, this, &BookmarkPanel::addRequested);
  connect(m_go, &QToolButton::clicked, this, [this] { Q_EMIT goRequested(current()); });
  connect(m_remove, &QToolButton::clicked, this, [this] { m_bookmarks.remove(current()); });
  connect(m_colour, &QToolButton::clicked, this, [this] {
    if (current() < 0) return;
    Bookmark b = m_bookmarks.all()[static_cast<std::size_t>(current())];
    b.colour = (b.colour + 1) % static_cast<int>(m_workspace.theme().runs.size());
    m_bookmarks.change(current(), b);
  });
  connect(m_table, &QTableWidget::itemDoubleClicked, this, [this](QTableWidgetItem* item) { Q_EMIT goRequested(item->row()); });
  connect(m_table, &QTableWidget::cellChanged, this, [this](int row, int cell) {
    // Queued: the change replaces the items, the edited one among them. What was written is taken now.
    const QString words = m_table->item(row, cell)->text();
    QMetaObject::invokeMethod(
        this, [this, row, cell, words] { write(row, cell, words); }, Qt::QueuedConnection);
  });
  connect(&bookmarks, &Bookmarks::changed, this, &BookmarkPanel::refresh);
  connect(&workspace, &Workspace::themeChanged, this, &BookmarkPanel::refresh);
  connect(m_table, &QTableWidget::itemSelectionChanged, this, [this] {
    for (QToolButton* b : {m_go, m_colour, m_remove}) b->setEnabled(current() >= 0);
  });
  refresh();
}

QString BookmarkPanel::facts() const {
  const int n = m_bookmarks.size();
  return n == 0 ? QString("none yet: Ctrl+B marks what you look at") : QString("%1").arg(n);
}

void BookmarkPanel::write(int row, int cell, const QString& words) {
  if (row >= m_bookmarks.size()) return;
  Bookmark b = m_bookmarks.all()[static_cast<std::size_t>(row)];
  if (cell == kName && !words.trimmed().isEmpty()) b.name = words.trimmed();
  if (cell == kNote) b.note = words;
  m_bookmarks.change(row, b);
  refresh();
}

int BookmarkPanel::current() const { return m_table->selectedItems().isEmpty() ? -1 : m_table->currentRow(); }

void BookmarkPanel::editNote(int index) {
  if (index < 0 || index >= m_table->rowCount()) return;
  m_table->setFocus();
  m_table->setCurrentCell(index, kNote);
  m_table->editItem(m_table->item(index, kNote));
}

void BookmarkPanel::refresh() {
  const QSignalBlocker quiet(m_table);
  const int row = m_table->currentRow();
  m_table->setRowCount(m_bookmarks.size());
  for (int i = 0; i < m_bookmarks.size(); ++i) {
    const Bookmark& b = m_bookmarks.all()[static_cast<std::size_t>(i)];
    const QString step = b.selection.step ? QString::number(*b.selection.step) : "latest";
    const QString texts[kColumns] = {b.name, step, b.note};
    for (int c = 0; c < kColumns; ++c) {
      auto* item = new QTableWidgetItem(texts[c]);
      item->setToolTip(texts[c]);
      if (c == kStep) item->setFlags(item->flags() & ~Qt::ItemIsEditable);
      if (c == kName)
        item->setIcon(flag(toColor(m_workspace.theme().runs[static_cast<std::size_t>(b.colour) % m_workspace.theme().runs.size()])));
      m_table->setItem(i, c, item);
    }
  }
  if (row >= 0 && row < m_table->rowCount()) m_table->selectRow(row);
  for (QToolButton* b : {m_go, m_colour, m_remove}) b->setEnabled(current() >= 0);
  Q_EMIT factsChanged();
}

bool BookmarkPanel::eventFilter(QObject* watched, QEvent* event) {
  if (watched == m_table && event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if ((key == Qt::Key_Return || key == Qt::Key_Enter) && current() >= 0) {
      Q_EMIT goRequested(current());
      return true;
    }
    if (key == Qt::Key_Delete && current() >= 0) {
      m_bookmarks.remove(current());
      return true;
    }
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace kvscope
