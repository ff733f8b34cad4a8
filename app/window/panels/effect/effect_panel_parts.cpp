// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/effect/effect_panel_parts.h"

#include <algorithm>
#include <cmath>

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QKeyEvent>
#include <QStyledItemDelegate>

#include "app/window/panels/effect/effect_panel_model.h"
#include "app/window/panels/runs/row_table.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "snapshot/figures.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"
#include "viz/reduce/finding.h"

namespace kvscope {

namespace {

constexpr int kLowRow = 28, kHighRow = 34;  // px: text, two bars, a line; as high as there is room
constexpr int kTextHeight = 19;

QString nats(double v) { return qs(viz::format_number(v)); }

QString laneTitle(const Workspace& workspace) { return workspace.lane() ? qs(workspace.lane()->title) : QString("run"); }

/// Ends of the diverging ramp that are legible as text on the panel.
QColor deltaColour(const viz::Theme& theme, double delta) {
  if (std::isnan(delta)) return toColor(theme.secondary);
  return toColor(viz::ramp(theme.diverging, delta < 0 ? 0.125 : 0.875));
}

class EffectDelegate : public QStyledItemDelegate {
 public:
  EffectDelegate(Workspace& workspace, EffectModel& model, QWidget& view)
      : QStyledItemDelegate(&view), m_workspace(workspace), m_model(model), m_view(view) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const viz::Theme& theme = m_workspace.theme();
    const bool token = index.column() == EffectModel::kToken, rank = index.column() == EffectModel::kRank;
    painter->setFont(typeFont(m_view,
                              token  ? Type::control
                              : rank ? Type::body
                                     : Type::control,
                              token && m_model.isChoice(index.row()), TypeFace::tabular));
    QColor ink = rank ? toColor(theme.disabled) : toColor(theme.text);
    if (index.column() == EffectModel::kDelta) {
      const TopToken& t = m_model.top(index.row());
      ink = index.data().toString() == "0" ? toColor(theme.secondary) : deltaColour(theme, t.p - t.p_reference);
    }
    painter->setPen(ink);
    const QRect area(option.rect.left(), option.rect.top(), option.rect.width(), px(m_view, kTextHeight));
    QString text = index.data().toString();
    if (rank && painter->fontMetrics().horizontalAdvance(text) > area.width()) {  // closer, smaller, at last only where it went
      painter->setFont(typeFont(m_view, Type::caption, false, TypeFace::tabular));
      text.remove(' ');
      text = fitting(painter->fontMetrics(), area.width(), {text, text.mid(text.indexOf(QChar(0x2192)))});
    }
    paintLine(*painter, area, Qt::Alignment(index.data(Qt::TextAlignmentRole).toInt()) & Qt::AlignHorizontal_Mask, text);
  }

 private:
  Workspace& m_workspace;
  EffectModel& m_model;
  QWidget& m_view;
};

/// Header without the style's boxes: plain words over the numbers.
class EffectHeader : public QHeaderView {
 public:
  EffectHeader(Workspace& workspace, QWidget* parent) : QHeaderView(Qt::Horizontal, parent), m_workspace(workspace) {}

 protected:
  void paintSection(QPainter* painter, const QRect& rect, int section) const override {
    painter->fillRect(rect, toColor(m_workspace.theme().panel));
    if (section == EffectModel::kRank) return;  // the arrows speak for themselves; the footer says what they are
    painter->setFont(typeFont(*this, Type::body));
    painter->setPen(toColor(m_workspace.theme().secondary));
    const auto alignment = Qt::Alignment(model()->headerData(section, Qt::Horizontal, Qt::TextAlignmentRole).toInt());
    const QString word = model()->headerData(section, Qt::Horizontal).toString(),
                  brief = model()->headerData(section, Qt::Horizontal, EffectModel::kBrief).toString();
    const QRect room = section > EffectModel::kRank ? rect.adjusted(px(*this, 6), 0, 0, 0) : rect;
    paintLine(*painter, room, alignment & Qt::AlignHorizontal_Mask, fitting(painter->fontMetrics(), room.width(), {word, brief}));
  }
  QSize sizeHint() const override { return {100, px(*this, 23)}; }

