// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/finding.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "viz/canvas.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"

namespace kvscope::viz {

namespace {

bool changed(const Snapshot& snapshot, const StepRecord& step) {
  return step.position >= snapshot.n_prompt - 1 && !step.top1_same && step.top1 >= 0 && step.top1_reference >= 0;
}

}  // namespace

int next_changed_step(const Snapshot& snapshot, const LaneSnapshot& lane, int after) {
  for (int s = std::max(0, after + 1); s < static_cast<int>(lane.steps.size()); ++s)
    if (changed(snapshot, *lane.steps[static_cast<std::size_t>(s)])) return s;
  return -1;
}

Finding finding_of(const Snapshot& snapshot, const LaneSnapshot& lane, int step) {
  Finding out;
  if (step < 0 || step >= static_cast<int>(lane.steps.size())) return out;
  const StepRecord& record = *lane.steps[static_cast<std::size_t>(step)];
  if (!changed(snapshot, record)) return out;
  out.step = step;
  out.reference = text_of_id(snapshot, record.top1_reference);
  out.says = text_of_id(snapshot, record.top1);
  out.kl = record.kl;
  out.loss = largest_loss_at(snapshot, lane, step);
  if (out.loss.step < 0 || lane.fates == nullptr) return out;
  const auto head = static_cast<std::size_t>(out.loss.layer * snapshot.model.n_kv_heads + out.loss.kv_head);
  if (head < lane.fates->heads.size()) {
    const Fate fate = fate_at(lane.fates->heads[head], out.loss.token, step);
    if (fate.lost != kNever) out.lost_at = fate.lost;
  }
  return out;
}

const Finding& FindingOnce::of(const Snapshot& snapshot, const LaneSnapshot& lane, int step) {
  const StepPtr record = step >= 0 && step < static_cast<int>(lane.steps.size()) ? lane.steps[static_cast<std::size_t>(step)] : StepPtr{};
  if (record && record_.lock() == record && fates_.lock() == lane.fates) return finding_;
  record_ = record;
  fates_ = lane.fates;
  finding_ = finding_of(snapshot, lane, step);
  return finding_;
}

std::string agreement_sentence(const Snapshot& snapshot, const LaneSnapshot& lane, int step) {
  if (step < 0 || step >= static_cast<int>(lane.steps.size())) return {};
  const StepRecord& record = *lane.steps[static_cast<std::size_t>(step)];
  if (record.position < snapshot.n_prompt - 1 || !record.top1_same || record.top1 < 0) return {};
  return fmt::format("{} says {}, as the full cache does: KL {} nats.", lane.title, quoted(text_of_id(snapshot, record.top1)),
                     format_number(record.kl));
}

CauseWords cause_words(const Snapshot& snapshot, const HeadCauses& causes) {
  constexpr std::size_t kNamed = 6;
  const bool measured = causes.n_heads > 0 && causes.n_measured == causes.n_heads;
  if (!measured || std::ranges::any_of(causes.kl, [](double kl) { return std::isnan(kl); })) return {};
  std::vector<int> heads(causes.kl.size());
  std::iota(heads.begin(), heads.end(), 0);
  std::ranges::stable_sort(heads, std::greater<>{}, [&](int h) { return causes.saved(h); });
  const auto name = [&](int h) { return fmt::format("L{} H{}", h / snapshot.model.n_kv_heads, h % snapshot.model.n_kv_heads); };
  const int best = heads.front();
  const std::string most = fmt::format("{} gains most: KL {} → {} nats.", name(best), format_number(causes.kl_without),
                                       format_number(causes.kl[static_cast<std::size_t>(best)]));
  std::erase_if(heads, [&](int h) { return !causes.answer_returns(h); });
  if (heads.empty())
    return {"no head alone",
            "No head alone brings it back.",
            fmt::format("With any one head in full and the others as they are, the answer stays wrong. {}", most),
            {}};
  std::string names;
  for (std::size_t i = 0; i < std::min(heads.size(), kNamed); ++i) names += (i == 0 ? "" : ", ") + name(heads[i]);
  if (heads.size() > kNamed) names += fmt::format(" and {} more", heads.size() - kNamed);
  const std::string others =
      fmt::format("{} of {} heads do not by themselves.", causes.n_heads - static_cast<int>(heads.size()), causes.n_heads);
  if (heads.size() == 1)
    return {fmt::format("{} alone", name(best)), fmt::format("{} alone brings it back.", name(best)),
            fmt::format("If only {} keeps its full cache, the answer is the full cache's again. {} {}", names, most, others), heads};
  const std::string whole = fmt::format("Each of these is enough, if only it keeps its full cache: {}. {} {}", names, most, others);
  if (heads.size() == 2)
    return {fmt::format("{} or {}", name(heads[0]), name(heads[1])),
            fmt::format("Either of {} and {} alone brings it back.", name(heads[0]), name(heads[1])), whole, heads};
  return {fmt::format("any of {} heads", heads.size()), fmt::format("Any of {} heads alone brings it back.", heads.size()), whole, heads};
}

std::string finding_sentence(const Snapshot& snapshot, const LaneSnapshot& lane, const Finding& finding, const CauseWords& causes) {
  if (finding.step < 0) return {};
  const std::string what = fmt::format("{} says {}, not {}", lane.title, quoted(finding.says), quoted(finding.reference));
  const Loss& loss = finding.loss;
  const std::string lost = loss.step < 0 ? std::string()
                                         : fmt::format("evicted token {} {}, {} of its attention.", loss.token,
                                                       quoted(token_text(snapshot, loss.token)), format_percent(loss.attention));
  if (causes.sentence.empty()) {
    if (loss.step < 0) return fmt::format("{}: KL {} nats.", what, format_number(finding.kl));
    return fmt::format("{}: L{} H{} misses most, it {}", what, loss.layer, loss.kv_head, lost);
  }
  // Who misses most has not always to do with it: where it is measured, only what brings the answer back is named.
  const std::string measured = fmt::format("{}. {}", what, causes.sentence);
  if (loss.step < 0 || std::ranges::find(causes.heads, loss.layer * snapshot.model.n_kv_heads + loss.kv_head) == causes.heads.end())
    return measured;
  return fmt::format("{} L{} H{} {}", measured, loss.layer, loss.kv_head, lost);
}

}  // namespace kvscope::viz
