// SPDX-License-Identifier: Apache-2.0
#include "viz/views/compare/compare_rows.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "snapshot/figures.h"
#include "viz/draw/format.h"
#include "viz/reduce/run_look.h"

namespace kvscope::viz {

namespace {

using namespace compare;
constexpr std::size_t kMostWaiting = 4;  // rows; how many more there are is said

/// The button with a cross beside a row that ends at `right`.
Rect draw_cross(Painter& p, float right, float y) {
  const Theme& t = p.theme();
  const float side = p.px(18);
  const Rect button{right + p.px(4), y - side / 2, right + p.px(4) + side, y + side / 2};
  const bool hot = p.pointer().inside && button.contains(p.pointer().at);
  if (hot) p.fill(button, t.raised, 1, 4);
  const float d = p.px(3.5f);
  const ImVec2 c(button.middle_x(), button.middle_y());
  p.line({c.x - d, c.y - d}, {c.x + d, c.y + d}, hot ? t.text : t.disabled, 1.4f);
  p.line({c.x - d, c.y + d}, {c.x + d, c.y - d}, hot ? t.text : t.disabled, 1.4f);
  return button;
}

/// Where a parameter begins to differ from that of the same name of another run of the policy, for each of them.
std::set<std::size_t> differences(const Snapshot& snapshot, const LaneSnapshot& run, const std::string& param) {
  const std::string_view name = std::string_view(param).substr(0, param.find(' ') + 1);
  std::set<std::size_t> out;
  for (const LaneSnapshot& twin : snapshot.lanes) {
    if (&twin == &run || twin.policy != run.policy) continue;
    for (const std::string& other : telling_params(snapshot, twin)) {
      if (other == param || !other.starts_with(name)) continue;
      auto at = static_cast<std::size_t>(std::ranges::mismatch(param, other).in1 - param.begin());
      while (at > 0 && at < param.size() && (param[at] & 0xC0) == 0x80) --at;  // inside a character
      if (at < param.size()) out.insert(at);
    }
  }
  return out;
}

/// `name` and of the rest, which begins at `begin`, so many bytes of each place.
std::string pieces(const std::string& name, const std::string& param, std::size_t begin, const std::set<std::size_t>& places,
                   std::size_t most) {
  std::string out = name;
  std::size_t end = begin;
  for (const std::size_t at : places) {
    if (at > end || (at == begin && name.empty())) out += "…";
    const std::size_t from = std::max(at, end);
    std::size_t to = std::min(at + most, param.size());
    while (to > from && to < param.size() && (param[to] & 0xC0) == 0x80) --to;
    if (to > from) out += param.substr(from, to - from);
    end = std::max(end, to);
  }
  return end < param.size() ? out + "…" : out;
}

/// Of a parameter that is longer than its room only where it differs from those of other runs: in a formula that is anywhere.
std::string shortened(const Painter& p, const LaneSnapshot& run, const std::string& param, float room) {
  if (p.width_of(Face::caption, param) <= room) return param;
  const std::set<std::size_t> places = differences(*p.frame().snapshot, run, param);
  const std::size_t begin = param.find(' ') + 1;
  for (const std::string& name : {param.substr(0, begin), std::string()})
    for (std::size_t most = places.empty() ? 0 : param.size(); most > 1; --most)
      if (std::string out = pieces(name, param, begin, places, most); p.width_of(Face::caption, out) <= room) return out;
  return p.elide(param, Face::caption, room);
}

/// The title, or as much of it as says the policy: its parameters stand below.
std::string short_title(const Painter& p, const LaneSnapshot& run, float room) {
  const std::string title = run.title.empty() ? run.policy : run.title;
  const std::size_t policy = title.find(": ");
  return policy == std::string::npos || p.width_of(Face::strong, title) <= room ? title : title.substr(0, policy) + "…";
}

/// In two lines where one is too short and there is room for both: names are alike at their ends as often as at their beginnings. Broken
/// between words, of which a capital letter begins one.
std::vector<std::string> name_lines(const Painter& p, const std::string& name, float room, bool two) {
  if (!two || p.width_of(Face::strong, name) <= room) return {name};
  for (std::size_t at = name.size() - 1; at > 0; --at) {
    const bool blank = name[at] == ' ', capital = name[at] >= 'A' && name[at] <= 'Z' && name[at - 1] >= 'a' && name[at - 1] <= 'z';
    if ((blank || capital) && p.width_of(Face::strong, name.substr(0, at)) <= room)
      return {name.substr(0, at), name.substr(blank ? at + 1 : at)};
  }
  return {name};
}

void draw_name(Painter& p, const CompareScene& s, const Rect& row, int lane) {
  const Theme& t = p.theme();
  const LaneSnapshot& run = p.frame().snapshot->lanes[static_cast<std::size_t>(lane)];
  const bool selected = p.frame().selection.lane == lane;
  const float height = row.height();
  const bool two = height >= p.px(kName);
  // Beside a tall strip the name stands at its top, as a heading; in a low row in the middle.
  const float y = two ? (height > p.px(62) ? row.y0 + s.plan.pad + p.px(10) : row.middle_y() - p.px(7)) : row.middle_y();
  p.text({row.x0 + p.px(5), y}, lane_letter(lane), Face::body, t.secondary, Align::centre);
  p.run_marker({row.x0 + p.px(24), y}, p.px(4.2f), marker_of_lane(lane), lane_colour(t, lane));
  const float x = row.x0 + p.px(38), room = s.names - beside_name(p);
  std::size_t n_differ = 0;
  const std::vector<std::string> parts = telling_params(*p.frame().snapshot, run, &n_differ);
  const bool told = !two && lane > 0 && n_differ > 0;  // runs of one policy are told apart by what differs, and that before its name
  const float name = told ? std::max(0.4f * room, room - p.px(8) - p.width_of(Face::caption, parts[0])) : room;
  const bool tall = height > p.px(62);
  // In a lower row the second line is the parameters', which tell runs of one name apart.
  const bool only_one = std::ranges::count(p.frame().snapshot->lanes, run.title, &LaneSnapshot::title) == 1;
  const std::vector<std::string> title = name_lines(p, short_title(p, run, name), name, tall || (two && only_one));
  const Rgb ink = selected ? t.accent : t.text;
  const float end = x + p.text_fit({x, y}, title[0], Face::strong, ink, name);
  float below = y + p.px(15);
  if (title.size() > 1) {
    p.text_fit({x, below}, title[1], Face::strong, ink, name);
    below += p.px(15);
  }
  p.mark("name", fmt::format("lane {}", lane), {x, y - p.px(7), x + room, below - p.px(8)}, fmt::format("{}", fmt::join(title, "|")));
  if (!two) {
    if (!told) return;
    const float left = x + room - end - p.px(8);
    std::string telling = shortened(p, run, parts[0], left);
    for (std::size_t i = 1; i < n_differ; ++i) {
      const std::string more = telling + " · " + parts[i];
      if (p.width_of(Face::caption, more) > left) break;
      telling = more;
    }
    p.text_fit({end + p.px(8), y}, telling, Face::caption, t.secondary, left);
    p.mark("telling", fmt::format("lane {}", lane), {end + p.px(8), y - p.px(7), x + room, y + p.px(7)}, telling);
    return;
  }
  if (p.frame().plain && n_differ == 0) return;  // the name says all that a scene speaks of
  if (lane == 0) {
    p.text_fit({x, below}, "reference", Face::caption, t.secondary, room);
    return;
  }
  // As many parameters as fill one line, two beside a tall strip; the specification in the tooltip has them all.
  std::vector<std::string> lines;
  for (const std::string& whole : parts) {
    const std::string part = shortened(p, run, whole, room);
    const std::string longer = lines.empty() ? part : lines.back() + " · " + part;
    if (!lines.empty() && p.width_of(Face::caption, longer) <= room) {
      lines.back() = longer;
    } else if (lines.size() < (tall ? 3u : 2u) - title.size()) {
      lines.push_back(part);
    } else {
      break;
    }
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    p.text_fit({x, below + p.px(14) * static_cast<float>(i)}, lines[i], Face::caption, t.secondary, room);
  }
}

/// The parts of a bar that no frame of a selected token crosses.
std::vector<Rect> between_frames(const Painter& p, const Rect& bar, const TokenAxis& axis) {
  std::vector<Rect> out = {bar};
  for (const TokenRange& range : all_tokens(p.frame().selection)) {
    const float from = axis.x_of(range.first) - 2, to = axis.x_of(range.last + 1) + 2;
    Rect& right = out.back();
    if (to <= right.x0 || from >= right.x1) continue;
    const Rect beyond{to, right.y0, right.x1, right.y1};
    right.x1 = from;
    out.push_back(beyond);
  }
  return out;
}

/// The full cache keeps everything, so one thin bar says it all; should it not be full, the bar's text says how many slots there are.
void draw_reference(Painter& p, const Rect& strip, const TokenAxis& axis, const LaneMetrics& m) {
  const Theme& t = p.theme();
  const int seen = m.position + 1, heads = n_heads_total(*p.frame().snapshot);
  const bool all = std::isfinite(m.slots) && std::abs(m.slots - seen) < 1e-9;
  const Rect bar{std::max(axis.x0, axis.x_of(0)), strip.middle_y() - p.px(kReference / 2), std::min(axis.x1, axis.x_of(seen)),
                 strip.middle_y() + p.px(kReference / 2)};
  const Rgb fill = cell_fill(t, Category::kept, p.frame().emphasis);
  p.fill({bar.x0, std::max(bar.y0, strip.y0 - 2), bar.x1, std::min(bar.y1, strip.y1 + 2)}, fill);
  const bool prefill_only = is_prefill_step(*p.frame().snapshot, m.step);
  if (!prefill_only && axis.px >= 2 && axis.x_of(seen) <= axis.x1)
    p.fill({axis.x_of(m.position), bar.y0, bar.x1, bar.y1}, t.category[static_cast<std::size_t>(Category::fresh)]);
  const std::string text = all ? fmt::format("{0} of {0} tokens kept in all {1} heads", format_count(seen), format_count(heads))
                               : fmt::format("{} of {} slots per head", format_mean(m.slots), format_count(seen));
  const std::string share = fmt::format("{} of {}", format_mean(m.slots), format_count(seen));
  const std::vector<Rect> parts = between_frames(p, bar, axis);
  // A short bar has shorter words, and none rather than cut ones.
  for (const std::string& words : {text, share + (all ? " tokens" : " slots"), share}) {
    const float needed = p.width_of(Face::body, words) + p.px(20);
    const auto part = std::ranges::find_if(parts, [&](const Rect& r) { return r.width() >= needed; });
    if (part == parts.end()) continue;
    p.text({part->x0 + p.px(10), bar.middle_y()}, words, Face::body, ink_on(fill, t));
    break;
  }
  p.mark("strip", "lane 0", bar, text);
}

/// Rows in which a head, or on a stage its layer, can be framed.
bool can_frame(const Painter& p, const StripScale& scale) {
  return !scale.shares() || (p.frame().plain && scale.rows == StripScale::Rows::layers);
}

/// The run's tokens in its row; where they stand.
Rect draw_strip(Painter& p, const CompareScene& s, const Rect& row, int lane, RunTokens& tokens, StripTextures& textures) {
  const Snapshot& snapshot = *p.frame().snapshot;
  const Theme& t = p.theme();
  const LaneMetrics& m = s.of(lane);
  const TokenAxis& axis = s.axis;
  const ComparePlan& plan = s.plan;
  const int n_layers = snapshot.model.n_layers, n_kv = snapshot.model.n_kv_heads;
  const float height = plan.scale.height(n_layers, n_kv);
  const float y0 = std::round(row.middle_y() - height / 2);
  const Rect strip{axis.x0, y0, axis.x_end(), y0 + height};
  const bool compared = s.mode == CompareMode::reference;
  const LaneSnapshot& other_run = snapshot.lanes[static_cast<std::size_t>(s.reference)];
  const int n_alike = compared ? n_alike_tokens(snapshot, other_run, snapshot.lanes[static_cast<std::size_t>(lane)]) : m.position + 1;
  const StripWindow window = strip_window(axis, std::min(m.position + 1, n_alike), plan.scale.shares());
  StripTextures::Texture texture;
  if (compared) {
    const int other = s.reference, step = s.of(other).step;
    const std::string state = lane_state(p.frame(), other, step) + " | " + lane_state(p.frame(), lane, m.step);
    if (step >= 0) {
      const LaneDifference cells(tokens.of(snapshot, other, step), tokens.of(snapshot, lane, m.step), n_alike);
      texture = textures.difference(p.frame(), fmt::format("compare.vs.{}", lane), cells, state, plan.scale.rows, window);
    }
  } else {
    static const Represented kNothing;  // single heads are read from the fates
    texture =
        textures.lane(p.frame(), lane, m.step, plan.scale.shares() ? tokens.of(snapshot, lane, m.step) : kNothing, plan.scale.rows, window);
  }
  draw_bands(p, texture, strip, axis, plan.scale, n_layers, n_kv);
  if (n_alike <= m.position) {  // what stands there is another token in each of the two
    const float x = std::max(axis.x_of(n_alike), axis.x0) + p.px(6);
    p.mark("parted", fmt::format("lane {}", lane), {x, strip.y0, strip.x1, strip.y1}, format_count(n_alike));
    p.text_fit({x, strip.middle_y()}, "its own text", Face::caption, t.disabled, strip.x1 - x);
  }
  if (height >= p.px(26) && plan.scale.rows != StripScale::Rows::all) {
    p.text({axis.x0 - p.px(8), strip.y0 + p.px(5)}, "L0", Face::caption, t.disabled, Align::right);
    p.text({axis.x0 - p.px(8), strip.y1 - p.px(6)}, fmt::format("L{}", n_layers - 1), Face::caption, t.disabled, Align::right);
  }
  p.mark("strip", fmt::format("lane {}", lane), strip, compared ? "difference" : plan.scale.shares() ? "kept fraction" : "fate");
  const Selection& selection = p.frame().selection;
  // A stage frames the head that the full cache reads with in every run: what they have of it is what is compared.
  const bool framed = lane == selection.lane || (p.frame().plain && selection.lane == 0);
  const bool rows = can_frame(p, plan.scale);
  if (selection.layer && rows && *selection.layer < n_layers && framed) {
    const float pitch = plan.scale.band_height(n_kv) + plan.scale.gap;
    float top = strip.y0 + pitch * static_cast<float>(*selection.layer), tall = plan.scale.band_height(n_kv);
    if (selection.kv_head && !plan.scale.shares()) {
      top += plan.scale.px * static_cast<float>(*selection.kv_head);
      tall = plan.scale.px;
    }
    p.selection({axis.x0 - 2, top - 1.5f, axis.x_of(m.position + 1) + 2, top + tall + 1.5f}, 1, 0);
  }
  return strip;
}

}  // namespace

void RunRows::draw(Painter& p, const CompareScene& s, Rect area, RunTokens& tokens, StripTextures& textures) {
  rows_.clear();
  const int n = static_cast<int>(s.metrics->size());
  int drawn = 0;
  for (const int lane : sorted_lanes(*s.metrics, s.order)) {
    const float height = lane == 0 ? s.plan.reference_row : s.plan.row;
    if (area.height() < height - 1) {
      p.text({area.x0, area.y1 - p.px(7)}, fmt::format("{} more below: enlarge the panel", n - drawn), Face::caption, p.theme().secondary);
      p.mark("note", "lanes", area, fmt::format("{} more", n - drawn));
      return;
    }
    ++drawn;
    draw_run(p, s, area.cut_top(height), lane, tokens, textures);
  }
}

void RunRows::draw_run(Painter& p, const CompareScene& s, const Rect& row, int lane, RunTokens& tokens, StripTextures& textures) {
  const Theme& t = p.theme();
  const Snapshot& snapshot = *p.frame().snapshot;
  const LaneMetrics& m = s.of(lane);
  const TokenAxis& axis = s.axis;
  const bool selected = p.frame().selection.lane == lane;
  Row out{lane, row, row, {}};
  out.strip = {axis.x0, row.y0 + s.plan.pad, axis.x_end(), row.y1 - s.plan.pad};
  if (lane > 0) p.hline(row.x0, s.right + p.px(kRemove), row.y0, t.line, 0.8);
  if (selected) p.fill({0, row.y0 + 2, p.px(3), row.y1 - 1}, t.accent);
  draw_name(p, s, row, lane);
  const float y = row.middle_y();
  if (m.step < 0) {
    p.text({axis.x0, y}, "no steps yet", Face::caption, t.disabled);
    p.mark("empty", fmt::format("lane {}", lane), out.strip, "no steps");
  } else if (lane == 0) {
    draw_reference(p, out.strip, axis, m);
  } else {
    out.strip = draw_strip(p, s, row, lane, tokens, textures);
  }
  draw_metrics(p, s.right, y, row.height(), s.columns, lane, m, s.answer_from, row.height() >= p.px(kName));
  if (lane > 0 && !p.frame().alone && !p.frame().plain) {  // a picture has no buttons, nor has a stage
    out.remove = draw_cross(p, s.right, y);
    p.mark("button", fmt::format("remove lane {}", lane), out.remove, "Remove " + lane_name(snapshot, lane));
  }
  p.mark("lane", fmt::format("lane {}", lane), row, lane_name(snapshot, lane));
  rows_.push_back(out);
}

const RunRows::Row* RunRows::at(float y) const {
  const auto found = std::find_if(rows_.begin(), rows_.end(), [y](const Row& one) { return one.row.y0 <= y && one.row.y1 > y; });
  return found == rows_.end() ? nullptr : &*found;
}

float WaitingRows::height(const Painter& p) {
  const std::size_t n = p.frame().waiting.size();
  if (n == 0) return 0;
  return p.px(kWaiting) * static_cast<float>(std::min(n, kMostWaiting) + (n > kMostWaiting ? 1 : 0)) + p.px(4);
}

void WaitingRows::draw(Painter& p, const CompareScene& s, Rect area) {
  cancels_.clear();
  const std::span<const WaitingRun> waiting = p.frame().waiting;
  if (waiting.empty()) return;
  const Theme& t = p.theme();
  const TokenAxis& axis = s.axis;
  p.hline(area.x0, s.right + p.px(kRemove), area.y0, t.line, 0.8);
  area.cut_top(p.px(4));
  for (std::size_t i = 0; i < std::min(waiting.size(), kMostWaiting); ++i) {
    const WaitingRun& run = waiting[i];
    const Rect row = area.cut_top(p.px(kWaiting));
    const float y = row.middle_y();
    p.ring({row.x0 + p.px(24), y}, p.px(3.6f), run.running ? t.accent : t.disabled, 1.3f);
    const float x = row.x0 + p.px(38), room = axis.x0 - p.px(16) - x;
    const float title = p.text_fit({x, y}, run.title, Face::body, t.secondary, room);
    if (title + p.px(40) < room) p.text_fit({x + title + p.px(8), y}, run.budget, Face::caption, t.disabled, room - title - p.px(8));
    const Rect strip{axis.x0, y - p.px(5), std::max(axis.x0 + 40, axis.x_end()), y + p.px(5)};
    p.frame_rect(strip, t.line, 1, 2);
    if (run.running)
      p.fill({strip.x0 + 1, strip.y0 + 1, strip.x0 + 1 + static_cast<float>(run.progress) * (strip.width() - 2), strip.y1 - 1}, t.accent,
             0.75, 1);
    const std::string state = run.running ? "running, " + format_percent(run.progress) : i == 0 ? "waiting: next" : "waiting";
    p.text({strip.x1 + p.px(14), y}, state, Face::caption, run.running ? t.text : t.disabled);
    const Rect cancel = draw_cross(p, s.right, y);
    p.mark("waiting", fmt::format("run {}", run.id), row, run.title + " · " + run.budget + " · " + state);
    p.mark("button", fmt::format("cancel run {}", run.id), cancel, "Cancel " + run.title);
    cancels_.emplace_back(run.id, cancel);
  }
  if (waiting.size() > kMostWaiting) {
    const Rect row = area.cut_top(p.px(kWaiting));
    const std::string text = fmt::format("and {} more, waiting: Tools, Jobs lists them", waiting.size() - kMostWaiting);
    p.text({row.x0 + p.px(38), row.middle_y()}, text, Face::caption, t.disabled);
    p.mark("note", "waiting", row, text);
  }
}

std::optional<int> WaitingRows::cancel_at(ImVec2 at) const {
  for (const auto& [id, cancel] : cancels_) {
    if (cancel.contains(at)) return id;
  }
  return std::nullopt;
}

}  // namespace kvscope::viz