 private:
  Workspace& m_workspace;
};

}  // namespace

// ---- headline

EffectHeadline::EffectHeadline(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName("effect on the output");
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged, &Workspace::themeChanged, &Workspace::dimmedChanged}) {
    connect(&workspace, signal, this, [this] {
      const StepRecord* step = m_workspace.stepRecord();
      setAccessibleDescription(step && step->top1 >= 0 ? spoken(*step) : emptyText());
      update();
    });
  }
}

QString EffectHeadline::emptyText() const {
  return m_workspace.snapshot().phase == RunPhase::computing ? "The text is being read. What comes next is known at its end."
                                                             : "Run a prompt to see the effect on the next token.";
}

QString EffectHeadline::spoken(const StepRecord& step) const {
  if (!compared())
    return QString("top choice %1. %2").arg(choiceWords(step), qs(viz::other_text_words(m_workspace.snapshot(), *m_workspace.lane())));
  return QString("KL %1 nats, top choice %2").arg(nats(step.kl), choiceWords(step)) + (step.top1_same ? ", same" : "");
}

bool EffectHeadline::compared() const {
  const LaneSnapshot* lane = m_workspace.lane();
  return lane == nullptr || compares(m_workspace.snapshot(), *lane, m_workspace.step());
}

/// "8 → 2"; where both say the same, "8".
QString EffectHeadline::choiceWords(const StepRecord& step) const {
  const Snapshot& snapshot = m_workspace.snapshot();
  const QString was = qs(viz::text_of_id(snapshot, step.top1_reference)), is = qs(viz::text_of_id(snapshot, step.top1));
  return step.top1_same || !compared() ? is : was + " → " + is;
}

QSize EffectHeadline::sizeHint() const { return {px(*this, 320), px(*this, 57)}; }

void EffectHeadline::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const viz::Theme& theme = m_workspace.theme();
  const StepRecord* step = m_workspace.stepRecord();
  const auto u = [this](double v) { return px(*this, v); };
  if (!step || step->top1 < 0) {
    painter.setPen(toColor(theme.secondary));
    painter.setFont(typeFont(*this, Type::control));
    painter.drawText(rect(), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextWordWrap, emptyText());
    return;
  }
  painter.setOpacity(1 - m_workspace.dim());
  const bool reference = m_workspace.selection().lane == 0;
  // ---- right: the choices
  const bool one_text = compared(), same = step->top1_same || !one_text;
  const QFont number = typeFont(*this, Type::headline, true, TypeFace::tabular);
  const QString kl = nats(one_text ? step->kl : kNotAvailable), words = choiceWords(*step);
  const int after = QFontMetrics(number).horizontalAdvance(kl) + u(9), half = width() / 2, room = width() - after;
  // Smaller rather than cut: what it says now is the point.
  QFont choice;
  for (const Type type : {Type::changed, Type::text, Type::control, Type::caption}) {
    choice = typeFont(*this, type, true, TypeFace::tabular);
    if (QFontMetrics(choice).horizontalAdvance(words) <= room) break;
  }
  painter.setFont(choice);
  painter.setPen(same ? toColor(theme.text) : toColor(theme.changed));
  paintLine(painter, QRect(after, u(2), room, u(32)), Qt::AlignRight, words);
  painter.setFont(typeFont(*this, Type::body));
  painter.setPen(toColor(theme.secondary));
  const QString caption = same && one_text ? "top choice, same" : "top choice";
  const int caption_width = painter.fontMetrics().horizontalAdvance(caption) + u(10);
  paintLine(painter, QRect(width() - half, u(34), half, u(18)), Qt::AlignRight, caption);
  // ---- left: the number
  painter.setFont(number);
  painter.setPen(toColor(theme.text));
  painter.drawText(QRect(0, 0, width(), u(34)), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, kl);
  const int baseline = (u(34) + painter.fontMetrics().ascent() - painter.fontMetrics().descent()) / 2;
  painter.setFont(typeFont(*this, Type::control));
  painter.setPen(toColor(theme.secondary));
  const int choice_width = QFontMetrics(choice).horizontalAdvance(words);
  if (after + painter.fontMetrics().horizontalAdvance("nats") + u(8) <= width() - choice_width) painter.drawText(after, baseline, "nats");
  painter.setFont(typeFont(*this, Type::body));
  paintLine(painter, QRect(0, u(34), width() - caption_width, u(18)), Qt::AlignLeft,
            reference   ? QString("this is the reference itself")
            : !one_text ? fitting(painter.fontMetrics(), width() - caption_width,
                                  {qs(viz::other_text_words(m_workspace.snapshot(), *m_workspace.lane())),
                                   QString("reads another text: nothing is compared"), QString("another text")})
                        : fitting(painter.fontMetrics(), width() - caption_width,
                                  {QString("KL(reference ‖ %1), this step").arg(laneTitle(m_workspace)),
                                   QString("KL(reference ‖ %1)").arg(laneTitle(m_workspace)), QString("KL, this step"), QString("KL")}));
  paintHorizontalLine(painter, theme, 0, width(), height() - 1);
}

