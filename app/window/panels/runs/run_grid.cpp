// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/runs/run_grid.h"

#include <algorithm>

#include <QCoreApplication>
#include <QGridLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMouseEvent>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QTableView>

#include "app/window/look/spoken.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {

constexpr int kRow = 22, kColumn = 46, kNarrow = 36;

/// A table without halves: rows end above its edge, and columns become narrower before they have to be scrolled to.
class WholeCells : public QTableView {
 public:
  using QTableView::QTableView;

 protected:
  void updateGeometries() override {
    if (m_updating) return;
    m_updating = true;
    const int columns = std::max(1, model() ? model()->columnCount() : 1);
    int least = kNarrow;  // with every heading whole
    for (int c = 0; model() && c < columns; ++c) least = std::max(least, horizontalHeader()->sectionSizeHint(c));
    const auto fit = [&] {  // where not all have room, as many as have it whole
      const int width = viewport()->width(), shown = std::clamp(width / least, 1, columns);
      const int most = shown < columns ? std::max(least, width / shown) : std::max(least, kColumn);
      horizontalHeader()->setDefaultSectionSize(std::clamp(width / shown, least, most));
    };
    fit();
    QTableView::updateGeometries();
    fit();
    QMargins margins = viewportMargins();
    margins.setBottom(viewport()->height() % kRow);
    setViewportMargins(margins);
    verticalHeader()->resize(verticalHeader()->width(), viewport()->height());
    m_updating = false;
  }

 private:
  bool m_updating = false;
};

constexpr int kHeaderPadding = 4;
constexpr int kHeaderText = 12;

/// The title of a kind of policies: begins with the names and goes on over the cells. left: where the names' column does.
void paintKind(QPainter& painter, const QRect& area, int left, const QString& title, const viz::Theme& theme) {
  painter.save();
  painter.setClipRect(area);
  painter.setFont(uiFont(kHeaderText, true));
  painter.setPen(toColor(theme.text));
  painter.drawText(QRect(left + kHeaderPadding, area.top(), area.right() - left, area.height()),
                   Qt::AlignLeft | Qt::AlignVCenter | Qt::TextDontClip, title);
  painter.restore();
}

/// The names of policies, and what the titles of their kinds begin with.
class Names : public QHeaderView {
 public:
  Names(const Workspace& workspace, const RunGridModel& model, QWidget* parent)
      : QHeaderView(Qt::Vertical, parent), m_workspace(workspace), m_model(model) {}

 protected:
  void paintSection(QPainter* painter, const QRect& area, int row) const override {
    if (!m_model.isHeading(row)) return QHeaderView::paintSection(painter, area, row);
    paintKind(*painter, area, area.left(), m_model.headerData(row, Qt::Vertical, Qt::DisplayRole).toString(), m_workspace.theme());
  }

 private:
  const Workspace& m_workspace;
  const RunGridModel& m_model;
};

/// A square to tick; a dash where nothing can be chosen, a dot where the run is there already.
class CellPainter : public QStyledItemDelegate {
 public:
  CellPainter(const Workspace& workspace, const QTableView& table) : QStyledItemDelegate(nullptr), m_workspace(workspace), m_table(table) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const viz::Theme& theme = m_workspace.theme();
    const auto cell = static_cast<RunGridModel::Cell>(index.data(Qt::UserRole).toInt());
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    // A policy without a budget has one cell, over all columns: its square stands with those of the first, and words say why.
    const QString words = index.data().toString();
    const bool over_all = !words.isEmpty() && option.rect.width() > 2 * kNarrow;
    const QPointF c(over_all ? option.rect.left() + kNarrow / 2.0 + 4 : QRectF(option.rect).center().x(), QRectF(option.rect).center().y());
    const QRectF box(c.x() - 6.5, c.y() - 6.5, 13, 13);
    switch (cell) {
      case RunGridModel::Cell::heading:
        paintKind(*painter, option.rect, option.rect.left() - m_table.verticalHeader()->width(), words, theme);
        return painter->restore();
      case RunGridModel::Cell::refused:
        painter->setPen(QPen(toColor(theme.line), 1.5));
        painter->drawLine(c - QPointF(4, 0), c + QPointF(4, 0));
        break;
      case RunGridModel::Cell::there:
        painter->setPen(Qt::NoPen);
        painter->setBrush(toColor(theme.secondary));
        painter->drawEllipse(c, 3.2, 3.2);
        break;
      case RunGridModel::Cell::free:
        painter->setPen(QPen(toColor(theme.disabled), 1));
        painter->drawRoundedRect(box, 3, 3);
        break;
      case RunGridModel::Cell::chosen:
        painter->setPen(Qt::NoPen);
        painter->setBrush(toColor(theme.accent));
        painter->drawRoundedRect(box, 3, 3);
        painter->setPen(QPen(toColor(theme.on_accent), 2, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
        painter->drawPolyline(QPolygonF{c + QPointF(-3.4, 0.2), c + QPointF(-0.9, 2.8), c + QPointF(3.6, -2.8)});
        break;
    }
    if (over_all) {
      painter->setFont(uiFont(11));
      painter->setPen(toColor(theme.secondary));
      const QRectF room = QRectF(option.rect).adjusted(kNarrow + 6, 0, 0, 0);
      painter->drawText(room, Qt::AlignLeft | Qt::AlignVCenter,
                        painter->fontMetrics().elidedText(words, Qt::ElideRight, static_cast<int>(room.width())));
    }
    if (option.state & QStyle::State_HasFocus) {
      painter->setBrush(Qt::NoBrush);
      painter->setPen(QPen(toColor(theme.accent), 1));
      painter->drawRoundedRect(QRectF(option.rect).adjusted(1.5, 1.5, -1.5, -1.5), 3, 3);
    }
    painter->restore();
  }

 private:
  const Workspace& m_workspace;
  const QTableView& m_table;
};

}  // namespace

