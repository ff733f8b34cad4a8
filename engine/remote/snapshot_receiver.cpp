// SPDX-License-Identifier: Apache-2.0
#include "remote/snapshot_receiver.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "core/error.h"
#include "remote/bytes.h"
#include "remote/checks.h"
#include "remote/records.h"
#include "snapshot/figures.h"
#include "tokenizer/chat_template.h"

namespace kvscope::remote {

namespace {

constexpr std::size_t kMaxHeads = std::size_t(1) << 20;
constexpr std::size_t kMaxFates = std::size_t(1) << 30;  // heads x tokens: 64 MiB until something happens to them

template <class T, class Get>
void get_shared(Reader& in, std::shared_ptr<const T>& value, const Get& get) {
  const auto how = static_cast<Shared>(in.index(3));
  if (how == Shared::none) value = nullptr;
  if (how == Shared::follows) value = std::make_shared<const T>(get());
}

ChatTemplate chat_of(Reader& in) {
  ChatTemplate::Source s;
  in(s.text, s.name, s.bos, s.eos);
  return {s.text, s.name, s.bos, s.eos};
}

}  // namespace

SnapshotReceiver::Step& SnapshotReceiver::step_of(std::uint64_t id) {
  const auto found = steps_.find(id);
  if (found == steps_.end()) Reader::refuse("the number of a step that was sent", id);
  return found->second;
}

StepRecord& SnapshotReceiver::writable(Step& step) {
  if (std::exchange(step.shown, false)) step.record = std::make_shared<StepRecord>(*step.record);
  return *step.record;
}

std::size_t SnapshotReceiver::room() const { return most_ - std::min(most_, filled_); }

void SnapshotReceiver::take(const Message& message) {
  switch (message.kind) {
    case Kind::step:
      return take_step(message.bytes);
    case Kind::outlines:
    case Kind::numbers:
      return take_heads(message);
    case Kind::snapshot:
      return take_snapshot(message.bytes);
    case Kind::complete:
      if (!facts_ || share() < 1) throw Error("the engine elsewhere said that all numbers are here, and some are not");
      complete_ = true;
      return;
    default:
      throw Error(fmt::format("the engine elsewhere sent a message that only it can be sent ({})", static_cast<int>(message.kind)));
  }
}

void SnapshotReceiver::take_step(const std::string& bytes) {
  Reader in(bytes, room());
  std::uint64_t id = 0, before = 0;
  in(id, before);
  Step step{.record = std::make_shared<StepRecord>(get_step(in, kMaxHeads)), .origin = id};
  StepRecord& record = *step.record;
  if (record.position < 0 || record.step < 0) Reader::refuse("a step at a token", static_cast<std::uint64_t>(record.position));
  if (before != 0) {
    const Step& twin = step_of(before);
    if (twin.record->position != record.position || twin.record->heads.size() != record.heads.size())
      Reader::refuse("the same step with another token after it", before);
    record.heads = twin.record->heads;
    step.origin = twin.origin;
    step.n_outlines = twin.n_outlines;
    step.n_numbers = twin.n_numbers;
    step.filled = twin.filled;
  }
  step.filled += in.filled();
  filled_ += step.filled;
  if (!steps_.try_emplace(id, std::move(step)).second) Reader::refuse("the number of another step", id);
}

void SnapshotReceiver::take_heads(const Message& message) {
  Reader in(message.bytes, room());
  const bool numbers = message.kind == Kind::numbers;
  std::uint64_t id = 0, first = 0, n = 0;
  in(id, first, n);
  Step& step = step_of(id);
  StepRecord& record = writable(step);
  std::size_t& there = numbers ? step.n_numbers : step.n_outlines;
  const std::size_t most = numbers ? step.n_outlines : record.heads.size();
  if (first != there || n > most - there) Reader::refuse("the heads that come next", first);
  for (; n > 0; --n, ++there) {
    HeadRecord& head = record.heads[there];
    if (numbers) {
      get_numbers(in, head);
      check_numbers(head, record.position);
    } else {
      get_outline(in, head);
      check_outline(head, record.position);
    }
  }
  step.filled += in.filled();
  filled_ += in.filled();
}

void SnapshotReceiver::take_lane(LaneSnapshot& lane, Lane& known) {
  const auto n_heads = static_cast<std::size_t>(facts_->model.n_layers) * static_cast<std::size_t>(std::max(0, facts_->model.n_kv_heads));
  std::vector<std::uint64_t> origins;
  for (std::size_t s = 0; s < known.steps.size(); ++s) {
    const Step& step = step_of(known.steps[s]);
    const StepRecord& r = *step.record;
    if (step.n_outlines != r.heads.size() || (!r.heads.empty() && r.heads.size() != n_heads))
      Reader::refuse("all heads of the model", r.heads.size());
    if (static_cast<std::size_t>(r.position) >= facts_->tokens.size() || r.step != static_cast<int>(s))
      Reader::refuse("a step at one of the tokens", static_cast<std::uint64_t>(r.position));
    for (std::size_t h = 0; h < r.heads.size(); ++h)
      if (r.heads[h].layer * facts_->model.n_kv_heads + r.heads[h].kv_head != static_cast<int>(h))
        Reader::refuse("heads in their order", h);
    lane.steps.push_back(step.record);
    origins.push_back(step.origin);
  }
  if (lane.fork_of < -1 || lane.fork_of >= static_cast<int>(lanes_.size()))
    Reader::refuse("the number of a run", static_cast<std::uint64_t>(lane.fork_of));
  if (n_heads * facts_->tokens.size() > kMaxFates) Reader::refuse("fewer heads and tokens", n_heads * facts_->tokens.size());
  const std::size_t n_before = known.origins.size();
  const bool goes_on =
      known.fates && n_before > 0 && n_before <= origins.size() && std::equal(known.origins.begin(), known.origins.end(), origins.begin());
  const int heads_of_fates = lane.steps.empty() ? 0 : static_cast<int>(lane.steps.front()->heads.size());
  if (!goes_on || n_before < origins.size())
    known.fates = std::make_shared<const LaneFates>(goes_on ? extend_fates(*known.fates, static_cast<int>(n_before), lane.steps)
                                                            : derive_fates(lane.steps, heads_of_fates));
  known.origins = std::move(origins);
  lane.fates = known.fates;
  lane.steps.clear();  // snapshot() puts them in, as far as they are then
}

void SnapshotReceiver::take_snapshot(const std::string& bytes) {
  Reader in(bytes, most_);
  auto next = std::make_shared<Snapshot>();
  get_facts(in, *next);
  check_model(next->model);
  bool same_prompt = false;
  std::uint64_t n_same = 0;
  in(since_request_us_, same_prompt);
  if (same_prompt && facts_) next->prompt = facts_->prompt;
  if (!same_prompt) in(next->prompt);
  in(n_same);
  if (n_same > (facts_ ? facts_->tokens.size() : 0)) Reader::refuse("tokens that were sent", n_same);
  if (facts_) next->tokens.assign(facts_->tokens.begin(), facts_->tokens.begin() + static_cast<std::ptrdiff_t>(n_same));
  std::ranges::move(get_tokens(in), std::back_inserter(next->tokens));
  check_tokens(*next);
  if (facts_) {
    next->characters = facts_->characters;
    next->chat = facts_->chat;
    next->vocabulary = facts_->vocabulary;
  }
  get_shared(in, next->characters, [&] { return get_characters(in); });
  if (next->characters) check_characters(*next->characters, next->model);
  get_shared(in, next->chat, [&] { return chat_of(in); });
  get_shared(in, next->vocabulary, [&] { return get_tokens(in); });
  std::vector<LaneSnapshot> lanes(in.length(sizeof(LaneSnapshot)));
  lanes_.resize(lanes.size());
  facts_ = next;
  for (std::size_t l = 0; l < lanes.size(); ++l) {
    lanes[l] = get_lane(in);
    lanes_[l].steps.assign(in.length(sizeof(std::uint64_t)), 0);
    for (std::uint64_t& id : lanes_[l].steps) id = in.whole();
    take_lane(lanes[l], lanes_[l]);
  }
  if (!in.at_end()) Reader::refuse("the end of the message", 0);
  facts_->lanes = std::move(lanes);
  std::map<std::uint64_t, Step> named;  // the others are forgotten on both sides
  filled_ = 0;
  for (const Lane& lane : lanes_)
    for (const std::uint64_t id : lane.steps)
      if (const auto [place, is_new] = named.try_emplace(id, step_of(id)); is_new) filled_ += place->second.filled;
  steps_ = std::move(named);
  complete_ = false;
}

double SnapshotReceiver::share() const {
  std::size_t here = 0, all = 0;
  for (const auto& [id, step] : steps_) {
    here += step.n_numbers;
    all += step.record->heads.size();
  }
  return all == 0 ? 1 : static_cast<double>(here) / static_cast<double>(all);
}

std::shared_ptr<Snapshot> SnapshotReceiver::snapshot() {
  if (!facts_) return nullptr;
  auto out = std::make_shared<Snapshot>(*facts_);
  for (std::size_t l = 0; l < lanes_.size(); ++l) {
    for (const std::uint64_t id : lanes_[l].steps) {
      Step& step = step_of(id);
      step.shown = true;
      out->lanes[l].steps.push_back(step.record);
    }
  }
  tell_own_texts(*out);
  return out;
}

}  // namespace kvscope::remote
