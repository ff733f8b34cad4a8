// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "policy/catalog.h"
#include "policy/text/lane_edits.h"
#include "runtime/session/session_impl.h"

namespace kvscope {

namespace {

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
         (a.follow != Follow::file || a.follow_ids == b.follow_ids);
}

}  // namespace

std::vector<int> Session::Impl::prompt_ids(const RunRequest& request) const {
  const ModelConfig& c = model.config();
  std::vector<int> out = request.prompt_ids;
  bool whole = true;
  if (out.empty()) {
    if (c.bos_id >= 0) out.push_back(c.bos_id);
    const std::size_t most = c.max_positions > 0 ? static_cast<std::size_t>(c.max_positions) : request.prompt.size();
    const std::vector<int> text = model.files.tokenizer->encode_up_to(request.prompt, most, &whole);
    out.insert(out.end(), text.begin(), text.end());
  }
  if (out.empty()) throw UsageError("prompt: it is empty and the model has no start token; expected at least one token");
  for (const std::vector<int>* list : {&std::as_const(out), &request.follow_ids}) {
    for (const int id : *list) {
      if (id < 0 || id >= c.vocab_size) throw UsageError(fmt::format("token ids: expected 0 to {}, got {}", c.vocab_size - 1, id));
    }
  }
  if (c.max_positions > 0 && static_cast<int>(out.size()) > c.max_positions) {
    throw PromptTooLong(fmt::format("prompt: {}{} tokens, but {} was made for {}; shorten the text", whole ? "" : "more than ",
                                    whole ? out.size() : static_cast<std::size_t>(c.max_positions), c.name, c.max_positions),
                        request.prompt_ids.empty() ? cut_prompt(request, out) : PromptCut{});
  }
  return out;
}

PromptCut Session::Impl::cut_prompt(const RunRequest& request, const std::vector<int>& long_ids) const {
  constexpr int kTries = 16;  // a token may end within a character, and the shorter text may be split into other tokens
  const int limit = model.config().max_positions, most = limit - std::clamp(request.n_generate, 0, limit / 2);
  for (int n = most; n > std::max(0, most - kTries); --n) {
    const std::string text = model.files.tokenizer->decode({long_ids.begin(), long_ids.begin() + n});
    const bool begins = !text.empty() && text.size() < request.prompt.size() && request.prompt.starts_with(text);
    if (!begins || (request.prompt[text.size()] & 0xC0) == 0x80) continue;
    const int n_tokens = static_cast<int>(model.files.tokenizer->encode(text).size()) + (model.config().bos_id >= 0 ? 1 : 0);
    if (n_tokens <= most) return {n_tokens, text};
  }
  return {};
}

std::unique_ptr<Policy> Session::Impl::make_policy(const LaneSpec& spec, const RunRequest& request, int n_prompt) const {
  return Policy::make({.spec = spec,
                       .model = &model.config(),
                       .n_prompt = n_prompt,
                       .mode = request.mode,
                       .seed = request.seed,
                       .folder = model.files.folder});
}

std::vector<LaneSpec> Session::Impl::lane_specs(const RunRequest& request, int n_prompt) const {
  std::vector<LaneSpec> out = request.lanes;
  if (out.empty() || out.front().text != reference_policy()) out.insert(out.begin(), parse_lane_spec(reference_policy()));
  for (const LaneSpec& spec : out) {
    make_policy(spec, request, n_prompt);  // throws where a lane cannot be
  }
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

void Session::Impl::reuse(const RunRequest& request, const std::vector<int>& new_ids, const std::vector<LaneSpec>& specs, int n_decode) {
  const int n_prompt = static_cast<int>(new_ids.size());
  const bool same_prompt = new_ids == ids && request.mode == mode;
  const bool stream = request.mode == PromptMode::stream;
  // steps that stay right for every lane: all of them, those before the continuation, or (stream) those before the edit
  int keep_steps = 0;
  if (request.mode == mode) {
    if (same_prompt) {
      keep_steps = same_continuation(request, last) ? 1 << 30 : stream ? n_prompt - 1 : 1;
    } else if (stream) {
      keep_steps = std::max(0, common_prefix(ids, new_ids) - 1);  // the step of the last common token is followed by another one now
    }
  }
  const int first_position = stream ? 0 : n_prompt - 1;
  const int n_tokens = n_prompt + n_decode;
  // of a lane that looks ahead: those whose coming queries are as many, and the same
  const auto steps_to_keep = [&](const Policy& policy) {
    const int ahead = policy.needs().coming_queries;
    if (ahead == 0) return keep_steps;
    int n = keep_steps < 1 << 30 ? keep_steps - ahead : keep_steps;
    if (n_tokens != tape.n_tokens()) n = std::min(n, std::min(n_tokens, tape.n_tokens()) - ahead - first_position);
    return std::max(0, n);
  };

  std::vector<std::unique_ptr<Lane>> kept;
  std::map<const Lane*, std::map<int, std::unique_ptr<LaneCheckpoint>>> kept_checkpoints;
  for (const LaneSpec& spec : specs) {
    std::unique_ptr<Lane> lane;
    for (auto& old : lanes) {
      if (!old || old->setup().spec != spec || old->setup().seed != request.seed || !old->setup().record.covers(record_options(request)))
        continue;
      auto saved = std::move(checkpoints[old.get()]);
      checkpoints.erase(old.get());
      if (!same_prompt) {
        const auto fresh = make_policy(spec, request, n_prompt);
        if (!stream || !old->policy().decides_like(*fresh)) {
          old.reset();
          break;
        }
      }
      const int keep = steps_to_keep(old->policy());
      for (auto it = saved.begin(); it != saved.end();) it = it->first > keep ? saved.erase(it) : std::next(it);
      if (old->broken || static_cast<int>(old->steps.size()) > keep) {
        lane = saved.empty() ? nullptr : old->restored(*std::prev(saved.end())->second);
        if (lane && !same_prompt) lane->set_prompt_length(n_prompt);
        old.reset();
      } else {
        lane = std::move(old);
        if (!same_prompt) lane->set_prompt_length(n_prompt);
      }
      if (lane) kept_checkpoints[lane.get()] = std::move(saved);
      break;
    }
    kept.push_back(std::move(lane));
  }
  horizon = 0;
  for (const LaneSpec& spec : specs) horizon = std::max(horizon, make_policy(spec, request, n_prompt)->needs().coming_queries);
  const int n_done = kept[0] ? static_cast<int>(kept[0]->steps.size()) : 0;
  if (horizon > 0 && !tape.knows(stream ? 0 : n_prompt, first_position + n_done - 1)) kept[0].reset();  // nobody wrote its queries down
  tape.forget_from(horizon > 0 && kept[0] ? first_position + n_done : 0);
  tape.set_text(n_prompt, n_tokens);
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
    if (!lanes[i]) lanes[i] = forked(specs[i]);
    if (lanes[i]) continue;
    lanes[i] = std::make_unique<Lane>(
        *backend, model,
        Lane::Setup{.spec = specs[i], .mode = mode, .n_prompt = n_prompt, .seed = request.seed, .record = record_options(request)});
  }
  for (auto& lane : lanes) lane->set_tape(horizon > 0 ? &tape : nullptr, /*writes=*/lane == lanes.front());
}

}  // namespace kvscope
