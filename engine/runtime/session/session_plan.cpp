// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "policy/catalog.h"
#include "policy/text/lane_edits.h"
#include "runtime/session/session_impl.h"

namespace kvscope {

namespace {

constexpr int kAll = 1 << 30;  // steps

int common_prefix(std::span<const int> a, std::span<const int> b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<int>(end.first - a.begin());
}

RecordOptions record_options(const RunRequest& request) {
  return {.captures = request.detail == Detail::why,
          .measures = request.measures,
          .slots = request.detail >= Detail::slots,
          .shadow = request.shadow};
}

/// What decides the tokens after the prompt.
bool same_continuation(const RunRequest& a, const RunRequest& b) {
  return a.follow == b.follow && a.temperature == b.temperature && a.seed == b.seed &&
         (a.follow == Follow::file ? a.follow_ids == b.follow_ids : a.given_ids == b.given_ids);
}

}  // namespace

std::vector<Session::Impl::WantedLane> Session::Impl::wanted_lanes(const RunRequest& request, std::span<const int> text) {
  std::vector<WantedLane> out;
  const auto add = [&](const LaneSpec& spec) {
    out.push_back({spec, policy_cache.of(spec, {.prompt = text, .mode = request.mode, .seed = request.seed})});
  };
  if (request.lanes.empty() || request.lanes.front().text != reference_policy()) add(parse_lane_spec(reference_policy()));
  for (const LaneSpec& spec : request.lanes) add(spec);
  policy_cache.forget_unused();
  return out;
}

int Session::Impl::n_decode_steps(const RunRequest& request, int n_prompt) {
  int n = std::max(0, request.n_generate);
  if (request.follow == Follow::file) {
    const int given = static_cast<int>(request.follow_ids.size());
    n = request.n_generate < 0 ? given : std::min(n, given);
  }
  const int limit = model.config().max_positions;
  if (limit > 0 && n_prompt + n > limit) {
    n = limit - n_prompt;
    notice = fmt::format("generation ends after {} tokens: {} was made for {} positions", n, model.config().name, limit);
  }
  return n;
}

std::unique_ptr<Lane> Session::Impl::forked(const LaneSpec& spec) {
  for (const auto& lane : lanes) {
    const auto saved = lane ? checkpoints.find(lane.get()) : checkpoints.end();
    if (saved == checkpoints.end()) continue;
    const auto after = saved->second.upper_bound(common_steps(lane->setup().spec, spec));
    if (after == saved->second.begin()) continue;
    if (auto fork = lane->fork(*std::prev(after)->second, spec)) {
      fork->set_prompt_length(static_cast<int>(ids.size()));
      return fork;
    }
  }
  return nullptr;
}

Session::Impl::Change Session::Impl::change_to(const RunRequest& request, const std::vector<int>& new_ids, int n_decode) const {
  Change out;
  out.n_prompt = static_cast<int>(new_ids.size());
  out.same_prompt = new_ids == ids && request.mode == mode;
  out.stream = request.mode == PromptMode::stream;
  out.first_position = out.stream ? 0 : out.n_prompt - 1;
  out.n_tokens = out.n_prompt + n_decode;
  // steps that stay right for every lane: all of them, those before the continuation, or (stream) those before the edit
  if (out.same_prompt) {
    out.keep_steps = same_continuation(request, last) ? kAll : out.stream ? out.n_prompt - 1 : 1;
  } else if (request.mode == mode && out.stream) {
    out.keep_steps = std::max(0, common_prefix(ids, new_ids) - 1);  // the step of the last common token is followed by another one now
  }
  return out;
}

int Session::Impl::steps_kept(const Policy& policy, const Change& change) const {
  // of a lane that looks ahead: those whose coming queries are as many, and the same
  const int ahead = policy.needs().coming_queries;
  if (ahead == 0) return change.keep_steps;
  int n = change.keep_steps < kAll ? change.keep_steps - ahead : kAll;
  if (change.n_tokens != tape.n_tokens()) n = std::min(n, std::min(change.n_tokens, tape.n_tokens()) - ahead - change.first_position);
  return std::max(0, n);
}

std::unique_ptr<Lane> Session::Impl::taken_over(const WantedLane& wanted, const RunRequest& request, const Change& change,
                                                Checkpoints& saved) {
  const auto answers = [&](const std::unique_ptr<Lane>& lane) {
    return lane && lane->setup().spec == wanted.spec && lane->setup().seed == request.seed &&
           lane->setup().record.covers(record_options(request));
  };
  const auto found = std::ranges::find_if(lanes, answers);
  if (found == lanes.end()) return nullptr;
  std::unique_ptr<Lane> old = std::move(*found);
  if (const auto its = checkpoints.find(old.get()); its != checkpoints.end()) saved = std::move(checkpoints.extract(its).mapped());
  if (!change.same_prompt && (!change.stream || !old->policy().decides_like(*wanted.policy))) return nullptr;
  const int keep = steps_kept(old->policy(), change);
  saved.erase(saved.upper_bound(keep), saved.end());
  if (old->broken || static_cast<int>(old->steps.size()) > keep) {
    if (saved.empty()) return nullptr;
    old = old->restored(*std::prev(saved.end())->second);
  }
  if (!change.same_prompt) old->set_prompt_length(change.n_prompt);
  return old;
}

void Session::Impl::reuse(const RunRequest& request, const std::vector<int>& new_ids, const std::vector<WantedLane>& wanted, int n_decode) {
  const Change change = change_to(request, new_ids, n_decode);
  std::vector<std::unique_ptr<Lane>> kept;
  std::map<const Lane*, Checkpoints> kept_checkpoints;
  horizon = 0;
  for (const WantedLane& w : wanted) {
    Checkpoints saved;
    kept.push_back(taken_over(w, request, change, saved));
    if (kept.back()) kept_checkpoints[kept.back().get()] = std::move(saved);
    horizon = std::max(horizon, w.policy->needs().coming_queries);
  }
  const int n_done = kept[0] ? static_cast<int>(kept[0]->steps.size()) : 0;
  if (horizon > 0 && !tape.knows(change.stream ? 0 : change.n_prompt, change.first_position + n_done - 1))
    kept[0].reset();  // nobody wrote its queries down
  tape.forget_from(horizon > 0 && kept[0] ? change.first_position + n_done : 0);
  tape.set_text(change.n_prompt, change.n_tokens);
  // every lane is measured against lane 0: without its distributions nothing can stay
  if (kept[0]) reference.cut(static_cast<int>(kept[0]->steps.size()));
  if (!kept[0]) {
    reference.cut(0);
    for (auto& lane : kept) lane.reset();
    kept_checkpoints.clear();
  }
  lanes = std::move(kept);
  checkpoints = std::move(kept_checkpoints);
  ids = new_ids;
  mode = request.mode;
  last = request;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (!lanes[i]) lanes[i] = forked(wanted[i].spec);
    if (lanes[i]) continue;
    const Lane::Setup setup{
        .spec = wanted[i].spec, .mode = mode, .n_prompt = change.n_prompt, .seed = request.seed, .record = record_options(request)};
    lanes[i] = std::make_unique<Lane>(*backend, model, setup, wanted[i].policy->clone());
  }
  for (auto& lane : lanes) lane->set_tape(horizon > 0 ? &tape : nullptr, /*writes=*/lane == lanes.front());
}

}  // namespace kvscope
