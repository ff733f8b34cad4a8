// SPDX-License-Identifier: Apache-2.0
// Full caches of which the device keeps account itself: the same slots go as where the host does, bit by bit.
#include <gtest/gtest.h>

#include "arch/model_files.h"
#include "backend/reference.h"
#include "emulator.h"
#include "paths.h"
#include "policy/catalog.h"
#include "runtime/model/synthetic_model.h"
#include "runtime/session/session.h"

namespace kvscope::test {
namespace {

ModelConfig shape_of(int n_heads, int n_kv_heads, int head_dim, int n_layers) {
  ModelConfig config = config_of(n_heads, n_kv_heads, head_dim);
  config.n_layers = n_layers;
  config.hidden_dim = config.vocab_size = 64;
  config.max_positions = 1024;
  return config;
}

class FullCaches : public OfVariant {
 protected:
  /// layers > 0: of numbers that look random, as many heads as the shape has.
  std::unique_ptr<Session> session(const ModelConfig& shape = {}) {
    if (shape.n_layers > 0) {
      auto backend = GetParam().make(shape, 2);
      Model model = synthetic_model(shape, DType::f32, *backend);
      return std::make_unique<Session>(std::move(backend), std::move(model));
    }
    ModelFiles files = open_model(in_checkout("tests/golden/tiny-gqa"));
    auto backend = GetParam().make(files.config, 2);
    Model model = load_model(std::move(files), *backend);
    return std::make_unique<Session>(std::move(backend), std::move(model));
  }
  static RunRequest request(std::vector<std::string> lanes, PromptMode mode, int n_generate, Detail detail) {
    RunRequest out;
    for (int i = 0; i < 20; ++i) out.prompt_ids.push_back(1 + (i * i + 3 * i) % 60);
    out.lanes = parse_lane_specs(lanes);
    out.mode = mode;
    out.n_generate = n_generate;
    out.detail = detail;
    out.history = false;
    out.measures = MeasureSet::none();
    return out;
  }
  static void expect_same(const LaneSnapshot& a, const LaneSnapshot& b) {
    const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
    ASSERT_EQ(a.steps.size(), b.steps.size()) << a.spec;
    for (std::size_t s = 0; s < a.steps.size(); ++s) {
      ASSERT_EQ(a.steps[s]->next_token, b.steps[s]->next_token) << a.spec << " step " << s;
      ASSERT_EQ(a.steps[s]->logits_top, b.steps[s]->logits_top) << a.spec << " step " << s;
      for (std::size_t h = 0; h < a.steps[s]->heads.size(); ++h) {
        const HeadRecord &x = a.steps[s]->heads[h], &y = b.steps[s]->heads[h];
        const std::string where = a.spec + " step " + std::to_string(s) + " head " + std::to_string(h);
        ASSERT_EQ(x.events.size(), y.events.size()) << where;
        for (std::size_t e = 0; e < x.events.size(); ++e) {
          EXPECT_EQ(x.events[e].kind, y.events[e].kind) << where;
          ASSERT_EQ(x.events[e].pos, y.events[e].pos) << where;
          ASSERT_EQ(x.events[e].into, y.events[e].into) << where;
          for (double Event::*const number : {&Event::score, &Event::w_removed, &Event::w_target, &Event::cos, &Event::gamma})
            EXPECT_TRUE(same(x.events[e].*number, y.events[e].*number)) << where;
          EXPECT_EQ(x.events[e].form, y.events[e].form) << where;
        }
        EXPECT_TRUE(same(x.cutoff, y.cutoff)) << where << ": " << x.cutoff << " and " << y.cutoff;
        EXPECT_TRUE(same(x.compress_rel_l2, y.compress_rel_l2)) << where;
        EXPECT_TRUE(same(x.kv_bytes, y.kv_bytes)) << where;
        EXPECT_EQ(x.n_slots, y.n_slots) << where;
        EXPECT_EQ(x.evicted_votes, y.evicted_votes) << where;
        EXPECT_EQ(x.budget, y.budget) << where;
        EXPECT_EQ(x.recent, y.recent) << where;
        EXPECT_EQ(x.layer, y.layer) << where;
        EXPECT_EQ(x.kv_head, y.kv_head) << where;
      }
    }
  }

