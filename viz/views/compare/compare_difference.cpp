// SPDX-License-Identifier: Apache-2.0
#include "viz/views/compare/compare_difference.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "viz/draw/format.h"
#include "viz/views/compare/compare_text.h"

namespace kvscope::viz {

namespace {

constexpr float kCountsWidth = 150, kTokenWidth = 400;
constexpr float kCountsOfRun = 250;  // from which a run's line says when, too

StripScale difference_scale(float token_px, int n_layers, int n_kv_heads, float height) {
  using Rows = StripScale::Rows;
  std::vector<StripScale> scales;
  if (token_px >= 1) {
    for (const float px : {20.0f, 17.0f, 14.0f, 12.0f, 10.0f, 8.0f, 7.0f, 6.0f, 5.0f, 4.0f, 3.0f, 2.0f, 1.0f})
      scales.push_back({Rows::heads, px, px >= 3 ? 4.0f : 2.0f});
  }
  for (const float px : {16.0f, 12.0f, 8.0f, 6.0f, 4.0f, 3.0f, 2.0f, 1.0f}) scales.push_back({Rows::layers, px, px >= 4 ? 1.0f : 0.0f});
  for (const StripScale& s : scales) {
    if (s.height(n_layers, n_kv_heads) <= height) return s;
  }
  return {Rows::all, std::max(1.0f, height), 0};
}

void draw_counts(Painter& p, Rect area, const DifferenceScene& scene, bool shares) {
  const Theme& t = p.theme();
  const Snapshot& snapshot = *p.frame().snapshot;
  const std::pair<Difference, std::string> states[] = {{Difference::only_a, "only in " + lane_name(snapshot, scene.a)},
                                                       {Difference::only_b, "only in " + lane_name(snapshot, scene.b)},
                                                       {Difference::both, "in both"},
                                                       {Difference::neither, "in neither"}};
  const float line = std::clamp(area.height() / 5, p.px(16), p.px(38));
  const bool two = line >= p.px(32);  // the count under the name, else beside it
  for (const auto& [state, name] : states) {
    if (area.height() < line - 2) return;
    const Rect r = area.cut_top(line);
    const Rect swatch{r.x0, r.y0 + p.px(2), r.x0 + p.px(10), r.y0 + p.px(12)};
    p.fill(swatch, difference_fill(t, state));
    if (state == Difference::neither) p.frame_rect(swatch, t.line);
    const std::string count = format_count(scene.counts[static_cast<std::size_t>(state)]);
    const float taken = two ? p.px(17) : p.px(25) + p.width_of(Face::strong, count);
    // The run's letter says which where its name has no room.
    const bool brief = p.width_of(Face::caption, name) > r.width() - taken;
    const std::size_t letter_end = brief && name.starts_with("only in ") ? name.find(' ', 8) : std::string::npos;
    p.mark("difference.name", name.substr(0, letter_end), r);
    p.text_fit({r.x0 + p.px(17), r.y0 + p.px(7)}, name.substr(0, letter_end), Face::caption, t.secondary, r.width() - taken);
    p.text(two ? ImVec2(r.x0 + p.px(17), r.y0 + p.px(21)) : ImVec2(r.x1, r.y0 + p.px(7)), count, Face::strong, t.text,
           two ? Align::left : Align::right);
    p.mark("difference", name, r, count);
  }
  if (area.height() >= p.px(12)) {
    const std::string all = format_count(scene.cells->total());
    const std::string of = scene.cells->parted() ? fmt::format("of {} before {}", all, format_count(scene.cells->n_alike()))
                                                 : fmt::format("of {} token-heads", all);
    p.text_fit({area.x0, area.y0 + p.px(6)}, of, Face::caption, t.disabled, area.width());
  }
  if (!shares || area.height() < p.px(34)) return;
  // Bins of several heads: the balance, on a ramp of its own.
  const Rect bar{area.x0, area.y0 + p.px(18), area.x0 + p.px(120), area.y0 + p.px(26)};
  constexpr int kSteps = 24;
  for (int i = 0; i < kSteps; ++i) {
    const float a = bar.x0 + bar.width() * static_cast<float>(i) / kSteps, b = bar.x0 + bar.width() * static_cast<float>(i + 1) / kSteps;
    p.fill({a, bar.y0, b, bar.y1}, ramp(t.diverging, (i + 0.5) / kSteps));
  }
  if (area.height() < p.px(44)) return;
  p.text({bar.x0, area.y0 + p.px(36)}, lane_letter(scene.a) + " only", Face::caption, t.disabled);
  p.text({bar.x1, area.y0 + p.px(36)}, lane_letter(scene.b) + " only", Face::caption, t.disabled, Align::right);
  p.mark("legend", "balance", bar, "share of heads in a bin");
}

/// Which of n runs have one of `fit` lines in their order, the two that are compared before all others; less than all: one line more says
/// so.
std::vector<std::size_t> runs_listed(std::size_t fit, std::size_t n, const DifferenceScene& scene) {
  const std::size_t room = fit >= n ? n : fit > 0 ? fit - 1 : 0;
  std::vector<std::size_t> runs(n);
  std::iota(runs.begin(), runs.end(), std::size_t{0});
  const auto compared = [&](std::size_t run) { return std::cmp_equal(run, scene.a) || std::cmp_equal(run, scene.b); };
  for (std::size_t i = n; i-- > 0 && runs.size() > room;)
    if (!compared(i)) runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(i));
  runs.resize(std::min(runs.size(), room));
  return runs;
}

/// Heads of one run with the token's own slot, and those where it lives on merged.
void draw_token_count(Painter& p, const Rect& r, std::size_t lane, int token, const TokenCount& count) {
  const Theme& t = p.theme();
  const int run = static_cast<int>(lane);
  if (const std::string other = other_token_text(*p.frame().snapshot, p.frame().selection.lane, run, token); !other.empty()) {
    const float end = r.x1 - p.width_of(Face::caption, other) - p.px(4);
    p.text_fit({r.x0, r.middle_y()}, lane_name(*p.frame().snapshot, run), Face::body, t.secondary, end - r.x0 - p.px(4));
    p.text({r.x1, r.middle_y()}, other, Face::caption, t.disabled, Align::right);
    p.mark("token.other", fmt::format("lane {}", lane), r, other);
    return;
  }
  const bool wide = r.width() >= p.px(kCountsOfRun);
  const float numbers = wide ? r.x0 + p.px(150) : r.x1 - p.px(38);
  const std::string kept = count.heads > 0 ? format_count(count.kept) : "–";
  p.text_fit({r.x0, r.middle_y()}, lane_name(*p.frame().snapshot, static_cast<int>(lane)), Face::body, t.secondary,
             numbers - r.x0 - p.px(34));
  p.text({numbers, r.middle_y()}, kept, Face::body, t.text, Align::right);
  if (wide && count.evicted > 0) {
    const std::string steps = count.first_lost == count.last_lost ? fmt::format("at step {}", count.first_lost)
                                                                  : fmt::format("at steps {}–{}", count.first_lost, count.last_lost);
    const Rect place{numbers + p.px(44), r.y0, r.x1, r.y1};
    const std::string evicted = p.elide(fmt::format("{} evicted {}", format_count(count.evicted), steps), Face::caption, place.width());
    p.text({place.x0, r.middle_y()}, evicted, Face::caption, t.disabled);
    p.mark("token.steps", fmt::format("lane {}", lane), place, evicted);
  }
  if (count.merged > 0)
    p.text({numbers + p.px(6), r.middle_y()}, fmt::format("+ {}", format_count(count.merged)), Face::body,
           t.category[static_cast<std::size_t>(Category::merged)]);
  if (count.evicted > 0) p.mark("token.evicted", fmt::format("lane {}", lane), r, evicted_text(count));
  p.mark("token.count", fmt::format("lane {}", lane), r, kept_text(count));
}

/// One token in every run; what has no line in one column has one beside it, as far as there is room.
void draw_token_counts(Painter& p, Rect area, const DifferenceScene& scene) {
  const Theme& t = p.theme();
  const Snapshot& snapshot = *p.frame().snapshot;
  if (scene.token < 0) {
    p.text_fit({area.x0, area.y0 + p.px(7)}, "select a token: its fate in every run", Face::caption, t.disabled, area.width());
    return;
  }
  const Rect title = area.cut_top(p.px(18));
  p.text_fit({title.x0, title.middle_y()},
             fmt::format("token {} {}", scene.token, quoted(token_text(tokens_of(snapshot, p.frame().selection.lane), scene.token))),
             Face::strong, t.text, title.width());
  const Rect unit = area.cut_top(p.px(20));
  p.text_fit({unit.x0, unit.y0 + p.px(7)}, fmt::format("kept + merged, of {} heads", format_count(n_heads_total(snapshot))), Face::caption,
             t.secondary, unit.width());
  const std::size_t n = snapshot.lanes.size();
  const auto lines = static_cast<std::size_t>(std::max(0.0f, std::floor((area.height() + 1) / p.px(13))));
  const auto most = static_cast<std::size_t>(std::max(1.0f, std::floor(area.width() / p.px(kCountsOfRun))));
  const std::size_t columns = lines == 0 ? 1 : std::clamp<std::size_t>((n + lines - 1) / lines, 1, most);
  const std::size_t rows = (n + columns - 1) / columns, shown = std::min(rows, lines);
  const float line = std::clamp(area.height() / static_cast<float>(rows), p.px(13), p.px(20)),
              width = std::min(area.width() / static_cast<float>(columns), p.px(kTokenWidth));
  const auto place = [&](std::size_t i) {
    const float x = area.x0 + width * static_cast<float>(i / shown), y = area.y0 + line * static_cast<float>(i % shown);
    return Rect{x, y, x + width, y + line};
  };
  const std::vector<std::size_t> listed = runs_listed(shown * columns, n, scene);
  for (std::size_t i = 0; i < listed.size(); ++i) draw_token_count(p, place(i), listed[i], scene.token, scene.token_counts[listed[i]]);
  if (listed.size() == n) return;
  const Rect r = shown > 0 ? place(listed.size()) : Rect{area.x0, area.y0, area.x0 + width, area.y0 + line};
  const std::string text = fmt::format("+ {} more: point at a run", n - listed.size());
  p.text_fit({r.x0, r.middle_y()}, text, Face::caption, t.secondary, r.width());
  p.mark("token.more", "runs", r, text);
}

}  // namespace

