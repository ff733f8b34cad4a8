// SPDX-License-Identifier: Apache-2.0
#include "app/share/reasons.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "viz/reduce/text.h"

namespace kvscope::share {

namespace {

void write_card(JsonText& json, const Snapshot& snapshot, const viz::HeadPick& pick, int token) {
  const viz::Why why = viz::why_of(pick, token);
  json.begin_array().value(viz::why_headline(tokens_of(snapshot, pick.lane), why));
  for (const viz::WhyStep& step : viz::why_steps(snapshot, pick, why)) {
    json.begin_array().value(step.title).begin_array();
    for (const std::string& line : step.lines) json.value(line);
    json.end_array().begin_array();
    for (const auto& [pos, cosine] : step.keys)
      json.begin_array().value(viz::slot_name(tokens_of(snapshot, pick.lane), pos)).value(fmt::format("{:.3f}", cosine)).end_array();
    for (const std::vector<std::string>& row : step.rows) {
      json.begin_array();
      for (const std::string& cell : row) json.value(cell);
      json.end_array();
    }
    json.end_array().end_array();
  }
  json.end_array();
}

/// 1 for each of the `most` tokens that are missed most.
std::vector<char> chosen_tokens(const Missed& missed, int most) {
  std::vector<int> order(missed.size());
  std::iota(order.begin(), order.end(), 0);
  const auto end = order.begin() + std::min<std::ptrdiff_t>(most, std::ssize(order));
  std::partial_sort(order.begin(), end, order.end(), [&](int a, int b) {
    const float x = missed[static_cast<std::size_t>(a)], y = missed[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  });
  std::vector<char> out(missed.size(), 0);
  std::for_each(order.begin(), end, [&](int token) { out[static_cast<std::size_t>(token)] = 1; });
  return out;
}

}  // namespace

bool write_reasons(JsonText& json, const Snapshot& snapshot, int lane, const std::vector<Missed>& missed, int most) {
  const LaneSnapshot& run = snapshot.lanes[static_cast<std::size_t>(lane)];
  struct Card {
    viz::HeadPick pick;
    int token = 0;
  };
  std::vector<Card> cards;
  bool left_out = false;
  json.key("events").begin_array(true);
  for (std::size_t head = 0; head < missed.size(); ++head) {
    const std::vector<char> chosen = chosen_tokens(missed[head], most);
    json.begin_array();
    for (std::size_t s = 0; s < run.steps.size(); ++s) {
      const StepRecord& record = *run.steps[s];
      if (head >= record.heads.size()) continue;
      viz::HeadPick pick{.lane = lane, .step = static_cast<int>(s), .head = static_cast<int>(head), .run = &run, .record = &record};
      pick.values = &record.heads[head];
      for (const Event& event : pick.values->events) {
        const bool restored = event.kind == Event::Kind::restore;
        if (!restored && !chosen[static_cast<std::size_t>(event.pos)]) {
          left_out = true;
          continue;
        }
        json.value(static_cast<int>(s)).value(static_cast<int>(event.kind)).value(event.pos).value(event.into);
        json.value(restored ? -1 : static_cast<int>(cards.size()));
        if (!restored) cards.push_back({pick, event.pos});
      }
    }
    json.end_array();
  }
  json.end_array().key("cards").begin_array(true);
  for (const Card& card : cards) write_card(json, snapshot, card.pick, card.token);
  json.end_array();
  return left_out;
}

}  // namespace kvscope::share
