// SPDX-License-Identifier: Apache-2.0
#include "viz/views/compare/compare_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "snapshot/figures.h"
#include "viz/draw/format.h"
#include "viz/reduce/text.h"

namespace kvscope::viz {

namespace {

constexpr std::size_t kLines = 12;  // of a tooltip
constexpr std::size_t kAcross = 3;  // runs in one of them

/// The token of run `of` in all runs, heads that keep it + those where it is merged, or what a run has read in its place; as many runs in
/// a line as 12 lines in all need.
void add_every_run(const Snapshot& s, const CompareScene& scene, int of, int token, RunTokens& tokens, std::vector<std::string>& lines) {
  if (s.lanes.size() < 2 || lines.size() + 2 > kLines) return;
  lines.push_back(fmt::format("every run, kept + merged of {} heads:", format_count(n_heads_total(s))));
  const std::size_t n = s.lanes.size(), room = kLines - lines.size();
  const std::size_t across = std::min(kAcross, (n + room - 1) / room), shown = n <= room * across ? n : room * across - 1;
  std::string line;
  for (std::size_t lane = 0; lane < shown; ++lane) {
    const std::string other = other_token_text(s, of, static_cast<int>(lane), token);
    const TokenCount count = tokens.count(s, static_cast<int>(lane), (*scene.metrics)[lane].step, token);
    line += (line.empty() ? "" : "  ·  ") + lane_name(s, static_cast<int>(lane)) + ": " + (other.empty() ? kept_text(count) : other);
    const bool last = lane + 1 == shown;
    if (last && shown < n) line += fmt::format("  ·  + {} more", n - shown);
    if ((lane + 1) % across != 0 && !last) continue;
    lines.push_back(std::move(line));
    line.clear();
  }
}

}  // namespace

std::string other_token_text(const Snapshot& snapshot, int of, int lane, int token) {
  const LaneSnapshot &run = snapshot.lanes[static_cast<std::size_t>(of)], &other = snapshot.lanes[static_cast<std::size_t>(lane)];
  if (token < n_alike_tokens(snapshot, run, other)) return {};
  return "reads " + quoted(token_text(tokens_of(snapshot, other), token));
}

std::string read_text(const Snapshot& snapshot, int position) {
  const LaneSnapshot& first = snapshot.lanes.front();
  const bool same =
      std::ranges::all_of(snapshot.lanes, [&](const LaneSnapshot& lane) { return position < n_alike_tokens(snapshot, first, lane); });
  return same ? "reads " + quoted(token_text(snapshot.tokens, position)) : "reads different tokens";
}

std::string count_text(const Snapshot& snapshot, int lane, int step, int token, RunTokens& tokens) {
  const TokenCount count = tokens.count(snapshot, lane, step, token);
  std::string text = fmt::format("token {} {}: kept in {} of {} heads, merged in {}", token,
                                 quoted(token_text(tokens_of(snapshot, lane), token)), count.kept, count.heads, count.merged);
  if (count.evicted > 0) text += ", " + evicted_text(count);
  return text;
}

std::vector<std::string> run_tooltip(const Frame& frame, const CompareScene& scene, int lane, int token, int head, RunTokens& tokens) {
  const Snapshot& s = *frame.snapshot;
  const LaneMetrics& m = scene.of(lane);
  const StripScale& scale = scene.plan.scale;
  std::vector<std::string> out = {lane_name(s, lane) + " · " + s.lanes[static_cast<std::size_t>(lane)].spec};
  if (token < 0 || token > m.position) return out;
  const int bin = scale.shares() ? tokens_per_bin(scene.axis.px) : 1;
  if (bin > 1 && lane > 0) {
    const int first = token / bin * bin, last = std::min(first + bin - 1, m.position);
    const bool layer = scale.rows == StripScale::Rows::layers && head >= 0;
    const int from = layer ? head : 0, to = layer ? head + s.model.n_kv_heads - 1 : n_heads_total(s) - 1;
    const Represented& state = tokens.of(s, lane, m.step);
    std::int64_t n = 0;
    for (int h = from; h <= std::min(to, state.n_heads() - 1); ++h) n += state.count(h, first, last);
    const std::int64_t all = static_cast<std::int64_t>(last - first + 1) * (to - from + 1);
    out.push_back(fmt::format("{}tokens {}–{} ({}): represented {}, {} of {}",
                              layer ? fmt::format("L{} · ", head / s.model.n_kv_heads) : "", format_count(first), format_count(last),
                              format_count(last - first + 1), format_percent(static_cast<double>(n) / static_cast<double>(all)),
                              format_count(n), format_count(all)));
  }
  out.push_back(count_text(s, lane, m.step, token, tokens));
  if (head >= 0 && !scale.shares() && lane > 0) {
    Selection there = frame.selection;
    there.lane = lane;
    there.layer = head / std::max(1, s.model.n_kv_heads);
    there.kv_head = head % std::max(1, s.model.n_kv_heads);
    const HeadPick pick = pick_head(s, there);
    if (pick.values != nullptr) out.push_back(head_name(*there.layer, *there.kv_head) + ": " + fate_text(head_columns(s, pick), token));
  }
  add_every_run(s, scene, lane, token, tokens, out);
  return out;
}

std::vector<std::string> difference_tooltip(const Snapshot& snapshot, const CompareScene& s, const DifferenceScene& difference, int token,
                                            int head, RunTokens& tokens) {
  const bool same = token < difference.cells->n_alike();
  const auto named = [&](int lane) { return quoted(token_text(tokens_of(snapshot, lane), token)); };
  std::vector<std::string> lines = {same ? fmt::format("token {} {}", token, named(difference.a))
                                         : fmt::format("token {}: {} in {}, {} in {}", token, named(difference.a),
                                                       lane_name(snapshot, difference.a), named(difference.b),
                                                       lane_name(snapshot, difference.b))};
  if (head >= 0 && same) {
    const Difference d = difference.cells->at(head, token);
    const char* const words[] = {"in neither", "only in ", "only in ", "in both"};
    std::string text = head_name(head / snapshot.model.n_kv_heads, head % snapshot.model.n_kv_heads) + ": " + words[static_cast<int>(d)];
    if (d == Difference::only_a) text += lane_name(snapshot, difference.a);
    if (d == Difference::only_b) text += lane_name(snapshot, difference.b);
    lines.push_back(std::move(text));
  }
  add_every_run(snapshot, s, difference.b, token, tokens, lines);
  return lines;
}

}  // namespace kvscope::viz