RunGrid::RunGrid(Workspace& workspace, SessionController& controller, RunGridModel::For what, const QString& budgets, QWidget* parent)
    : QWidget(parent),
      m_workspace(workspace),
      m_model(new RunGridModel(workspace, controller, what, this)),
      m_budgets(new QLineEdit(budgets, this)),
      m_seeds(new QLineEdit("0", this)),
      m_words(new QLabel(this)),
      m_find(new QLineEdit(this)),
      m_table(new WholeCells(this)) {
  auto* rows = new QGridLayout(this);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setHorizontalSpacing(8);
  rows->setVerticalSpacing(6);
  auto* name = new QLabel("Bud&gets", this);
  name->setBuddy(m_budgets);
  m_budgets->setAccessibleName("Budgets");
  m_budgets->setToolTip("Percent of the prompt's tokens (25 %) or slots per head (64), with commas between");
  auto* seed_name = new QLabel("See&ds", this);
  seed_name->setBuddy(m_seeds);
  m_seeds->setAccessibleName("Seeds");
  m_seeds->setToolTip("For policies that draw lots: one run per seed, as 0, 1, 2 or 0-4");
  m_seeds->setMaximumWidth(76);
  rows->addWidget(name, 0, 0);
  rows->addWidget(m_budgets, 0, 1);
  rows->addWidget(seed_name, 0, 2);
  rows->addWidget(m_seeds, 0, 3);
  rows->addWidget(m_words, 1, 0, 1, 4);
  rows->addWidget(m_find, 2, 0, 1, 4);
  rows->addWidget(m_table, 3, 0, 1, 4);
  rows->setColumnStretch(1, 1);
  rows->setRowStretch(3, 1);
  m_find->setPlaceholderText("Find a policy");
  m_find->setAccessibleName("Find a policy");
  m_find->setToolTip("A part of its name or of its kind, as merging");
  offerClear(*m_find);
  m_words->setObjectName("secondary");
  m_words->setWordWrap(true);
  m_words->setFont(uiFont(11));

  layOutTable();

  const auto all = [this](int row, int column) {
    QModelIndexList cells;
    for (int r = 0; r < m_model->rowCount(); ++r)
      for (int c = 0; c < m_model->columnCount(); ++c)
        if ((row < 0 ? m_model->takesBudget(r) : r == row) && (column < 0 || c == column)) cells << m_model->index(r, c);
    m_model->toggle(cells);
  };
  connect(m_table->verticalHeader(), &QHeaderView::sectionClicked, this, [all](int row) { all(row, -1); });
  connect(m_table->horizontalHeader(), &QHeaderView::sectionClicked, this, [all](int column) { all(-1, column); });
  connect(m_budgets, &QLineEdit::textChanged, this, [this] { readBudgets(); });
  connect(m_seeds, &QLineEdit::textChanged, this, [this] { readSeeds(); });
  connect(m_find, &QLineEdit::textChanged, this, [this] { find(); });
  m_find->installEventFilter(this);
  connect(m_model, &RunGridModel::modelReset, this, &RunGrid::layRows);
  connect(m_model, &RunGridModel::changed, this, [this] { say(); });
  connect(m_model, &RunGridModel::changed, this, &RunGrid::changed);
  readBudgets();
  toFirst();
}

/// The current cell is that of the first policy in sight.
void RunGrid::toFirst() {
  for (int row = 0; row < m_model->rowCount(); ++row) {
    if (m_model->isHeading(row) || m_table->isRowHidden(row)) continue;
    m_table->setCurrentIndex(m_model->index(row, 0));
    return;
  }
}

void RunGrid::begin() {
  toFirst();
  m_table->setFocus();
}

void RunGrid::find() {
  for (int row = 0; row < m_model->rowCount(); ++row) m_table->setRowHidden(row, !m_model->matches(row, m_find->text()));
}