// ---- table

EffectTable::EffectTable(Workspace& workspace, EffectModel& model, QWidget* parent)
    : QTableView(parent), m_workspace(workspace), m_model(model) {
  setHorizontalHeader(new EffectHeader(workspace, this));
  setModel(&model);
  setItemDelegate(new EffectDelegate(workspace, model, *this));
  verticalHeader()->hide();
  horizontalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  horizontalHeader()->setMinimumSectionSize(10);
  setSelectionBehavior(QAbstractItemView::SelectRows);
  setSelectionMode(QAbstractItemView::ExtendedSelection);
  setShowGrid(false);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  setTabKeyNavigation(false);
  setAccessibleName("candidates for the next token");
  connect(&workspace, &Workspace::themeChanged, viewport(), qOverload<>(&QWidget::update));
  connect(&workspace, &Workspace::dimmedChanged, viewport(), qOverload<>(&QWidget::update));
  connect(&model, &QAbstractItemModel::modelReset, this, [this] { applyType(); });
  applyType();
}

void EffectTable::applyType() {
  verticalHeader()->setMinimumSectionSize(1);
  verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  const int rows = std::max(1, m_model.rowCount());
  verticalHeader()->setDefaultSectionSize(std::clamp(viewport()->height() / rows, px(*this, kLowRow), px(*this, kHighRow)));
  fitColumns();
}

void EffectTable::changeEvent(QEvent* event) {
  QTableView::changeEvent(event);
  if (event->type() == QEvent::FontChange && verticalHeader()) applyType();
}

void EffectTable::fitColumns() {
  const int w = viewport()->width();
  int n = m_model.columnCount();
  // where the column of the run without changes would squeeze the tokens, it gives way; the data table has it
  if (n > EffectModel::kBaseline) {
    const bool fits = w >= px(*this, 72) + px(*this, 44) + (n - 2) * px(*this, 54);
    setColumnHidden(EffectModel::kBaseline, !fits);
    if (!fits) --n;
  }
  // As wide as their longest number with a gap before it, wider where there is room: columns that touch read as one number.
  const QFontMetrics digits(typeFont(*this, Type::control, false, TypeFace::tabular));
  const int rank = std::clamp(w / 6, px(*this, 38), px(*this, 70));
  const auto column = [&](const char* widest) {
    return std::clamp(w / n, digits.horizontalAdvance(QString::fromUtf8(widest)) + px(*this, 8), px(*this, 84));
  };
  const int number = column("0.000"), delta = column("−0.000");
  // A number is whole or not there: the ranks give way to the probabilities.
  const int numbers = delta + (n - 3) * number;
  const bool ranked = w - rank - numbers >= px(*this, 24);
  setColumnHidden(EffectModel::kRank, !ranked);
  const int widths[] = {w - (ranked ? rank : 0) - numbers, rank, number, number, delta, number};
  for (int c = 0; c < n; ++c) setColumnWidth(c, std::max(10, widths[c]));
}

