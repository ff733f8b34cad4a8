// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/run_estimate.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "app/window/session/run_queue.h"
#include "app/window/shell/panel_paint.h"
#include "core/error.h"
#include "core/whole_characters.h"
#include "policy/budget_share.h"
#include "policy/run_title.h"
#include "snapshot/held_bytes.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {

/// What a run of this policy would take beside those on screen, from theirs; NaN: none of them has it. A step of all runs is at least as
/// long as one of a single run. The prompt itself has been computed already, its compression has not.
double onScreen(const Snapshot& s, const std::string& policy) {
  const auto same = std::ranges::find(s.lanes, policy, &LaneSnapshot::policy);
  if (same == s.lanes.end()) return kNotAvailable;
  double ms = s.prefill_mode && !std::isnan(same->prompt_compress_ms) ? same->prompt_compress_ms : 0;
  for (std::size_t i = s.prefill_mode ? 1 : 0; i < same->steps.size(); ++i) ms += same->steps[i]->ms;
  return ms;
}

/// "A, B, C and 4 more"
QString listed(const QStringList& names) {
  constexpr qsizetype kNamed = 3;
  const QString first = QStringList(names.first(std::min(names.size(), kNamed))).join(", ");
  return names.size() <= kNamed ? first : QString("%1 and %2 more").arg(first).arg(names.size() - kNamed);
}

}  // namespace

std::string policyOf(const std::string& spec) { return spec.substr(0, spec.find_first_of(":@")); }

std::string methodOf(LaneSpec spec) {
  spec = with_edits(spec, {});
  for (const auto& [key, value] : LaneSpec(spec).given)
    if (is_budget_key(key) || key == "seed") spec = with_param(spec, key, "");
  return spec.text;
}

std::string methodOf(const std::string& spec) {
  const LaneSpec read = lane_spec_of_result(spec);
  return read.name.empty() ? policyOf(spec) : methodOf(read);
}

std::string computedBy(const std::string& spec) {
  const LaneSpec read = lane_spec_of_result(spec);
  return read.name.empty() ? spec : unnamed(read).text;
}

std::string methodTitle(const std::string& spec) {
  constexpr std::size_t kLongest = 24;
  const std::string method = methodOf(spec), parameters = method.substr(std::min(method.find(':'), method.size() - 1) + 1);
  return wordsOf(spec).title + (parameters.empty() ? "" : " · " + shortened(parameters, kLongest));
}

std::string specLike(const std::string& policy, const LaneSpec& like) {
  const PolicyInfo& info = find_policy(policy);
  for (const auto& [key, value] : like.given)
    if (is_budget_key(key) && (info.takes_budget || (key == "bytes" && info.takes_bytes))) return with_param(policy, key, value);
  return info.takes_budget ? with_param(policy, "ratio", "0.25") : policy;
}

std::vector<LaneSpec> withBudgetOf(std::size_t run, std::vector<LaneSpec> runs) {
  const auto budget_of = [](const LaneSpec& spec) {
    return std::ranges::find_if(spec.given, [](const auto& given) { return is_budget_key(given.first); });
  };
  if (run >= runs.size()) return runs;
  const LaneSpec like = runs[run];
  const auto wanted = budget_of(like);
  if (wanted == like.given.end()) return runs;
  for (LaneSpec& one : runs) {
    try {
      if (budget_of(one) != one.given.end() || find_policy(one.name).takes_budget) one = with_param(one, wanted->first, wanted->second);
    } catch (const Error&) {  // it takes a budget of another kind
    }
  }
  return runs;
}

int slotsAsked(const std::string& spec, int n_prompt) {
  const LaneSpec read = lane_spec_of_result(spec);
  const bool down = given_value(read, "round") == "down";
  for (const auto& [key, value] : read.given) {
    if (key == "slots") return std::stoi(value);
    if (key == "ratio" || key == "bytes") return slots_of_ratio(std::stod(value), n_prompt, down && key == "ratio");
  }
  return -1;
}

bool asksBytes(const std::string& spec) {
  return std::ranges::any_of(lane_spec_of_result(spec).given, [](const auto& g) { return g.first == "bytes"; });
}

RunEstimate estimateRuns(const Snapshot& snapshot, const std::vector<std::string>& specs, const std::map<std::string, RunTime>& times,
                         bool keep) {
  RunEstimate out;
  if (snapshot.lanes.empty() || snapshot.lanes.front().steps.empty()) return out;
  const LaneSnapshot& full = snapshot.lanes.front();
  const auto n = static_cast<double>(specs.size());
  std::set<std::string> measured;
  const double least = onScreen(snapshot, full.policy);  // without any policy at work
  out.ms = 0;
  for (const std::string& spec : specs) {
    const std::string policy = policyOf(spec);
    const auto known = times.find(policy);
    const double one = known != times.end() ? known->second.ms : onScreen(snapshot, policy);
    const QString title = qs(wordsOf(spec).title);
    if (std::isnan(one) && !out.unknown.contains(title)) out.unknown << title;
    if (known != times.end()) measured.insert(policy);
    out.ms += std::isnan(one) ? least : one;
  }
  int n_measured = 0;
  for (const std::string& policy : measured) n_measured += times.at(policy).n;
  out.basis = n_measured == 0   ? QString("from the %1 steps on screen").arg(full.steps.size())
              : n_measured == 1 ? QString("measured on 1 run of this text")
                                : QString("measured on %1 runs of this text").arg(n_measured);
  const double per_slot = full.slots > 0 ? full.bytes / full.slots : kNotAvailable;
  double caches = 0;
  for (const std::string& spec : specs) {
    const int asked = slotsAsked(spec, snapshot.n_prompt);
    const double one = per_slot * (asked < 0 ? full.slots : std::min<double>(asked, full.slots));
    caches = keep ? caches + one : std::max(caches, one);
  }
  out.cache_bytes = caches;
  // Like the lanes that are there, each of which has as many steps.
  const std::span lanes = std::span(snapshot.lanes).subspan(snapshot.lanes.size() > 1 ? 1 : 0);
  out.record_bytes = held_bytes(lanes) / static_cast<double>(lanes.size()) * (keep ? n : std::min(n, 1.0));
  return out;
}

QString estimateWords(std::size_t n_runs, const RunEstimate& e, bool keep) {
  if (n_runs == 0) return "no run is chosen";
  QString words = QString("%1 %2").arg(n_runs).arg(n_runs == 1 ? "run" : "runs");
  if (std::isnan(e.cache_bytes)) return words + " · time and memory: n/a before the first result";
  words += QString(" · about %1, %2").arg(qs(viz::format_ms(e.ms)), e.basis);
  if (!e.unknown.isEmpty()) words += QString("; %1 %2 not run on it yet").arg(listed(e.unknown), e.unknown.size() == 1 ? "has" : "have");
  words += QString(" · %1caches %2, records %3")
               .arg(keep ? "" : "one at a time, ", qs(viz::format_bytes(e.cache_bytes)), qs(viz::format_bytes(e.record_bytes)));
  return words;
}

}  // namespace kvscope
