// SPDX-License-Identifier: Apache-2.0
#include "app/lessons/scene_look.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "viz/draw/draw.h"
#include "viz/reduce/finding.h"
#include "viz/reduce/head.h"
#include "viz/reduce/slot.h"

namespace kvscope {

namespace {

constexpr int kFirst = 4;  // tokens that many heads rest on; where a policy protects others, those

const LaneSnapshot* lane_of(const Snapshot& snapshot, const viz::Selection& at) {
  const auto i = static_cast<std::size_t>(at.lane);
  return at.lane >= 0 && i < snapshot.lanes.size() ? &snapshot.lanes[i] : nullptr;
}

/// The first step by which so many tokens of the text have been read.
std::optional<int> step_that_read(const LaneSnapshot& lane, int n_tokens) {
  const auto step = std::ranges::find_if(lane.steps, [&](const StepPtr& s) { return s && s->position >= n_tokens - 1; });
  if (step == lane.steps.end()) return std::nullopt;
  return static_cast<int>(step - lane.steps.begin());
}

/// The step that predicts the n-th token of the answer, as far as there is one. The end of a prompt that was read at once predicts the
/// first.
std::optional<int> answer_step(const Snapshot& snapshot, const LaneSnapshot& lane, int n) {
  const std::optional<int> first = step_that_read(lane, snapshot.n_prompt);
  if (!first) return std::nullopt;
  return std::min(*first + n - 1, static_cast<int>(lane.steps.size()) - 1);
}

void look_at(viz::Selection& at, const viz::Loss& loss) {
  at.layer = loss.layer;
  at.kv_head = loss.kv_head;
  at.select({loss.token, loss.token});
  at.slot.reset();
}

/// At `step`, where there is one, else at the step with the largest.
bool to_loss(viz::Selection& at, const Snapshot& snapshot, const LaneSnapshot& lane, std::optional<int> step) {
  const viz::Loss loss = step ? viz::largest_loss_at(snapshot, lane, *step) : viz::largest_loss(snapshot, lane);
  if (loss.step < 0) return false;
  at.step = loss.step;
  look_at(at, loss);
  return true;
}

bool to_change(viz::Selection& at, const Snapshot& snapshot, const LaneSnapshot& lane) {
  const int step = viz::next_changed_step(snapshot, lane, -1);
  if (step < 0) return false;
  at.step = step;
  if (const viz::Finding finding = viz::finding_of(snapshot, lane, step); finding.loss.step >= 0) look_at(at, finding.loss);
  return true;
}

/// The head of this run in which most tokens live on in a slot of their own text, and that slot with all that went into it; then the one
/// with the most merged tokens. Never another run: it is this one that is spoken of.
bool to_merging(viz::Selection& at, const Snapshot& snapshot, const LaneSnapshot& lane) {
  const int n_kv = std::max(1, snapshot.model.n_kv_heads);
  if (!lane.fates) return false;
  std::pair<int, int> most;  // of one text, of any
  viz::Selection best = at;
  for (int h = 0; h < static_cast<int>(lane.fates->heads.size()); ++h) {
    viz::Selection here = at;
    here.layer = h / n_kv, here.kv_head = h % n_kv;
    const viz::HeadPick pick = viz::pick_head(snapshot, here);
    const viz::MergedSlot merged = viz::telling_merge(snapshot, pick);
    const std::pair n{merged.alike, merged.n_merged};
    if (merged.slot < 0 || n <= most) continue;
    most = n;
    here.select({merged.slot, merged.slot});
    for (const int token : viz::slot_facts(pick, merged.slot).members)
      if (token != merged.slot) here.more_tokens.push_back({token, token});
    best = here;
  }
  at = best;
  return most.second > 0;
}

/// The head that pays most to the first tokens, in this step's query. `framed`: and those tokens, of a long text a narrow strip.
bool to_sink(viz::Selection& at, const Snapshot& snapshot, const LaneSnapshot& lane, bool framed) {
  const viz::HeadPick pick = viz::pick_head(snapshot, at);
  if (pick.record == nullptr) return false;
  const int n_first = lane.sinks > 0 ? lane.sinks : kFirst;
  double most = 0;
  for (const HeadRecord& head : pick.record->heads) {
    double paid = 0;
    for (std::size_t i = 0; i < head.attended.size() && i < head.attention.size(); ++i)
      if (head.attended[i] < n_first) paid += static_cast<double>(head.attention[i]);
    if (!(paid > most)) continue;
    most = paid;
    at.layer = head.layer;
    at.kv_head = head.kv_head;
  }
  if (framed && most > 0) at.select({0, std::max(1, lane.sinks) - 1});
  return most > 0;
}

struct Paid {
  int token = -1;  // -1: none
  float share = 0;
};

/// The token among [first, last] to which the head pays most. `meant`: which count at all.
template <typename Meant>
Paid most_paid(const HeadRecord& head, int first, int last, Meant&& meant) {
  Paid out;
  for (std::size_t i = 0; i < head.attended.size() && i < head.attention.size(); ++i)
    if (const int token = head.attended[i]; token >= first && token <= last && head.attention[i] > out.share && meant(token))
      out = {token, head.attention[i]};
  return out;
}

bool any_token(int) { return true; }

/// A frame around a comma or a space tells an audience nothing.
bool is_word(const TokenInfo& token) {
  return std::ranges::any_of(token.bytes,
                             [](char c) { return static_cast<unsigned char>(c) >= 0x80 || std::isalnum(static_cast<unsigned char>(c)); });
}

/// The head that pays most to one word or number of the text which it holds, the first and the newest tokens aside: what it fetches from
/// far back.
bool to_read(viz::Selection& at, const Snapshot& snapshot) {
  constexpr int kNewest = 32;
  const viz::HeadPick pick = viz::pick_head(snapshot, at);
  if (pick.record == nullptr) return false;
  float most = 0;
  for (const HeadRecord& head : pick.record->heads) {
    const Paid paid = most_paid(head, kFirst, pick.record->position - kNewest,
                                [&snapshot](int token) { return is_word(snapshot.tokens[static_cast<std::size_t>(token)]); });
    if (!(paid.share > most)) continue;
    most = paid.share;
    at.layer = head.layer;
    at.kv_head = head.kv_head;
    at.select({paid.token, paid.token});
  }
  return most > 0;
}

/// The head, and the token at which this step's query looks most: the first ones aside, unless they are what it is about.
bool to_habit(viz::Selection& at, const Snapshot& snapshot, viz::Habit habit) {
  double most = 0;
  for (int l = 0; l < snapshot.model.n_layers; ++l)
    for (int h = 0; h < snapshot.model.n_kv_heads; ++h) {
      const double value = viz::habit_of(snapshot, habit, l, h);
      if (!(value > most)) continue;
      most = value;
      at.layer = l;
      at.kv_head = h;
    }
  if (!(most > 0)) return false;
  const viz::HeadPick pick = viz::pick_head(snapshot, at);
  if (pick.values == nullptr) return true;
  const Paid paid = most_paid(*pick.values, habit == viz::Habit::sink ? 0 : kFirst, pick.record->position, any_token);
  if (paid.token >= 0) at.select({paid.token, paid.token});
  return true;
}

}  // namespace

std::optional<viz::Selection> look_of(const Scene& scene, const Snapshot& snapshot, const viz::Selection& now) {
  if (snapshot.lanes.empty()) return std::nullopt;
  viz::Selection at = now;
  bool elsewhere = scene.run || scene.answer || scene.read;
  const bool on_stage = !scene.stage.empty();
  if (on_stage) {  // the same for everybody, whatever was looked at before
    const int lane_before = at.lane;
    at = {};
    at.lane = lane_before;
    elsewhere = true;
  }
  if (scene.run) at.lane = std::min(*scene.run, static_cast<int>(snapshot.lanes.size()) - 1);
  const LaneSnapshot* lane = lane_of(snapshot, at);
  if (lane == nullptr || lane->steps.empty()) return std::nullopt;
  if (scene.answer) at.step = answer_step(snapshot, *lane, *scene.answer);
  if (scene.read) at.step = step_that_read(*lane, static_cast<int>(std::lround(*scene.read * snapshot.n_prompt)));
  switch (scene.look) {
    case Scene::Look::stay:
      break;
    case Scene::Look::loss:
      elsewhere |= to_loss(at, snapshot, *lane, scene.answer ? at.step : std::nullopt);
      break;
    case Scene::Look::changed:
      elsewhere |= to_change(at, snapshot, *lane);
      break;
    case Scene::Look::differs:
      elsewhere |= to_change(at, snapshot, *lane);
      at.tokens.reset();
      at.more_tokens.clear();
      break;
    case Scene::Look::merging:
      elsewhere |= to_merging(at, snapshot, *lane);
      break;
    case Scene::Look::sink:
      elsewhere |= to_sink(at, snapshot, *lane, scene.emphasis == Category::sink);
      break;
    case Scene::Look::reads:
      elsewhere |= to_read(at, snapshot);
      break;
    case Scene::Look::habit:
      elsewhere |= to_habit(at, snapshot, scene.habit);
      break;
  }
  if (on_stage && !at.layer) {  // fates are those of a head
    const viz::HeadPick pick = viz::pick_head(snapshot, at);
    if (pick.values != nullptr) at.layer = pick.values->layer, at.kv_head = pick.values->kv_head;
  }
  return elsewhere ? std::optional(at) : std::nullopt;
}

}  // namespace kvscope
