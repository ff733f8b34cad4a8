// SPDX-License-Identifier: Apache-2.0
#include "viz/views/compare/compare_legend.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "viz/draw/format.h"
#include "viz/draw/legend.h"
#include "viz/reduce/text.h"

namespace kvscope::viz {

namespace {

/// What a row and a pixel of the strips are.
std::string rows_text(const Snapshot& snapshot, const CompareScene& s) {
  const ModelConfig& model = snapshot.model;
  const float px = s.axis.px;
  if (!s.plan.scale.shares())
    return fmt::format("{} rows a run: {} layers × {} KV heads, {} px each · {:.3g} px = 1 token", n_heads_total(snapshot), model.n_layers,
                       model.n_kv_heads, s.plan.scale.px, px);
  const std::string heads = s.plan.scale.rows == StripScale::Rows::all
                                ? fmt::format("one row per run: mean of {} heads", n_heads_total(snapshot))
                                : fmt::format("one row per layer: mean of {} heads", model.n_kv_heads);
  if (px >= 3) return heads;
  return fmt::format("{} · 1 px = {} tokens, bins of {}", heads, format_number(static_cast<double>(1 / px)), tokens_per_bin(px));
}

/// What the colours of the strips are, from x on; returns the x after it.
float draw_colours(Painter& p, float x, float y, const CompareScene& s) {
  const Theme& t = p.theme();
  const bool shares = s.plan.scale.shares();
  const std::string other = lane_letter(s.reference);
  if (s.mode != CompareMode::reference) {
    if (!shares) {
      std::vector<LegendItem> items(kCategoryLegend.begin(), kCategoryLegend.end());
      if (std::ranges::any_of(p.frame().snapshot->lanes, reads_pages)) items.push_back({Category::unread, {}});
      return draw_category_legend(p, x, y, items);
    }
    return draw_ramp_legend(p, x, y, {.name = "kept or merged", .colours = t.sequential, .low = "0", .high = "all heads", .note = {}});
  }
  if (shares)
    return draw_ramp_legend(
        p, x, y, {.name = "share of heads", .colours = t.diverging, .low = "only in " + other, .high = "only in the run", .note = {}});
  const std::pair<Difference, std::string> states[] = {{Difference::only_a, "only in " + other + ", the reference"},
                                                       {Difference::only_b, "only in this run"},
                                                       {Difference::both, "in both"},
                                                       {Difference::neither, "in neither"}};
  for (const auto& [state, name] : states) {
    const Rect swatch{x, y - p.px(5), x + p.px(10), y + p.px(5)};
    p.fill(swatch, difference_fill(t, state));
    if (state == Difference::neither) p.frame_rect(swatch, t.line);
    x += p.px(15) + p.text({x + p.px(15), y}, name, Face::caption, t.secondary) + p.px(14);
    p.mark("legend", name, swatch);
  }
  return x;
}

/// Why the difference of two runs is not there; empty: it is, or is not asked for.
std::string missing_text(const Painter& p, const CompareScene& s) {
  const std::size_t n = p.frame().snapshot->lanes.size();
  if (s.plan.difference || s.mode == CompareMode::reference || p.frame().alone) return {};
  if (s.mode == CompareMode::pair) return n > 1 ? "no room for the difference: fewer runs or a higher window" : "";
  return n > 2 ? "no room for the difference: view pairwise" : "";
}

/// On a stage: which head and token the frames are about, as far as there is room to say it.
void draw_framed(Painter& p, float x, float y, float end) {
  const Selection& at = p.frame().selection;
  if (!at.layer || !at.kv_head) return;
  const std::string head = fmt::format("framed: L{} H{}", *at.layer, *at.kv_head);
  const std::string token =
      at.tokens ? head + ", " + quoted(token_range_text(tokens_of(*p.frame().snapshot, at.lane), at.tokens->first, at.tokens->last, 8))
                : head;
  for (const std::string& words : {token, head}) {
    const float width = p.width_of(Face::caption, words);
    if (x + width > end) continue;
    p.text({end, y}, words, Face::caption, p.theme().accent, Align::right);
    p.mark("framed", words, {end - width, y - p.px(7), end, y + p.px(7)});
    return;
  }
}

}  // namespace

void CompareLegend::draw(Painter& p, const Rect& legend, const CompareScene& s) {
  const Theme& t = p.theme();
  const Snapshot& snapshot = *p.frame().snapshot;
  p.hline(0, p.canvas().x1, legend.y0, t.line);
  const float y = legend.middle_y();
  float x = draw_colours(p, legend.x0, y, s);
  if (const std::string ends = fmt::format("prompt ends at {}", snapshot.n_prompt);
      prompt_end(snapshot, s.axis) > 0 && x + p.px(7) + p.width_of(Face::caption, ends) <= legend.x1)
    x = draw_prompt_end_legend(p, x, y, ends);
  capture_.none();
  if (!snapshot.history && snapshot.lanes.size() > 1) x = capture_.draw(p, {x, y}, "attention lost", legend.x1 - x) + p.px(14);
  const float end = legend.x1 + p.px(compare::kRemove), room = end - x - p.px(10);
  left_out_ = fmt::format("{}", fmt::join(s.left_out, ", "));
  left_out_at_ = {};
  if (p.frame().plain) {  // an audience can neither widen nor choose
    draw_framed(p, x, y, legend.x1 + p.px(compare::kRemove));
    return;
  }
  if (const std::string missing = missing_text(p, s); !missing.empty() || !s.left_out.empty()) {
    const std::string hidden = s.left_out.empty() ? "" : count_of(static_cast<int>(s.left_out.size()), "column", "columns") + " hidden";
    const std::string both = missing + (missing.empty() || hidden.empty() ? "" : " · ") + hidden, widen = ": widen, or choose numbers";
    // In short where there is no room to say what helps; the tooltip says it. A picture cannot be widened.
    std::string words = hidden.empty() ? missing : hidden;
    for (const std::string& longer : {missing.empty() ? hidden + widen : both, both})
      if (p.width_of(Face::caption, longer) <= room && !p.frame().alone) {
        words = longer;
        break;
      }
    const float w = p.width_of(Face::caption, words);
    p.text({end, y}, words, Face::caption, t.accent, Align::right);
    left_out_at_ = {end - w - p.px(4), legend.y0, end + p.px(4), legend.y1};
    if (!hidden.empty()) p.mark("columns hidden", left_out_, left_out_at_, hidden);
    const bool said = words.starts_with(missing) && !missing.empty();
    pair_offered_ = said && s.mode != CompareMode::pair;
    if (said) p.mark("difference hidden", missing, left_out_at_);
    return;
  }
  // The whole note, else one half of it: a cut text would be worse.
  const std::string note = rows_text(snapshot, s);
  const bool answers = std::ranges::find(s.columns, MetricColumn::Kind::answer, &MetricColumn::kind) != s.columns.end();
  const std::string answer = answers ? "outlined answer = differs from A" : "";
  for (const std::string& text : {answers ? note + " · " + answer : note, note, answer}) {
    if (p.width_of(Face::caption, text) > room) continue;
    p.text({end, y}, text, Face::caption, t.disabled, Align::right);
    break;
  }
}

bool CompareLegend::react(const Pointer& mouse, HoverPublisher& hover, std::vector<Intent>& intents) const {
  if (capture_.react(mouse, intents)) {
    hover.none(intents);
    return true;
  }
  if (left_out_.empty() || !left_out_at_.contains(mouse.at)) return false;
  hover.at(Hover{}, {"No room for: " + left_out_, "Widen the window, choose numbers above, or open the data table"}, intents);
  return true;
}

}  // namespace kvscope::viz