std::string lane_name(const Snapshot& snapshot, int lane) {
  const LaneSnapshot& run = snapshot.lanes[static_cast<std::size_t>(lane)];
  return fmt::format("{} {}", lane_letter(lane), run.title.empty() ? run.policy : run.title);
}

DifferenceHits draw_difference(Painter& p, Rect area, const TokenAxis& axis, const DifferenceScene& scene, StripTextures& textures) {
  DifferenceHits hits;
  const Theme& t = p.theme();
  const Snapshot& snapshot = *p.frame().snapshot;
  p.hline(0, p.canvas().x1, area.y0, t.line);
  area = area.inset(p.px(12), 0);
  const Rect head = area.cut_top(p.px(32));
  float x = head.x0 + p.text({head.x0, head.middle_y()}, "Difference", Face::strong, t.text) + p.px(10);
  const float swap_width = p.width_of(Face::body, "Swap") + p.px(16);
  hits.swap = {head.x1 - swap_width, head.middle_y() - p.px(11), head.x1, head.middle_y() + p.px(11)};
  const auto chip = [&](int lane, const char* label) {
    const std::string name = lane_name(snapshot, lane);
    const Rect r{x, head.middle_y() - p.px(11), x + p.width_of(Face::body, name) + p.px(16), head.middle_y() + p.px(11)};
    const bool under = p.pointer().inside && r.contains(p.pointer().at);
    p.fill(r, under ? t.line : t.raised, 1, 4);
    p.frame_rect(r, t.line, 1, 4);
    p.text({r.middle_x(), r.middle_y()}, name, Face::body, t.text, Align::centre);
    p.mark("button", label, r, name);
    x = r.x1;
    return r;
  };
  hits.first = chip(scene.a, "first run");
  x += p.px(8) + p.text({x + p.px(8), head.middle_y()}, "against", Face::body, t.secondary) + p.px(8);
  hits.second = chip(scene.b, "second run");
  x += p.px(12);
  const std::string rule = scene.cells->parted()
                               ? fmt::format("from token {} on each reads its own text: not compared", format_count(scene.cells->n_alike()))
                               : std::string("a token counts when a slot represents it");
  const std::string_view way = " · a click on a name lists the runs";
  const bool paper = p.frame().alone || p.frame().plain;  // a picture has no buttons, nor has a stage
  p.text_fit({x, head.middle_y()}, paper ? rule : fmt::format("{}{}", rule, way), Face::body, t.secondary, hits.swap.x0 - x - 8);
  const bool hot = p.pointer().inside && hits.swap.contains(p.pointer().at);
  if (hot) p.fill(hits.swap, t.raised, 1, 4);
  if (!paper) p.text({hits.swap.middle_x(), hits.swap.middle_y()}, "Swap", Face::body, hot ? t.text : t.secondary, Align::centre);
  p.mark("button", "swap", hits.swap, "Swap");
  draw_token_axis(p, area.cut_top(p.px(30)), axis, "", std::nullopt);
  area.cut_bottom(p.px(10));
  const int n_layers = snapshot.model.n_layers, n_kv = snapshot.model.n_kv_heads;
  hits.scale = difference_scale(axis.px, n_layers, n_kv, area.height());
  const float pitch = hits.scale.band_height(n_kv) + hits.scale.gap;
  hits.strip = {axis.x0, area.y0, axis.x_end(), area.y0 + hits.scale.height(n_layers, n_kv)};
  float label_end = -100;
  for (int layer = 0; layer < n_layers && hits.scale.rows != StripScale::Rows::all; ++layer) {
    const float y = area.y0 + pitch * static_cast<float>(layer) + hits.scale.band_height(n_kv) / 2;
    if (y - label_end < p.px(13)) continue;
    label_end = y;
    p.text({axis.x0 - p.px(10), y}, fmt::format("L{}", layer), Face::caption, t.secondary, Align::right);
  }
  if (scene.cells->empty()) {
    p.text({axis.x0, area.y0 + p.px(10)}, "one of the two runs has no steps yet", Face::caption, t.disabled);
    p.mark("empty", "difference", area, "no steps");
    return hits;
  }
  const std::string state = lane_state(p.frame(), scene.a, scene.step_a) + " | " + lane_state(p.frame(), scene.b, scene.step_b);
  const StripWindow window = strip_window(axis, scene.cells->n_tokens(), hits.scale.shares());
  const auto texture = textures.difference(p.frame(), "compare.difference", *scene.cells, state, hits.scale.rows, window);
  draw_bands(p, texture, hits.strip, axis, hits.scale, n_layers, n_kv);
  p.mark("difference.strip", lane_name(snapshot, scene.a) + " | " + lane_name(snapshot, scene.b), hits.strip);
  Rect side{axis.x1 + p.px(24), area.y0, area.x1, area.y1};
  const Rect counts = side.cut_left(p.px(kCountsWidth));
  if (counts.width() >= p.px(100)) draw_counts(p, counts, scene, hits.scale.shares());
  side.cut_left(p.px(24));
  if (side.width() >= p.px(150)) draw_token_counts(p, side, scene);
  return hits;
}

}  // namespace kvscope::viz
