// SPDX-License-Identifier: Apache-2.0
#include "remote/checks.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include <fmt/core.h>

#include "core/error.h"

namespace kvscope::remote {

namespace {

constexpr int kMaxLayers = 4096, kMaxQueryHeads = 4096;

void expect(bool holds, const char* what) {
  if (!holds) throw Error(fmt::format("a message of the engine elsewhere cannot be: expected {}, got something else", what));
}

/// Tokens up to the step's own, in order, none twice.
bool ascend(const std::vector<int>& pos, int position) {
  for (std::size_t i = 0; i < pos.size(); ++i)
    if (pos[i] < 0 || pos[i] > position || (i > 0 && pos[i] <= pos[i - 1])) return false;
  return true;
}

bool among(const std::vector<int>& pos, int position) {
  return std::ranges::all_of(pos, [position](int p) { return p >= 0 && p <= position; });
}

template <class T>
bool none_or(const std::vector<T>& values, std::size_t n) {
  return values.empty() || values.size() == n;
}

}  // namespace

void check_model(const ModelConfig& m) {
  expect(m.n_layers >= 0 && m.n_layers <= kMaxLayers && m.n_heads >= 0 && m.n_heads <= kMaxQueryHeads,
         "a model of at most 4096 layers and heads");
  if (m.n_layers == 0) return;
  expect(m.n_kv_heads > 0 && m.n_heads > 0 && m.n_heads % m.n_kv_heads == 0, "query heads that are a multiple of the KV heads");
  expect(m.layers.empty() || m.layers.size() == static_cast<std::size_t>(m.n_layers), "as many layers as the model has");
  const int n_ropes = static_cast<int>(m.ropes.size());
  expect(n_ropes > 0, "a table of rotations");
  expect(std::ranges::all_of(m.layers, [&](const LayerConfig& l) { return l.rope >= -1 && l.rope < n_ropes; }),
         "layers with a known table");
  expect(std::ranges::all_of(m.ropes, [&](const Rope& r) { return r.beyond >= -1 && r.beyond < n_ropes; }),
         "tables that lead to known ones");
}

void check_characters(const HeadCharacters& c, const ModelConfig& model) {
  expect(c.n_layers == model.n_layers && c.n_heads == model.n_heads, "characters of the model's heads");
  const std::size_t n = static_cast<std::size_t>(c.n_layers) * static_cast<std::size_t>(c.n_heads);
  for (const auto* values : {&c.sink, &c.local, &c.previous, &c.entropy, &c.induction, &c.retrieval})
    expect(none_or(*values, n), "a number for each head");
}

void check_tokens(const Snapshot& s) {
  const auto n = static_cast<int>(std::min<std::size_t>(s.prompt.size(), std::numeric_limits<int>::max()));
  expect(s.n_prompt >= 0 && static_cast<std::size_t>(s.n_prompt) <= s.tokens.size(), "as many tokens as the prompt has");
  expect(std::ranges::all_of(s.tokens,
                             [n](const TokenInfo& t) {
                               return (t.text_begin == -1 && t.text_end == -1) ||
                                      (t.text_begin >= 0 && t.text_end >= t.text_begin && t.text_end <= n);
                             }),
         "tokens that stand in the prompt");
}

void check_outline(const HeadRecord& h, int position) {
  const std::size_t n = h.pos.size();
  expect(ascend(h.pos, position) && (n == 0 || h.n_slots == static_cast<int>(n)) && h.n_slots >= 0, "slots in the order of their tokens");
  expect(none_or(h.votes, n) && none_or(h.bias, n) && none_or(h.stored_block, n), "an entry for each slot");
  expect(among(h.unread, position) && h.recent >= 0 && h.page >= 0, "slots of tokens that were read");
  for (const Event& e : h.events)
    expect(e.pos >= 0 && e.pos <= position && e.into >= -1 && e.into <= position && among(e.spread, position),
           "events of tokens that were read");
}

void check_numbers(const HeadRecord& h, int position) {
  const std::size_t n = h.pos.size(), n_tokens = static_cast<std::size_t>(position) + 1;
  expect(none_or(h.score, n) && none_or(h.statistic, n) && none_or(h.key_error, n) && none_or(h.value_error, n), "a number for each slot");
  expect(ascend(h.attended, position) && none_or(h.attention, h.attended.size()), "attention on tokens that were read");
  expect(h.reference_attention.size() <= n_tokens && h.agreement.size() <= n_tokens, "attention on tokens that were read");
  expect(ascend(h.parts.pos, position) &&
             std::ranges::all_of(h.parts.parts, [&](const ScoreParts::Part& part) { return part.values.size() == h.parts.pos.size(); }),
         "parts of the scores of tokens that were read");
  for (const MergeDetail& m : h.merges) {
    const std::size_t k = m.members.size();
    expect(m.into >= 0 && m.into <= position && among(m.members, position), "merges of tokens that were read");
    expect(none_or(m.votes, k) && none_or(m.mu, k) && none_or(m.weights, k), "a number for each member of a merge");
    expect(none_or(m.m, m.T.size()) && none_or(m.log_scores, k * m.T.size()), "a number for each member and query head of a merge");
  }
  for (const Event& e : h.events)
    expect(std::ranges::all_of(e.runner_ups, [&](const auto& r) { return r.first >= 0 && r.first <= position; }), "slots that came next");
}

}  // namespace kvscope::remote
