// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/prompt/prompt_editor_colours.h"

#include <algorithm>
#include <cmath>

#include <QPainter>

#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/draw.h"
#include "viz/draw/format.h"
#include "viz/reduce/ghosts.h"
#include "viz/reduce/head.h"
#include "viz/reduce/text.h"

namespace kvscope {

namespace {
constexpr double kBesideEmphasis = 0.8;  // of the panel, over categories that are not meant
constexpr double kBesideEvicted = 0.3;   // the same beside what is gone
constexpr int kShades = 64;              // of attention

QColor fillOf(const viz::Theme& theme, Category category, const std::optional<Category>& emphasis) {
  const QColor tint = categoryTint(theme, category);
  if (!emphasis) return tint;
  const QColor panel = toColor(theme.panel);
  if (*emphasis == Category::evicted) return tint.isValid() ? mix(tint, panel, kBesideEvicted) : tint;
  if (category == *emphasis)
    return mix(panel, toColor(theme.category[static_cast<std::size_t>(category)]), std::min(1.0, theme.text_tint * 1.3));
  return tint.isValid() ? mix(tint, panel, kBesideEmphasis) : tint;
}

/// Words that are gone never outshine those that are there, not even where they are meant: hollow and grey.
bool standsBack(Category category, bool filled, const std::optional<Category>& emphasis) {
  if (!emphasis) return !filled;
  return *emphasis == Category::evicted ? !filled : category != *emphasis;
}
}  // namespace

void TokenPaint::paintBehind(QPainter& painter, const QRectF& area, double radius) const {
  if (outline.isValid()) {
    painter.setPen(QPen(outline, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(area.adjusted(0.5, 0.5, -0.5, -0.5), radius, radius);
    painter.setPen(Qt::NoPen);
  }
  for (const QBrush& brush : {QBrush(fill), QBrush(stripes, Qt::BDiagPattern)}) {
    if (!fill.isValid() || !brush.color().isValid()) continue;
    painter.setBrush(brush);
    painter.drawRoundedRect(area, radius, radius);
  }
}

QColor TokenColours::unreadInk(const Workspace& workspace) {
  const viz::Theme& theme = workspace.theme();
  return toColor(workspace.emphasis() ? theme.secondary : theme.text);  // beside what is meant it stands back, too
}

void TokenColours::update(const Workspace& workspace) {
  const viz::Theme& theme = workspace.theme();
  const viz::Selection& selection = workspace.selection();
  m_snapshot = workspace.snapshotPtr();
  m_lane = workspace.lane();
  m_step = workspace.stepRecord();
  m_n_heads = m_snapshot->model.n_layers * m_snapshot->model.n_kv_heads;
  if (m_lane && m_lane->fates) m_n_heads = static_cast<int>(m_lane->fates->heads.size());
  m_head = selectedHead(*m_snapshot, selection.layer, selection.kv_head).value_or(-1);
  m_plain = toColor(theme.text);
  m_faint = toColor(theme.disabled);
  m_unread = unreadInk(workspace);
  m_stripes = mix(toColor(theme.panel), toColor(theme.evicted_outline), 0.55);
  m_hollow = workspace.emphasis() == Category::evicted ? m_stripes : QColor();
  m_categories.clear();
  m_leaving.clear();
  m_pinned.clear();
  for (std::size_t h = 0; m_step && h < m_step->heads.size(); ++h) {
    if (m_head < 0 || static_cast<std::size_t>(m_head) == h)
      m_pinned.insert(m_pinned.end(), m_step->heads[h].pinned.begin(), m_step->heads[h].pinned.end());
  }
  std::sort(m_pinned.begin(), m_pinned.end());
  m_pinned.erase(std::unique(m_pinned.begin(), m_pinned.end()), m_pinned.end());
  m_fill.clear();
  m_text.clear();
  m_paid.clear();
  const QColor panel = toColor(theme.panel);
  const auto add = [&](QColor fill, const QColor& text) {
    if (fill.isValid()) fill = mix(fill, panel, workspace.dim());
    m_fill.push_back(fill);
    m_text.push_back(text);
  };
  if (const HeadRecord* reader = m_audience ? headThatReads(workspace) : nullptr) {
    m_paid.assign(static_cast<std::size_t>(m_step->position) + 1, 0);
    for (std::size_t i = 0; i < std::min(reader->attended.size(), reader->attention.size()); ++i)
      if (const auto t = static_cast<std::size_t>(reader->attended[i]); t < m_paid.size())
        m_paid[t] = static_cast<double>(reader->attention[i]);
    for (int n = 0; n <= kShades; ++n) {
      const QColor fill = rampTint(theme, static_cast<double>(n) / kShades);
      add(fill, fill.isValid() ? inkOn(theme, fill) : m_plain);
    }
  }
  if (m_head >= 0) {
    m_head_name = qs(viz::head_name(*selection.layer, *selection.kv_head));
    if (m_lane && m_step && m_lane->fates && m_head < m_n_heads) {
      m_categories = categories(*m_lane->fates, *m_step, m_head, m_lane->sinks, m_snapshot->prefill_mode && m_step->step == 0);
      if (workspace.ghostSteps() > 0)
        m_leaving = viz::leaving(m_lane->fates->heads[static_cast<std::size_t>(m_head)], m_step->step,
                                 viz::ghosts_until(*m_lane, m_step->step, workspace.ghostSteps()), 0, m_step->position);
    }
    if (!m_paid.empty()) return;
    const std::optional<Category>& meant = workspace.emphasis();
    for (int c = 0; c < kCategories; ++c) {
      const auto category = static_cast<Category>(c);
      const QColor fill = fillOf(theme, category, meant);
      add(fill, category == Category::unseen ? m_unread : standsBack(category, fill.isValid(), meant) ? m_faint : m_plain);
    }
    return;
  }
  for (int n = 0; n <= m_n_heads; ++n) {
    const QColor fill = m_n_heads > 0 ? rampTint(theme, static_cast<double>(n) / m_n_heads) : QColor();
    add(fill, fill.isValid() ? inkOn(theme, fill) : m_faint);
  }
}

Category TokenColours::category(int token) const {
  if (token < 0 || token >= static_cast<int>(m_categories.size())) return Category::unseen;
  return m_categories[static_cast<std::size_t>(token)];
}

int TokenColours::representedBy(int token) const {
  if (!m_lane || !m_lane->fates || !m_step || token < 0 || token > m_step->position || token >= m_lane->fates->n_tokens) return -1;
  int n = 0;
  for (const HeadFates& head : m_lane->fates->heads) {
    if (represented(head, token, m_step->step)) ++n;
  }
  return n;
}

bool TokenColours::pinned(int token) const { return std::binary_search(m_pinned.begin(), m_pinned.end(), token); }

const HeadRecord* TokenColours::headThatReads(const Workspace& workspace) {
  const viz::Selection& selection = workspace.selection();
  if (selection.lane != 0 || !selection.tokens || !selection.layer || !selection.kv_head || workspace.emphasis()) return nullptr;
  const viz::HeadPick pick = viz::pick_head(workspace.snapshot(), selection);
  return pick.values != nullptr && !pick.values->attention.empty() ? pick.values : nullptr;
}

TokenPaint TokenColours::paint(int token) const {
  if (!m_paid.empty()) {
    if (token < 0 || token >= static_cast<int>(m_paid.size())) return {{}, m_unread};
    // By the root, as bars of shares on a ramp are: a tenth must be seen beside nearly all.
    const auto shade =
        static_cast<std::size_t>(std::lround(kShades * std::sqrt(std::clamp(m_paid[static_cast<std::size_t>(token)], 0.0, 1.0))));
    return {m_fill[shade], m_text[shade]};
  }
  if (m_head >= 0) {
    if (m_categories.empty()) return {{}, m_plain};
    const auto c = static_cast<std::size_t>(category(token));
    const bool leaves = token < static_cast<int>(m_leaving.size()) && m_leaving[static_cast<std::size_t>(token)];
    return {m_fill[c], m_text[c], leaves ? m_stripes : QColor(), category(token) == Category::evicted ? m_hollow : QColor()};
  }
  const int n = representedBy(token);
  if (n < 0) return {{}, m_unread};
  return {m_fill[static_cast<std::size_t>(n)], m_text[static_cast<std::size_t>(n)]};
}

QString TokenColours::describe(int token) const {
  if (m_head >= 0) {
    if (m_categories.empty()) return {};
    return QString("%1 in %2")
        .arg(m_lane ? viz::category_word(*m_lane, category(token)) : viz::category_name(category(token)), m_head_name);
  }
  const int n = representedBy(token);
  if (n < 0) return m_step ? QString("not read yet at this step") : QString();
  return QString("%1 of %2 heads represent it").arg(n).arg(m_n_heads);
}

}  // namespace kvscope
