// SPDX-License-Identifier: Apache-2.0
#include "remote/snapshot_sender.h"

#include <algorithm>
#include <utility>

#include "remote/bytes.h"
#include "remote/records.h"
#include "tokenizer/chat_template.h"

namespace kvscope::remote {

namespace {

constexpr std::size_t kPiece = std::size_t(128) << 10;  // bytes: what something newer waits for at most

/// A step whose next token became known is another record with the same heads.
bool same_heads(const StepRecord& a, const StepRecord& b) {
  if (a.position != b.position || a.heads.size() != b.heads.size()) return false;
  for (std::size_t h = 0; h < a.heads.size(); ++h) {
    Writer one, other;
    put_outline(one, a.heads[h]);
    put_numbers(one, a.heads[h]);
    put_outline(other, b.heads[h]);
    put_numbers(other, b.heads[h]);
    if (one.bytes() != other.bytes()) return false;
  }
  return true;
}

template <class T, class Put>
void put_shared(Writer& out, const std::shared_ptr<const T>& now, const std::shared_ptr<const T>& before, const Put& put) {
  const Shared how = now == before ? Shared::same : now == nullptr ? Shared::none : Shared::follows;
  out(how);
  if (how == Shared::follows) put(*now);
}

}  // namespace

void SnapshotSender::send_step(const StepPtr& step, const Sent* before) {
  Sent& sent = sent_[step.get()] = {step, ++last_id_, 0};
  const bool known = before != nullptr && same_heads(*before->step, *step);
  Writer out;
  out(sent.id, known ? before->id : std::uint64_t{0});
  put_step(out, *step);
  send_(Kind::step, out.bytes());
  if (known) {
    sent.n_numbers = before->n_numbers;
  } else {
    constexpr std::size_t kHeads = 64;  // of a message
    for (std::size_t h = 0; h < step->heads.size(); h += kHeads) {
      const std::size_t end = std::min(step->heads.size(), h + kHeads);
      Writer outlines;
      outlines(sent.id, h, end - h);
      for (std::size_t i = h; i < end; ++i) put_outline(outlines, step->heads[i]);
      send_(Kind::outlines, outlines.bytes());
    }
  }
}

void SnapshotSender::show(const SnapshotPtr& snapshot, std::int64_t since_request_us) {
  static const Snapshot nothing;
  const Snapshot &now = *snapshot, &before = last_ ? *last_ : nothing;
  std::map<const StepRecord*, Sent> named;
  Writer lanes;
  lanes(now.lanes.size());
  for (std::size_t l = 0; l < now.lanes.size(); ++l) {
    put_lane(lanes, now.lanes[l]);
    lanes(now.lanes[l].steps.size());
    for (std::size_t s = 0; s < now.lanes[l].steps.size(); ++s) {
      const StepPtr& step = now.lanes[l].steps[s];
      auto found = sent_.find(step.get());
      if (found == sent_.end()) {
        const Sent* twin = nullptr;
        if (l < before.lanes.size() && s < before.lanes[l].steps.size())
          if (const auto old = sent_.find(before.lanes[l].steps[s].get()); old != sent_.end()) twin = &old->second;
        send_step(step, twin);
        found = sent_.find(step.get());
      }
      lanes(found->second.id);
      named.insert(*found);
    }
  }
  Writer out;
  put_facts(out, now);
  out(since_request_us, now.prompt == before.prompt);
  if (now.prompt != before.prompt) out(now.prompt);
  const auto differ = std::ranges::mismatch(now.tokens, before.tokens, same_token);
  const auto n_same = static_cast<std::size_t>(differ.in1 - now.tokens.begin());
  out(n_same);
  put_tokens(out, now.tokens, n_same);
  put_shared(out, now.characters, before.characters, [&](const HeadCharacters& c) { put_characters(out, c); });
  put_shared(out, now.chat, before.chat,
             [&](const ChatTemplate& c) { out(c.source().text, c.source().name, c.source().bos, c.source().eos); });
  put_shared(out, now.vocabulary, before.vocabulary, [&](const std::vector<TokenInfo>& v) { put_tokens(out, v, 0); });
  out.raw(lanes.bytes().data(), lanes.size());
  send_(Kind::snapshot, out.bytes());
  sent_ = std::move(named);
  last_ = snapshot;
  complete_ = false;
}

bool SnapshotSender::send_numbers() {
  if (!last_ || complete_) return false;
  std::size_t n_steps = 0;
  for (const LaneSnapshot& lane : last_->lanes) n_steps = std::max(n_steps, lane.steps.size());
  for (std::size_t s = n_steps; s-- > 0;) {
    for (const LaneSnapshot& lane : last_->lanes) {
      if (s >= lane.steps.size()) continue;
      Sent& sent = sent_.at(lane.steps[s].get());
      const std::vector<HeadRecord>& heads = sent.step->heads;
      if (sent.n_numbers == heads.size()) continue;
      const std::size_t first = sent.n_numbers;
      Writer out, piece;
      while (sent.n_numbers < heads.size() && piece.size() < kPiece) put_numbers(piece, heads[sent.n_numbers++]);
      out(sent.id, first, sent.n_numbers - first);
      out.raw(piece.bytes().data(), piece.size());
      send_(Kind::numbers, out.bytes());
      return true;
    }
  }
  send_(Kind::complete, {});
  complete_ = true;
  return false;
}

}  // namespace kvscope::remote
