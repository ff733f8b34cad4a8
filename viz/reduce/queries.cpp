// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/queries.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "viz/draw/format.h"
#include "viz/reduce/head.h"

namespace kvscope::viz {

namespace {

std::size_t place(const QueryCloud& cloud, int g, int f) {
  return static_cast<std::size_t>(g) * cloud.turn.size() + static_cast<std::size_t>(f);
}

std::string tokens_text(double n) { return fmt::format("{} tokens", n < 100 ? format_number(n) : format_count(std::llround(n))); }

}  // namespace

QueryPick pick_queries(const Snapshot& snapshot, const HeadPick& head) {
  if (!snapshot.prefill_mode) return {nullptr, "a prompt that is read token by token keeps no queries; prompt mode prefill does"};
  if (snapshot.lanes.empty() || snapshot.lanes[0].steps.empty() || snapshot.lanes[0].steps[0] == nullptr) return {};
  const std::vector<QueryCloud>& clouds = snapshot.lanes[0].steps[0]->clouds;
  if (clouds.empty() && snapshot.measures.queries) {
    const bool cut =
        std::ranges::any_of(snapshot.lanes[0].warnings, [](const LaneWarning& w) { return w.kind == LaneWarning::Kind::figures_only; });
    if (cut) return {nullptr, "older results keep only figures"};
    return {nullptr, snapshot.phase == RunPhase::computing ? "here once the text is read for them" : "the text was not read for them"};
  }
  if (clouds.empty()) return {};
  const auto found =
      std::ranges::find_if(clouds, [&](const QueryCloud& c) { return c.layer == head.values->layer && c.kv_head == head.values->kv_head; });
  return {found == clouds.end() ? nullptr : &*found, ""};
}

int query_heads(const QueryCloud& cloud) { return cloud.turn.empty() ? 0 : static_cast<int>(cloud.re.size() / cloud.turn.size()); }

double mean_length(const QueryCloud& cloud, int g, int f) { return std::hypot(cloud.re[place(cloud, g, f)], cloud.im[place(cloud, g, f)]); }

double typical_length(const QueryCloud& cloud, int g, int f) {
  return std::hypot(mean_length(cloud, g, f), cloud.spread[place(cloud, g, f)]);
}

double wavelength(const QueryCloud& cloud, int f) { return 2 * std::numbers::pi / cloud.turn[static_cast<std::size_t>(f)]; }

std::string distance_text(const QueryCloud& cloud, int stretch) {
  const auto b = static_cast<std::size_t>(stretch);
  const int first = cloud.distances[b];
  if (b + 1 == cloud.distances.size()) return format_count(first) + " and more";
  const int last = cloud.distances[b + 1] - 1;
  return first == last ? format_count(first) : fmt::format("{}–{}", format_count(first), format_count(last));
}

std::string query_facts(const QueryCloud& cloud) {
  const int expected = largest(cloud.expected), measured = largest(cloud.measured), share = largest(cloud.share);
  std::string out = head_name(cloud.layer, cloud.kv_head);
  if (expected >= 0) out += fmt::format(" · expected score highest {} tokens away", distance_text(cloud, expected));
  if (measured >= 0) out += ", measured " + distance_text(cloud, measured);
  if (share >= 0)
    out +=
        fmt::format(" · attention most {}, {}", distance_text(cloud, share), format_percent(cloud.share[static_cast<std::size_t>(share)]));
  return out;
}

std::vector<std::string> frequency_lines(const QueryCloud& cloud, int f) {
  std::vector<std::string> out = {fmt::format("frequency {} · once around in {}", f, tokens_text(wavelength(cloud, f)))};
  for (int g = 0; g < query_heads(cloud); ++g) {
    const std::size_t i = place(cloud, g, f);
    out.push_back(fmt::format("query head {}: mean {} at {}°, spread {}, typical length {}", g, format_number(mean_length(cloud, g, f)),
                              format_number(std::atan2(cloud.im[i], cloud.re[i]) * 180 / std::numbers::pi), format_number(cloud.spread[i]),
                              format_number(typical_length(cloud, g, f))));
  }
  return out;
}

std::vector<std::string> distance_lines(const QueryCloud& cloud, int stretch) {
  const auto b = static_cast<std::size_t>(stretch);
  return {distance_text(cloud, stretch) + " tokens away", "expected score " + format_number(cloud.expected[b]),
          "measured score " + format_number(cloud.measured[b]), "share of the attention " + format_percent(cloud.share[b])};
}

Table query_table(const QueryPick& pick) {
  Table out;
  out.columns = {"frequency", "tokens once around", "query head",     "mean, real",     "mean, imaginary",
                 "spread",    "distance, tokens",   "expected score", "measured score", "attention share"};
  if (pick.cloud == nullptr) {
    out.note = pick.missing.empty() ? "queries are not measured yet" : pick.missing;
    return out;
  }
  const QueryCloud& cloud = *pick.cloud;
  for (int g = 0; g < query_heads(cloud); ++g)
    for (int f = 0; f < static_cast<int>(cloud.turn.size()); ++f) {
      const std::size_t i = place(cloud, g, f);
      out.rows.push_back({std::to_string(f), format_plain(wavelength(cloud, f)), std::to_string(g), format_plain(cloud.re[i]),
                          format_plain(cloud.im[i]), format_plain(cloud.spread[i]), "", "", "", ""});
    }
  for (int b = 0; b < static_cast<int>(cloud.distances.size()); ++b) {
    const auto i = static_cast<std::size_t>(b);
    out.rows.push_back({"", "", "", "", "", "", distance_text(cloud, b), format_plain(cloud.expected[i]), format_plain(cloud.measured[i]),
                        format_plain(cloud.share[i])});
  }
  out.note = fmt::format("{}, queries of the prompt before rotation; scores and attention of {}", head_name(cloud.layer, cloud.kv_head),
                         count_of(cloud.n_queries, "query in its second half", "queries in its second half"));
  return out;
}

}  // namespace kvscope::viz