void RunGrid::layOutTable() {
  m_table->setVerticalHeader(new Names(m_workspace, *m_model, m_table));
  m_table->setModel(m_model);
  auto* painter = new CellPainter(m_workspace, *m_table);
  painter->setParent(m_table);
  m_table->setItemDelegate(painter);
  m_table->setAccessibleName("Policies and budgets");
  m_table->setShowGrid(false);
  m_table->setFrameShape(QFrame::NoFrame);
  m_table->setTabKeyNavigation(false);
  m_table->setCornerButtonEnabled(false);
  m_table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  m_table->horizontalHeader()->setDefaultSectionSize(kColumn);
  m_table->horizontalHeader()->setHighlightSections(false);
  m_table->horizontalHeader()->setMinimumSectionSize(30);
  m_table->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  m_table->verticalHeader()->setDefaultSectionSize(kRow);
  m_table->verticalHeader()->setHighlightSections(false);
  m_table->verticalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  for (QHeaderView* header : {m_table->horizontalHeader(), m_table->verticalHeader()}) header->setSectionsClickable(true);
  m_table->installEventFilter(this);
  m_table->viewport()->installEventFilter(this);
  const auto theme = [this] {
    const viz::Theme& t = m_workspace.theme();
    m_table->setStyleSheet(
        QString(
            "QTableView { background: %1; border: 1px solid %2; border-radius: 4px; selection-background-color: %3; }"
            "QHeaderView { background: %1; border: none; } QHeaderView::section { color: %4; font-size: %6px; border: none; padding: 2px %7px; }"
            "QHeaderView::section:horizontal { border-bottom: 1px solid %2; color: %5; font-size: 11px; }")
            .arg(toColor(t.panel).name(), toColor(t.line).name(), toColor(t.raised).name(), toColor(t.text).name(),
                 toColor(t.secondary).name())
            .arg(kHeaderText)
            .arg(kHeaderPadding));
  };
  connect(&m_workspace, &Workspace::themeChanged, this, theme);
  theme();
}

bool RunGrid::eventFilter(QObject* watched, QEvent* event) {
  if (watched == m_table && event->type() == QEvent::KeyPress) {
    const auto& typed = static_cast<QKeyEvent&>(*event);
    const int key = typed.key();
    const bool plain = !(typed.modifiers() & ~(Qt::ShiftModifier | Qt::KeypadModifier));
    if (plain && !typed.text().isEmpty() && typed.text()[0].isLetterOrNumber()) {  // the name of a policy
      m_find->setFocus();
      return QCoreApplication::sendEvent(m_find, event);
    }
    if (key == Qt::Key_Space || key == Qt::Key_Select) {
      QModelIndexList cells = m_table->selectionModel()->selectedIndexes();
      if (cells.isEmpty() && m_table->currentIndex().isValid()) cells << m_table->currentIndex();
      m_model->toggle(cells);
      return true;
    }
  }
  if (watched == m_find && event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Down) {
    toFirst();
    m_table->setFocus();
    return true;
  }
  if (watched == m_table->viewport() && event->type() == QEvent::MouseButtonRelease) {
    const auto* mouse = static_cast<QMouseEvent*>(event);
    const QModelIndexList cells = m_table->selectionModel()->selectedIndexes();
    if (mouse->button() == Qt::LeftButton && m_table->indexAt(mouse->position().toPoint()).isValid()) m_model->toggle(cells);
  }
  return QWidget::eventFilter(watched, event);
}

void RunGrid::readBudgets() {
  m_wrong_budget.clear();
  m_model->setBudgets(parseBudgets(m_budgets->text(), &m_wrong_budget));
  say();
}

/// Titles of kinds, and what is one run whatever the budget, go over all cells; rows that are not looked for are hidden.
void RunGrid::layRows() {
  m_table->clearSpans();
  for (int row = 0; row < m_model->rowCount() && m_model->columnCount() > 1; ++row)
    if (!m_model->takesBudget(row)) m_table->setSpan(row, 0, 1, m_model->columnCount());
  int widest = 0;  // of the names; the titles of kinds go on over the cells
  for (int row = 0; row < m_model->rowCount(); ++row)
    if (!m_model->isHeading(row))
      widest = std::max(
          widest, QFontMetrics(uiFont(kHeaderText)).horizontalAdvance(m_model->headerData(row, Qt::Vertical, Qt::DisplayRole).toString()));
  m_table->verticalHeader()->setFixedWidth(std::max(110, widest + 2 * kHeaderPadding + 4));
  find();
}

void RunGrid::readSeeds() {
  m_wrong_seed.clear();
  m_model->setSeeds(parseSeeds(m_seeds->text(), &m_wrong_seed));
  say();
}

void RunGrid::say() {
  QString words = QString("Per head, of %1 prompt tokens, or as slots. A click on a name takes its row or column.")
                      .arg(qs(viz::format_count(m_workspace.snapshot().n_prompt)));
  if (!m_wrong_budget.isEmpty()) words = whyNotTaken(m_wrong_budget, "budget") + ". Use 25 % or a number of slots, at most 24 budgets.";
  if (!m_wrong_seed.isEmpty()) words = whyNotTaken(m_wrong_seed, "seed") + ". Use numbers such as 0, 1, 2 or 0-4, at most 16 seeds.";
  const bool wrong = !m_wrong_budget.isEmpty() || !m_wrong_seed.isEmpty();
  m_words->setStyleSheet(QString("color: %1").arg(toColor(wrong ? m_workspace.theme().changed : m_workspace.theme().secondary).name()));
  m_words->setText(words);
}

}  // namespace kvscope
