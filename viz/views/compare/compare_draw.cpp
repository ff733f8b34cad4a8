// SPDX-License-Identifier: Apache-2.0
// What the comparison looks like.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "viz/draw/format.h"
#include "viz/draw/legend.h"
#include "viz/views/compare/compare.h"

namespace kvscope::viz {

namespace {

using namespace compare;
constexpr int kManyRuns = 5;  // colours and markers beside those of the reference

}  // namespace

void Compare::draw_header(Painter& p, const Rect& header, const TokenAxis& axis) {
  const Theme& t = p.theme();
  p.text({header.x0, header.y0 + p.px(14)}, "run", Face::caption, t.disabled);
  p.text({axis.x0 - p.px(24), header.y0 + p.px(14)}, "key (past)", Face::caption, t.disabled, Align::right);
  draw_token_axis(p, {header.x0, header.y0 + p.px(4), header.x1, header.y1 - p.px(2)}, axis, "", p.frame().selection.tokens);
  draw_metric_header(p, {header.x0, header.y0, right_, header.y1}, columns_, order_);
}

void Compare::draw_rows(Painter& p, Rect area, const TokenAxis& axis) {
  rows_.clear();
  const int n = static_cast<int>(metrics_.size());
  int drawn = 0;
  for (const int lane : sorted_lanes(metrics_, order_)) {
    const float height = lane == 0 ? plan_.reference_row : plan_.row;
    if (area.height() < height - 1) {
      p.text({area.x0, area.y1 - p.px(7)}, fmt::format("{} more below: enlarge the panel", n - drawn), Face::caption, p.theme().secondary);
      p.mark("note", "lanes", area, fmt::format("{} more", n - drawn));
      return;
    }
    ++drawn;
    draw_lane(p, area.cut_top(height), axis, lane);
  }
}

void Compare::draw_lane(Painter& p, const Rect& row, const TokenAxis& axis, int lane) {
  const Theme& t = p.theme();
  const Snapshot& snapshot = *p.frame().snapshot;
  const LaneSnapshot& run = snapshot.lanes[static_cast<std::size_t>(lane)];
  const LaneMetrics& m = metrics_[static_cast<std::size_t>(lane)];
  const bool selected = p.frame().selection.lane == lane;
  LaneRow out{lane, row, row, {}};
  out.strip = {axis.x0, row.y0 + plan_.pad, axis.x_end(), row.y1 - plan_.pad};
  if (lane > 0) p.hline(row.x0, right_ + p.px(kRemove), row.y0, t.line, 0.8);
  if (selected) p.fill({0, row.y0 + 2, p.px(3), row.y1 - 1}, t.accent);
  draw_name(p, row, run, lane, selected, row.height());
  const float y = row.middle_y();
  if (m.step < 0) {
    p.text({axis.x0, y}, "no steps yet", Face::caption, t.disabled);
    p.mark("empty", fmt::format("lane {}", lane), out.strip, "no steps");
  } else if (lane == 0) {
    draw_reference(p, out.strip, axis, m);
  } else {
    draw_strip(p, out, axis, lane, m);
  }
  draw_metrics(p, right_, y, row.height(), columns_, lane, m, run.slots_asked, row.height() >= p.px(kName));
  if (lane > 0 && !p.frame().alone) {  // an exported picture has no buttons
    const float side = p.px(18);
    out.remove = {right_ + p.px(4), y - side / 2, right_ + p.px(4) + side, y + side / 2};
    const bool hot = p.pointer().inside && out.remove.contains(p.pointer().at);
    if (hot) p.fill(out.remove, t.raised, 1, 4);
    const float d = p.px(3.5f);
    const ImVec2 c(out.remove.middle_x(), out.remove.middle_y());
    p.line({c.x - d, c.y - d}, {c.x + d, c.y + d}, hot ? t.text : t.disabled, 1.4f);
    p.line({c.x - d, c.y + d}, {c.x + d, c.y - d}, hot ? t.text : t.disabled, 1.4f);
    p.mark("button", fmt::format("remove lane {}", lane), out.remove);
  }
  p.mark("lane", fmt::format("lane {}", lane), row, lane_name(snapshot, lane));
  rows_.push_back(out);
}

void Compare::draw_name(Painter& p, const Rect& row, const LaneSnapshot& run, int lane, bool selected, float height) const {
  const Theme& t = p.theme();
  const bool two = height >= p.px(kName);
  const int n_rows = static_cast<int>(metrics_.size());
  // Beside a tall strip the name stands at its top, as a heading; in a low row in the middle.
  const float y = two ? (height > p.px(62) ? row.y0 + plan_.pad + p.px(10) : row.middle_y() - p.px(7)) : row.middle_y();
  const bool grey = n_rows > kManyRuns + 1 && lane > kManyRuns && !selected;
  p.text({row.x0 + p.px(5), y}, lane_letter(lane), Face::body, t.secondary, Align::centre);
  p.run_marker({row.x0 + p.px(24), y}, p.px(4.2f), run_of_lane(lane),
               grey ? t.disabled : t.runs[static_cast<std::size_t>(run_of_lane(lane))]);
  const float x = row.x0 + p.px(38), room = p.px(kNames - 38 - 30);
  const float end = x + p.text_fit({x, y}, run.title.empty() ? run.policy : run.title, Face::strong, selected ? t.accent : t.text, room);
  std::size_t n_differ = 0;
  const std::vector<std::string> parts = telling_params(*p.frame().snapshot, run, &n_differ);
  if (!two) {  // runs of one policy are told apart by what differs
    const float left = x + room - end - p.px(8);
    if (lane == 0 || n_differ == 0 || left < p.px(20)) return;
    std::string telling = parts[0];
    for (std::size_t i = 1; i < n_differ; ++i) telling += " · " + parts[i];
    p.text_fit({end + p.px(8), y}, telling, Face::caption, t.secondary, left);
    p.mark("telling", fmt::format("lane {}", lane), {end + p.px(8), y - p.px(7), x + room, y + p.px(7)}, telling);
    return;
  }
  if (lane == 0) {
    p.text_fit({x, y + p.px(15)}, "reference", Face::caption, t.secondary, room);
    return;
  }
  // As many parameters as fill one line, two beside a tall strip; the specification in the tooltip has them all.
  std::vector<std::string> lines;
  for (const std::string& part : parts) {
    const std::string longer = lines.empty() ? part : lines.back() + " · " + part;
    if (!lines.empty() && p.width_of(Face::caption, longer) <= room) {
      lines.back() = longer;
    } else if (lines.size() < (height > p.px(62) ? 2u : 1u)) {
      lines.push_back(part);
    } else {
      break;
    }
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    p.text_fit({x, y + p.px(15) + p.px(14) * static_cast<float>(i)}, lines[i], Face::caption, t.secondary, room);
  }
}

void Compare::draw_reference(Painter& p, const Rect& strip, const TokenAxis& axis, const LaneMetrics& m) {
  const Theme& t = p.theme();
  const int seen = m.position + 1, heads = n_heads_total(*p.frame().snapshot);
  const bool all = std::isfinite(m.slots) && std::abs(m.slots - seen) < 1e-9;
  const Rect bar{std::max(axis.x0, axis.x_of(0)), strip.middle_y() - p.px(kReference / 2), std::min(axis.x1, axis.x_of(seen)),
                 strip.middle_y() + p.px(kReference / 2)};
  const Rgb fill = t.category[static_cast<std::size_t>(Category::kept)];
  p.fill({bar.x0, std::max(bar.y0, strip.y0 - 2), bar.x1, std::min(bar.y1, strip.y1 + 2)}, fill);
  const bool prefill_only = is_prefill_step(*p.frame().snapshot, m.step);
  if (!prefill_only && axis.px >= 2 && axis.x_of(seen) <= axis.x1)
    p.fill({axis.x_of(m.position), bar.y0, bar.x1, bar.y1}, t.category[static_cast<std::size_t>(Category::fresh)]);
  const std::string text = all ? fmt::format("{0} of {0} tokens kept in all {1} heads", format_count(seen), format_count(heads))
                               : fmt::format("{} of {} slots per head", format_mean(m.slots), format_count(seen));
  // A short bar has shorter words, and none rather than cut ones.
  const float room = bar.width() - p.px(20);
  const std::string share = fmt::format("{} of {}", format_mean(m.slots), format_count(seen));
  for (const std::string& words : {text, share + (all ? " tokens" : " slots"), share}) {
    if (p.width_of(Face::body, words) > room) continue;
    p.text({bar.x0 + p.px(10), bar.middle_y()}, words, Face::body, ink_on(fill, t));
    break;
  }
  p.mark("strip", "lane 0", bar, text);
}

void Compare::draw_strip(Painter& p, LaneRow& row, const TokenAxis& axis, int lane, const LaneMetrics& m) {
  const Snapshot& snapshot = *p.frame().snapshot;
  const Theme& t = p.theme();
  const int n_layers = snapshot.model.n_layers, n_kv = snapshot.model.n_kv_heads;
  const float height = plan_.scale.height(n_layers, n_kv);
  const float y0 = std::round(row.row.middle_y() - height / 2);
  row.strip = {axis.x0, y0, axis.x_end(), y0 + height};
  const StripWindow window = strip_window(axis, m.position + 1, plan_.scale.shares());
  StripTextures::Texture texture;
  if (mode_ == Mode::reference) {
    const int other = reference(p.frame()), step = metrics_[static_cast<std::size_t>(other)].step;
    const std::string state = lane_state(p.frame(), other, step) + " | " + lane_state(p.frame(), lane, m.step);
    if (step >= 0) {
      const LaneDifference cells(shown(p.frame(), other), shown(p.frame(), lane));
      texture = textures_.difference(p.frame(), fmt::format("compare.vs.{}", lane), cells, state, plan_.scale.rows, window);
    }
  } else {
    static const Represented kNothing;  // single heads are read from the fates
    texture = textures_.lane(p.frame(), lane, m.step, plan_.scale.shares() ? shown(p.frame(), lane) : kNothing, plan_.scale.rows, window);
  }
  draw_bands(p, texture, row.strip, axis, plan_.scale, n_layers, n_kv);
  if (height >= p.px(26) && plan_.scale.rows != StripScale::Rows::all) {
    p.text({axis.x0 - p.px(8), row.strip.y0 + p.px(5)}, "L0", Face::caption, t.disabled, Align::right);
    p.text({axis.x0 - p.px(8), row.strip.y1 - p.px(6)}, fmt::format("L{}", n_layers - 1), Face::caption, t.disabled, Align::right);
  }
  p.mark("strip", fmt::format("lane {}", lane), row.strip,
         mode_ == Mode::reference ? "difference"
         : plan_.scale.shares()   ? "kept fraction"
                                  : "fate");
  const Selection& selection = p.frame().selection;
  if (selection.layer && !plan_.scale.shares() && *selection.layer < n_layers && lane == selection.lane) {
    const float pitch = plan_.scale.band_height(n_kv) + plan_.scale.gap;
    float top = row.strip.y0 + pitch * static_cast<float>(*selection.layer), tall = plan_.scale.band_height(n_kv);
    if (selection.kv_head) {
      top += plan_.scale.px * static_cast<float>(*selection.kv_head);
      tall = plan_.scale.px;
    }
    p.selection({axis.x0 - 2, top - 1.5f, axis.x_of(m.position + 1) + 2, top + tall + 1.5f}, 1, 0);
  }
}

void Compare::draw_legend(Painter& p, const Rect& legend, const TokenAxis& axis) {
  const Theme& t = p.theme();
  const Snapshot& s = *p.frame().snapshot;
  p.hline(0, p.canvas().x1, legend.y0, t.line);
  const float y = legend.middle_y();
  float x = legend.x0;
  std::string note;
  const std::string heads = plan_.scale.rows == StripScale::Rows::all
                                ? fmt::format("one row per run: mean of {} heads", n_heads_total(s))
                                : fmt::format("one row per layer: mean of {} heads", s.model.n_kv_heads);
  if (mode_ == Mode::reference) {
    const std::string other = lane_letter(reference(p.frame()));
    if (plan_.scale.shares()) {
      x = draw_ramp_legend(
          p, x, y, {.name = "share of heads", .colours = t.diverging, .low = "only in " + other, .high = "only in the run", .note = {}});
    } else {
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
    }
  } else if (plan_.scale.shares()) {
    x = draw_ramp_legend(p, x, y, {.name = "kept or merged", .colours = t.sequential, .low = "0", .high = "all heads", .note = {}});
  } else {
    x = draw_category_legend(p, x, y, kCategoryLegend);
  }
  if (plan_.scale.shares()) {
    note = axis.px >= 3 ? heads
                        : fmt::format("{} · 1 px = {} tokens, bins of {}", heads, format_number(static_cast<double>(1 / axis.px)),
                                      tokens_per_bin(axis.px));
  } else {
    note = fmt::format("{} rows a run: {} layers × {} KV heads, {} px each · {:.3g} px = 1 token", n_heads_total(s), s.model.n_layers,
                       s.model.n_kv_heads, plan_.scale.px, axis.px);
  }
  if (prompt_end(s, axis) > 0) x = draw_prompt_end_legend(p, x, y, fmt::format("prompt ends at {}", s.n_prompt));
  capture_.none();
  if (!s.shadow && s.lanes.size() > 1) x = capture_.draw(p, {x, y}, "attention lost", legend.x1 - x) + p.px(14);
  const std::string_view answer = "outlined answer = differs from A";
  const float room = legend.x1 + p.px(kRemove) - x - p.px(10);
  left_out_at_ = {};
  if (!left_out_.empty()) {
    const std::string hidden = fmt::format("{} {} hidden", left_out_.size(), left_out_.size() == 1 ? "column" : "columns");
    const float end = legend.x1 + p.px(kRemove);
    // In short where there is no room to say what helps; the tooltip says it.
    float w = p.width_of(Face::caption, hidden + ": widen, or choose numbers");
    const bool whole = w <= room && !p.frame().alone;  // a picture cannot be widened
    if (!whole) w = p.width_of(Face::caption, hidden);
    p.text({end, y}, hidden + (whole ? ": widen, or choose numbers" : ""), Face::caption, t.accent, Align::right);
    left_out_at_ = {end - w - p.px(4), legend.y0, end + p.px(4), legend.y1};
    p.mark("columns hidden", fmt::format("{}", fmt::join(left_out_, ", ")), left_out_at_, hidden);
    return;
  }
  // The whole note, else one half of it: a cut text would be worse.
  for (const std::string& text : {note + " · " + std::string(answer), note, std::string(answer)}) {
    if (p.width_of(Face::caption, text) > room) continue;
    p.text({legend.x1 + p.px(kRemove), y}, text, Face::caption, t.disabled, Align::right);
    break;
  }
}

float Compare::prompt_end(const Snapshot& s, const TokenAxis& axis) {
  const float x = axis.x_of(s.n_prompt);
  return s.n_prompt > 0 && s.n_prompt < axis.n_tokens && x >= axis.x0 && x <= axis.x1 ? x : -1;
}

void Compare::draw_cursors(Painter& p, const TokenAxis& axis, const DifferenceHits& difference, const Selection& selection) {
  if (rows_.empty()) return;
  const float y0 = rows_.front().row.y0, y1 = rows_.back().row.y1;
  const TokenRows lines{p, axis, ""};
  const auto both = [&](auto draw) {
    draw(y0, y1);
    if (difference.strip.height() > 0) draw(difference.strip.y0 - p.px(6), difference.strip.y1 + p.px(4));
  };
  if (const float x = prompt_end(*p.frame().snapshot, axis); x > 0) p.dashed({x, y0}, {x, y1}, p.theme().text, kDashPromptEnd, 1, 0.55);
  if (p.frame().hover.token && *p.frame().hover.token < axis.n_tokens) {
    p.clip({axis.x0 - 1, 0, axis.x1 + 1, p.canvas().y1});
    both([&](float a, float b) { p.fill(lines.column(*p.frame().hover.token, {0, a, 0, b}), p.theme().text, 0.16); });
    p.unclip();
  }
  for (const TokenRange& range : all_tokens(selection)) {
    if (range.last < axis.first_visible() || range.first > axis.last_visible()) continue;
    both([&](float a, float b) { lines.range(a - (a == y0 ? p.px(6) : 0), b, range); });
  }
  lines.found(y0 - p.px(4), p.frame().found);
}

}  // namespace kvscope::viz