  void expect_same_on_host(const std::vector<std::string>& lanes, int n_generate) {
    const bool narrow = name_of_variant(GetParam()).ends_with("16");  // of keys and values alone: not every mode of every shape anew
    for (const ModelConfig& shape : {ModelConfig{}, shape_of(2, 2, 16, 2)})
      for (const PromptMode mode : {PromptMode::prefill, PromptMode::stream}) {
        if (narrow && (shape.n_layers > 0) != (mode == PromptMode::stream)) continue;
        const auto on_device = session(shape), on_host = session(shape);
        const Snapshot got = on_device->run(request(lanes, mode, n_generate, Detail::events), CancelToken()),
                       expected = on_host->run(request(lanes, mode, n_generate, Detail::slots), CancelToken());
        ASSERT_EQ(got.lanes.size(), expected.lanes.size());
        for (std::size_t l = 0; l < got.lanes.size(); ++l) {
          expect_same(expected.lanes[l], got.lanes[l]);
          EXPECT_EQ(got.lanes[l].steps.back()->heads.back().events.empty(), l == 0) << got.lanes[l].spec << ": lane 0 is the full cache";
        }
      }
  }
};

TEST_P(FullCaches, LoseWhatTheyLoseWhereTheHostKeepsTheirSlots) {
  const std::vector<std::string> lanes = {"h2o:slots=12",
                                          "custom:stat=sum,slots=9,sinks=2,recent=3,group=max",
                                          "custom:stat=decayed,slots=7,recent=0,lambda=0.9",
                                          "custom:stat=sum,slots=3,sinks=1,recent=1",
                                          "zeromerge:slots=12",
                                          "zeromerge:slots=9,sinks=1,recent=0,residual=5,alpha=1.5,lambda=0.5",
                                          "zeromerge:slots=4,sinks=1,recent=1,residual=1,group=max",
                                          "custom:stat=sum,merge=zeromerge,slots=10,sinks=0,recent=2,residual=3,bias=none",
                                          "custom:stat=window,slots=10,sinks=1,recent=3,window=4",
                                          "custom:stat=window,merge=zeromerge,slots=10,sinks=1,recent=2,residual=3,window=3"};
  expect_same_on_host(lanes, 12);
}

TEST_P(FullCaches, MergeWhatTheyMergeWhereTheHostKeepsTheirSlots) {
  // 20 + 16 rows: those of 32 come round; merged slots are merged on, and lost
  const std::vector<std::string> lanes = {"keepkv:slots=12,threshold=-1",
                                          "keepkv:slots=10,threshold=0.2",
                                          "keepkv:slots=9,sinks=1,recent=2,window=4,threshold=-1,alpha=0.5,form=code",
                                          "keepkv:base=h2o,slots=11,threshold=0.1",
                                          "keepkv:slots=8,recent=1,threshold=0.1,threshold[L0H0]=-1",
                                          "keepkv:slots=3,sinks=0,recent=1,threshold=-1,alpha=0",
                                          "custom:stat=decayed,merge=keepkv,slots=12,threshold=0,bias=none,group=max"};
  expect_same_on_host(lanes, 16);
}

TEST_P(FullCaches, AreTheHostsWhereSomethingIsDoneByHand) {
  const auto on_device = session(), on_host = session();
  RunRequest r = request({"h2o:slots=12,sinks=1", "zeromerge:slots=12,sinks=1", "keepkv:slots=12,sinks=1,threshold=0"}, PromptMode::prefill,
                         70, Detail::events);
  on_device->run(r, CancelToken());
  for (std::size_t l = 0; l < 3; ++l) {
    r.lanes.push_back(r.lanes[l]);
    r.lanes.back().edits.what_ifs.push_back({.kind = WhatIf::Kind::evict, .step = 66, .heads = {}, .positions = {0}, .into = -1});
  }
  const Snapshot got = on_device->run(r, CancelToken());
  r.detail = Detail::slots;
  const Snapshot expected = on_host->run(r, CancelToken());
  for (std::size_t l = 0; l < got.lanes.size(); ++l) expect_same(expected.lanes[l], got.lanes[l]);
  EXPECT_TRUE(got.lanes.back().steps.at(66)->heads.front().events.back().by_hand);
}

INSTANTIATE_TEST_SUITE_P(On, FullCaches, testing::ValuesIn(variants()), [](const auto& p) { return name_of_variant(p.param); });
INSTANTIATE_TEST_SUITE_P(OnNarrow, FullCaches, testing::Values(narrow_variants().front(), narrow_variants().back()),
                         [](const auto& p) { return name_of_variant(p.param); });

/// What a step asks of an emulated device.
emulator::Requests of_a_step(const std::string& policy, Detail detail) {
  const ModelConfig config = shape_of(4, 4, 32, 5);
  auto backend = variants().front().make(config, 1);
  Model model = synthetic_model(config, DType::f32, *backend);
  Session session(std::move(backend), std::move(model));
  RunRequest r;
  r.prompt_ids.assign(20, 3);
  r.lanes = parse_lane_specs({policy});
  r.detail = detail;
  r.history = false;
  r.measures = MeasureSet::none();
  r.n_generate = 6;
  session.run(r, CancelToken());
  const emulator::Requests before = emulator::requests();
  r.n_generate = 7;
  session.run(r, CancelToken());
  emulator::Requests out = emulator::requests();
  out.downloads -= before.downloads;
  return out;
}

TEST(FullCachesOfAnEmulatedDevice, SendNothingButWhatWent) {
  if (!variants().front().why_not.empty()) GTEST_SKIP() << variants().front().why_not;
  const emulator::Requests full = of_a_step("full", Detail::summary);
  for (const char* policy : {"h2o:slots=12", "custom:stat=sum,slots=9,sinks=2,recent=3,group=max", "custom:stat=decayed,slots=7,recent=0",
                             "zeromerge:slots=12", "keepkv:slots=12,threshold=0", "custom:stat=window,slots=9,recent=2"})
    EXPECT_EQ(of_a_step(policy, Detail::summary).downloads, full.downloads + 1) << policy << ": once for all layers";
  EXPECT_GT(of_a_step("h2o:slots=12", Detail::slots).downloads, full.downloads + 1) << "rows of attention";
}

}  // namespace
}  // namespace kvscope::test
