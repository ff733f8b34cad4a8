// SPDX-License-Identifier: Apache-2.0
#include "snapshot/held_bytes.h"

#include <type_traits>
#include <unordered_set>

namespace kvscope {

namespace {

template <class T>
double bytes(const std::vector<T>& v) {
  return static_cast<double>(v.capacity() * sizeof(T));
}

double bytes(const std::string& s) { return s.capacity() > 15 ? static_cast<double>(s.capacity() + 1) : 0; }

double bytes_of(const HeadRecord& h) {
  double sum = bytes(h.pinned) + bytes(h.pos) + bytes(h.votes) + bytes(h.score) + bytes(h.statistic) + bytes(h.bias) + bytes(h.attended) +
               bytes(h.attention) + bytes(h.reference_attention) + bytes(h.agreement) + bytes(h.unread) + bytes(h.page_scores) +
               bytes(h.parts.pos) + bytes(h.parts.parts) + bytes(h.stored_block) + bytes(h.key_error) + bytes(h.value_error) +
               bytes(h.events) + bytes(h.merges);
  for (const ScoreParts::Part& part : h.parts.parts) sum += bytes(part.name) + bytes(part.values);
  for (const Event& e : h.events) sum += bytes(e.form) + bytes(e.runner_ups) + bytes(e.spread);
  for (const MergeDetail& m : h.merges)
    sum += bytes(m.members) + bytes(m.votes) + bytes(m.mu) + bytes(m.weights) + bytes(m.T) + bytes(m.m) + bytes(m.log_scores);
  return sum;
}

double bytes_of(const QueryCloud& c) {
  return bytes(c.turn) + bytes(c.re) + bytes(c.im) + bytes(c.spread) + bytes(c.distances) + bytes(c.expected) + bytes(c.measured) +
         bytes(c.share);
}

double bytes_of(const StepRecord& s) {
  double sum = sizeof(StepRecord) + bytes(s.logits_top) + bytes(s.top_tokens) + bytes(s.heads) + bytes(s.hidden_rel_l2) + bytes(s.probed) +
               bytes(s.clouds);
  for (const std::vector<float>& head : s.probed) sum += bytes(head);
  for (const QueryCloud& cloud : s.clouds) sum += bytes_of(cloud);
  for (const HeadRecord& h : s.heads) sum += bytes_of(h);
  return sum;
}

double bytes_of(const std::vector<TokenInfo>& tokens) {
  double sum = bytes(tokens);
  for (const TokenInfo& t : tokens) sum += bytes(t.bytes) + bytes(t.piece);
  return sum;
}

}  // namespace

double held_bytes(const StepRecord& step) { return bytes_of(step); }

StepRecord figures_of(const StepRecord& step) {
  const auto drop = [](auto&... lists) { (std::decay_t<decltype(lists)>().swap(lists), ...); };  // `= {}` would keep their memory
  StepRecord out = step;
  drop(out.probed, out.clouds);
  for (HeadRecord& head : out.heads) {
    drop(head.pos, head.votes, head.attended, head.score, head.statistic, head.bias, head.attention, head.reference_attention,
         head.agreement, head.page_scores, head.stored_block, head.key_error, head.value_error, head.merges, head.parts.pos,
         head.parts.parts);
    for (Event& event : head.events) drop(event.runner_ups);
  }
  return out;
}

double held_bytes(std::span<const LaneSnapshot> lanes) {
  std::unordered_set<const StepRecord*> counted;
  double sum = 0;
  for (const LaneSnapshot& lane : lanes)
    for (const StepPtr& step : lane.steps)
      if (step != nullptr && counted.insert(step.get()).second) sum += bytes_of(*step);
  return sum;
}

double held_bytes(const Snapshot& snapshot) {
  std::unordered_set<const void*> counted;
  const auto first_time = [&counted](const void* what) { return counted.insert(what).second; };
  double sum = sizeof(Snapshot) + bytes(snapshot.prompt) + bytes_of(snapshot.tokens) + bytes(snapshot.lanes) + held_bytes(snapshot.lanes);
  if (snapshot.vocabulary != nullptr) sum += bytes_of(*snapshot.vocabulary);
  for (const LaneSnapshot& lane : snapshot.lanes) {
    sum += bytes(lane.steps) + bytes(lane.fed) + bytes_of(lane.tokens);
    if (lane.fates == nullptr || !first_time(lane.fates.get())) continue;
    sum += bytes(lane.fates->heads);
    for (const HeadFates& head : lane.fates->heads) {
      sum += bytes(head.past) + static_cast<double>(head.n_chunks()) * sizeof(std::shared_ptr<const HeadFates::Chunk>);
      for (int c = 0; c < head.n_chunks(); ++c) {
        if (first_time(&head.chunk(c))) sum += sizeof(HeadFates::Chunk);
      }
    }
  }
  return sum;
}

}  // namespace kvscope