void EffectTable::resizeEvent(QResizeEvent* event) {
  QTableView::resizeEvent(event);
  applyType();
}

void EffectTable::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  const viz::Theme& theme = m_workspace.theme();
  painter.fillRect(viewport()->rect(), toColor(theme.panel));
  painter.setOpacity(1 - m_workspace.dim());
  for (int row = 0; row < m_model.rowCount(); ++row) {
    const QRect area(0, rowViewportPosition(row), viewport()->width(), rowHeight(row));
    if (area.bottom() < 0) continue;
    if (area.top() > 0 && area.bottom() >= viewport()->height()) break;  // no half rows: the scroll bar says that there are more
    if (selectionModel()->isRowSelected(row, {})) painter.fillRect(area.adjusted(0, 0, 0, -1), toColor(theme.raised));
    for (int c = 0; c < m_model.columnCount(); ++c) {
      if (isColumnHidden(c)) continue;
      QStyleOptionViewItem option;
      option.rect = QRect(columnViewportPosition(c), area.top(), columnWidth(c), area.height());
      itemDelegate()->paint(&painter, option, m_model.index(row, c));
    }
    paintBars(painter, row, area);
    if (row + 1 < m_model.rowCount()) paintHorizontalLine(painter, theme, 0, area.width(), area.bottom());
    if (hasFocus() && currentIndex().row() == row) {
      painter.setBrush(Qt::NoBrush);
      painter.setPen(QPen(toColor(theme.accent), 1));
      painter.drawRect(area.adjusted(0, 0, -1, -2));
    }
  }
}

void EffectTable::paintBars(QPainter& painter, int row, const QRect& area) const {
  const viz::Theme& theme = m_workspace.theme();
  const TopToken& t = m_model.top(row);
  const int thick = px(*this, 3);
  const int y = area.top() + px(*this, kTextHeight) + 1;
  const auto bar = [&](int top, double p, const QColor& fill) {
    if (std::isnan(p)) return;
    const double w = std::max(1.0, area.width() * std::clamp(p, 0.0, 1.0));
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(fill);
    const double radius = w > thick ? thick / 2.0 : 0;
    painter.drawRoundedRect(QRectF(area.left(), top, w, thick), radius, radius);
    painter.setRenderHint(QPainter::Antialiasing, false);
  };
  bar(y, t.p_reference, laneColour(theme, 0));
  if (m_workspace.selection().lane > 0) bar(y + thick + 1, t.p, laneColour(theme, m_workspace.selection().lane));
}

void EffectTable::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Copy)) {
    QApplication::clipboard()->setText(tsvOf(*this, selectionModel()->hasSelection()));
    return;
  }
  QTableView::keyPressEvent(event);
}

// ---- footer

EffectFooter::EffectFooter(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName("legend of the output effect");
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged, &Workspace::themeChanged, &Workspace::dimmedChanged}) {
    connect(&workspace, signal, this, qOverload<>(&QWidget::update));
  }
}

QSize EffectFooter::sizeHint() const { return {px(*this, 320), px(*this, 71)}; }

