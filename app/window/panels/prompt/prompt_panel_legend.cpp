// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/prompt/prompt_panel_legend.h"

#include <algorithm>
#include <iterator>

#include <QFontMetrics>
#include <QStringList>

#include "app/window/panels/prompt/prompt_editor_colours.h"
#include "app/window/session/workspace.h"
#include "viz/draw/draw.h"
#include "viz/draw/legend.h"
#include "viz/reduce/text.h"

namespace kvscope {

namespace {
constexpr double kLine = 18;        // px at 100 %
constexpr double kBesideLit = 0.4;  // of a swatch whose category steps back

std::vector<Category> shownIn(const LaneSnapshot* lane) {
  std::vector<Category> out;
  const auto add = [&out](const auto& items) {
    for (const viz::LegendItem& item : items) out.push_back(item.category);
  };
  if (lane)
    add(viz::category_items(*lane));
  else
    add(viz::kCategoryLegend);
  return out;
}
}  // namespace

CategoryLegend::CategoryLegend(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName("legend of the prompt's colours");
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged, &Workspace::themeChanged, &Workspace::teachingChanged}) {
    connect(&workspace, signal, this, [this] {
      const auto lit = this->lit();
      setAccessibleDescription(lit ? QString("in full colour: %1; the others step back").arg(wordOf(*lit)) : QString());
      updateGeometry();
      update();
    });
  }
}

std::optional<Category> CategoryLegend::lit() const {
  const viz::Selection& selection = m_workspace.selection();
  return selectedHead(m_workspace.snapshot(), selection.layer, selection.kv_head) ? m_workspace.emphasis() : std::nullopt;
}

QString CategoryLegend::unreadWords() const {
  const StepRecord* step = m_workspace.stepRecord();
  return step && step->position + 1 < m_workspace.snapshot().n_prompt ? QString("not read yet") : QString();
}

QString CategoryLegend::wordOf(Category category) const {
  const LaneSnapshot* lane = m_workspace.lane();
  return lane ? viz::category_word(*lane, category) : viz::category_name(category);
}

Type CategoryLegend::type(bool small) const { return m_plain ? Type::text : small ? Type::caption : Type::body; }

QSize CategoryLegend::sizeHint() const { return {px(*this, 360), px(*this, kLine) * lay().lines}; }

void CategoryLegend::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  updateGeometry();  // its height follows its width
}

/// In one line, in smaller type where that is too narrow, else in as many lines as it takes: a legend is whole.
CategoryLegend::Entries CategoryLegend::lay() const {
  Entries out;
  const viz::Selection& selection = m_workspace.selection();
  if (!selectedHead(m_workspace.snapshot(), selection.layer, selection.kv_head)) return out;
  QStringList words;
  const std::vector<Category> shown = shownIn(m_workspace.lane());
  const std::optional<Category> meant = lit();
  for (const Category category : shown) words << wordOf(category);
  words << unreadWords();
  const int side = px(*this, 10), n_gaps = static_cast<int>(words.size()) - (words.back().isEmpty() ? 2 : 1);
  std::vector<int> widths;
  int total = 0;
  const auto measure = [&](Type type, int after_swatch) {
    const QFontMetrics metrics(typeFont(*this, type)), bold(typeFont(*this, type, true));
    out.after_swatch = after_swatch;
    widths.clear();
    total = 0;
    for (qsizetype i = 0; i < words.size(); ++i) {
      const auto place = static_cast<std::size_t>(i);
      widths.push_back((place < shown.size() && shown[place] == meant ? bold : metrics).horizontalAdvance(words[i]) +
                       (i + 1 < words.size() ? side + after_swatch : 0));
      total += widths.back();
    }
  };
  measure(type(false), px(*this, 6));
  out.small = total + n_gaps * px(*this, 5) > width();
  if (out.small) measure(type(true), px(*this, 3));
  const int gap = std::clamp((width() - total) / n_gaps, px(*this, 3), px(*this, 12));
  const bool broken = total + n_gaps * gap > width();
  int x = 0;
  for (const int w : widths) {
    if (x > 0 && w > 0 && x + w > width()) {
      x = 0;
      ++out.lines;
    }
    out.at.emplace_back(x, (out.lines - 1) * px(*this, kLine));
    x += w + (broken ? px(*this, 10) : gap);
  }
  return out;
}

void CategoryLegend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const viz::Theme& theme = m_workspace.theme();
  painter.setFont(typeFont(*this, type(false)));
  painter.setPen(toColor(theme.secondary));
  const Snapshot& snapshot = m_workspace.snapshot();
  const viz::Selection& selection = m_workspace.selection();
  const int side = px(*this, 10), line = px(*this, kLine), middle = line / 2;
  const bool reads = m_plain && TokenColours::headThatReads(m_workspace) != nullptr;
  if (!reads && selectedHead(snapshot, selection.layer, selection.kv_head)) {
    const Entries entries = lay();
    const Type type = this->type(entries.small);
    const std::vector<Category> shown = shownIn(m_workspace.lane());
    const std::optional<Category> meant = lit();
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const QPoint at = entries.at[i];
      const bool is_lit = shown[i] == meant;
      painter.setOpacity(meant && !is_lit ? kBesideLit : 1);  // as in the pictures
      paintSwatch(painter, QRectF(at.x(), at.y() + middle - side / 2, side, side), theme, shown[i]);
      painter.setOpacity(1);
      painter.setFont(typeFont(*this, type, is_lit));
      painter.setPen(toColor(is_lit ? theme.text : theme.secondary));
      const int x = at.x() + side + entries.after_swatch, end = x + painter.fontMetrics().horizontalAdvance(wordOf(shown[i]));
      painter.drawText(QRect(x, at.y(), width() - x, line), Qt::AlignVCenter | Qt::AlignLeft, wordOf(shown[i]));
      if (is_lit)
        painter.fillRect(QRect(at.x(), at.y() + line - px(*this, 2), end - at.x(), std::max(1, px(*this, 1.5))), toColor(theme.text));
    }
    painter.setFont(typeFont(*this, type));
    painter.setPen(TokenColours::unreadInk(m_workspace));
    const QPoint at = entries.at.back();
    paintLine(painter, QRect(at.x(), at.y(), width() - at.x(), line), Qt::AlignLeft, unreadWords());
    return;
  }
  const int n_heads = snapshot.model.n_layers * snapshot.model.n_kv_heads;
  if (n_heads == 0) return;
  const QString most = reads ? QString("all of it") : QString::number(n_heads);
  const int ramp = px(*this, 110), most_width = painter.fontMetrics().horizontalAdvance(most), space = px(*this, 7);
  int x = width() - most_width;
  painter.drawText(QRect(x, 0, most_width, height()), Qt::AlignVCenter | Qt::AlignRight, most);
  x -= space + ramp;
  for (int i = 0; i < ramp; ++i) {
    const QColor tint = rampTint(theme, (i + 0.5) / ramp);
    painter.fillRect(QRect(x + i, middle - side / 2, 1, side), tint);
  }
  const QString least = reads ? "none" : "0";
  const int zero = painter.fontMetrics().horizontalAdvance(least);
  x -= space + zero;
  painter.drawText(QRect(x, 0, zero, height()), Qt::AlignVCenter, least);
  paintLine(painter, QRect(0, 0, x - space, height()), Qt::AlignLeft,
            reads ? QString("attention of this head")
                  : fitting(painter.fontMetrics(), x - space,
                            {"heads that still represent the token", "heads that represent it", "heads with it"}));
}

}  // namespace kvscope
