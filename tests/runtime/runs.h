// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "paths.h"
#include "policy/catalog.h"
#include "runtime/session/session.h"

namespace kvscope::testing {

inline std::string tiny_model() { return in_checkout("tests/golden/tiny-gqa"); }
inline std::string model_without_groups() { return in_checkout("tests/golden/tiny-mha"); }
inline std::string embedded_model() { return in_checkout("assets/models/kvmini"); }

inline Session open_session(const std::string& folder, DType precision = DType::f64, int n_threads = 1) {
  return Session(open_model(folder), {.precision = precision, .n_threads = n_threads});
}

/// Token ids of a made-up text; the same for the same seed.
inline std::vector<int> random_ids(int n, int vocab_size, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<int> out(n);
  for (int& id : out) id = static_cast<int>(generator() % static_cast<unsigned>(vocab_size));
  return out;
}

/// Infinite where they are of different lengths or one is not a number.
inline double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::isnan(a[i]) ? INFINITY : std::abs(a[i] - b[i]));
  return worst;
}

inline RunRequest request_of(std::vector<int> ids, const std::vector<std::string>& lanes, PromptMode mode, int n_generate) {
  RunRequest request;
  request.prompt_ids = std::move(ids);
  request.lanes = parse_lane_specs(lanes);
  request.mode = mode;
  request.n_generate = n_generate;
  return request;
}

inline Snapshot run(Session& session, const RunRequest& request) {
  const CancelToken never;
  return session.run(request, never);
}

inline void expect_same_number(double a, double b, const std::string& where) {
  if (std::isnan(a) && std::isnan(b)) return;
  EXPECT_EQ(a, b) << where;
}

/// Two runs hold the same numbers, bit by bit: decisions, scores, measures, logits.
inline void expect_same_run(const Snapshot& a, const Snapshot& b) {
  ASSERT_EQ(a.lanes.size(), b.lanes.size());
  ASSERT_EQ(a.tokens.size(), b.tokens.size());
  for (std::size_t i = 0; i < a.tokens.size(); ++i) EXPECT_EQ(a.tokens[i].id, b.tokens[i].id);
  for (std::size_t l = 0; l < a.lanes.size(); ++l) {
    ASSERT_EQ(a.lanes[l].steps.size(), b.lanes[l].steps.size()) << a.lanes[l].spec;
    EXPECT_EQ(a.lanes[l].slots, b.lanes[l].slots) << a.lanes[l].spec;
    EXPECT_EQ(a.lanes[l].kv_bytes, b.lanes[l].kv_bytes) << a.lanes[l].spec;
    EXPECT_EQ(a.lanes[l].fed, b.lanes[l].fed) << a.lanes[l].spec;
    EXPECT_EQ(a.lanes[l].text_end, b.lanes[l].text_end) << a.lanes[l].spec;
    for (std::size_t s = 0; s < a.lanes[l].steps.size(); ++s) {
      const StepRecord &x = *a.lanes[l].steps[s], &y = *b.lanes[l].steps[s];
      const std::string where = a.lanes[l].spec + " step " + std::to_string(s);
      EXPECT_EQ(x.position, y.position) << where;
      EXPECT_EQ(x.next_token, y.next_token) << where;
      expect_same_number(x.nll, y.nll, where + " nll");
      expect_same_number(x.kl, y.kl, where + " kl");
      EXPECT_EQ(x.logits_top, y.logits_top) << where;
      for (std::size_t h = 0; h < x.heads.size(); ++h) {
        const HeadRecord &p = x.heads[h], &q = y.heads[h];
        EXPECT_EQ(p.pos, q.pos) << where;
        EXPECT_EQ(p.votes, q.votes) << where;
        EXPECT_EQ(p.attention, q.attention) << where;
        EXPECT_EQ(p.reference_attention, q.reference_attention) << where;
        ASSERT_EQ(p.events.size(), q.events.size()) << where;
        for (std::size_t e = 0; e < p.events.size(); ++e) {
          EXPECT_EQ(p.events[e].pos, q.events[e].pos) << where;
          EXPECT_EQ(p.events[e].into, q.events[e].into) << where;
        }
        for (std::size_t i = 0; i < p.score.size(); ++i) expect_same_number(p.score[i], q.score[i], where + " score");
        expect_same_number(p.compress_rel_l2, q.compress_rel_l2, where + " compress_rel_l2");
        expect_same_number(p.local_rel_l2, q.local_rel_l2, where + " local_rel_l2");
        expect_same_number(p.local_l1_wo, q.local_l1_wo, where + " local_l1_wo");
        expect_same_number(p.attention_loss, q.attention_loss, where + " attention_loss");
        expect_same_number(p.theta, q.theta, where + " theta");
        EXPECT_EQ(p.pooled_tokens, q.pooled_tokens) << where;
        expect_same_number(p.pooled_share, q.pooled_share, where + " pooled_share");
        expect_same_number(p.predictor_error, q.predictor_error, where + " predictor_error");
      }
      EXPECT_EQ(x.hidden_rel_l2, y.hidden_rel_l2) << where;
    }
  }
}

}  // namespace kvscope::testing