void EffectFooter::paintEvent(QPaintEvent*) {
  const StepRecord* step = m_workspace.stepRecord();
  const LaneSnapshot* lane = m_workspace.lane();
  if (!step || !lane || step->top1 < 0) return;
  QPainter painter(this);
  const viz::Theme& theme = m_workspace.theme();
  const Snapshot& snapshot = m_workspace.snapshot();
  const auto u = [this](double v) { return px(*this, v); };
  const QColor secondary = toColor(theme.secondary);
  painter.setFont(typeFont(*this, Type::body));
  const auto entry = [&](int x, int lane_index, const QString& words) {
    painter.fillRect(QRect(x, u(8), u(10), u(4)), laneColour(theme, lane_index));
    painter.setPen(secondary);
    paintLine(painter, QRect(x + u(15), 0, width() - x - u(15), u(20)), Qt::AlignLeft, words);
    return x + u(15) + painter.fontMetrics().horizontalAdvance(words) + u(18);
  };
  const QFontMetrics& metrics = painter.fontMetrics();
  const int x = entry(0, 0, fitting(metrics, width() / 2 - u(33), {"full cache (reference)", "full cache"}));
  const int lane_index = m_workspace.selection().lane;
  if (lane_index > 0) {
    QString words = qs(lane->title);
    // What was asked for, as the run is called everywhere, and what it holds after this step where that is something else.
    const double n_slots = run_figures(snapshot, *lane, step->step, step->step).slots;
    if (lane->slots_asked >= 0 && !std::isnan(n_slots)) {
      const QString asked = words + ", " + counted(lane->slots_asked, "slot", "slots"), held = qs(viz::format_mean(n_slots));
      const bool same = held == qs(viz::format_mean(lane->slots_asked));
      words = fitting(metrics, width() - x - u(15), {same ? asked : asked + ", holds " + held, asked, words});
    }
    entry(std::max(x, std::min(width() * 45 / 100, width() - u(15) - painter.fontMetrics().horizontalAdvance(words))), lane_index, words);
  }
  paintHorizontalLine(painter, theme, 0, width(), u(28));

  // The surprise at what followed. Both caches are asked about the same token only while the lane follows the reference.
  const LaneSnapshot& full = snapshot.lanes.front();
  const StepRecord* reference =
      step->step < static_cast<int>(full.steps.size()) ? full.steps[static_cast<std::size_t>(step->step)].get() : nullptr;
  const bool one_text = compares(snapshot, *lane, step->step);
  const bool common = one_text && reference && reference->next_token == step->next_token;
  QString what = "−ln p of the next token", brief = "−ln p", numbers = "not generated yet";
  if (step->next_token >= 0) {
    what = QString("−ln p of the %1 token %2")
               .arg(snapshot.follow == "reference" ? "reference" : "fed", qs(viz::quoted(viz::text_of_id(snapshot, step->next_token))));
    brief = QString("−ln p of %1").arg(qs(viz::quoted(viz::text_of_id(snapshot, step->next_token))));
    numbers = nats(step->nll);
    if (common && lane_index > 0) numbers = nats(reference->nll) + " → " + numbers;
  }
  const QRect line(0, u(32), width(), u(20));
  painter.setFont(typeFont(*this, Type::body, false, TypeFace::tabular));
  const int numbers_width = painter.fontMetrics().horizontalAdvance(numbers);
  painter.setPen(toColor(theme.text));
  paintLine(painter, line, Qt::AlignRight, numbers);
  painter.setFont(typeFont(*this, Type::body));
  painter.setPen(secondary);
  const QRect before = line.adjusted(0, 0, -numbers_width - u(8), 0);
  paintLine(painter, before, Qt::AlignLeft, fitting(painter.fontMetrics(), before.width(), {what, brief}));
  painter.setPen(toColor(theme.disabled));
  paintLine(painter, QRect(0, u(52), width(), u(18)), Qt::AlignLeft,
            fitting(painter.fontMetrics(), lane_index > 0 && one_text ? width() : 0,
                    {QString("ranks: reference → %1, of %2 tokens").arg(qs(lane->title), qs(viz::format_count(snapshot.model.vocab_size))),
                     QString("ranks of %1 tokens").arg(qs(viz::format_count(snapshot.model.vocab_size)))}));
}

}  // namespace kvscope
