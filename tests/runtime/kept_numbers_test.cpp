// SPDX-License-Identifier: Apache-2.0
// Lanes whose backend keeps the statistics, as a device does: the same decisions as with all of them on the host.
#include <gtest/gtest.h>

#include "backend/backend.h"
#include "core/error.h"
#include "decisions.h"
#include "policy/catalog/custom.h"
#include "policy/statistics/head_numbers.h"
#include "policy/statistics/statistics.h"
#include "runs.h"
#include "paths.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

Session session_that_keeps(const std::string& folder, int n_threads = 1) {
  ModelFiles files = open_model(folder);
  auto backend = make_cpu_backend(DType::f64, files.config, {.n_threads = n_threads, .as_device = true});
  Model model = load_model(std::move(files), *backend);
  return Session(std::move(backend), std::move(model));
}

RunRequest request_of(std::vector<std::string> lanes, PromptMode mode, int n_prompt = 90, int n_generate = 60) {
  RunRequest request;
  request.prompt_ids = random_ids(n_prompt, 64, 5);
  request.lanes = std::move(lanes);
  request.mode = mode;
  request.n_generate = n_generate;
  request.detail = Detail::events;
  request.shadow = false;
  request.measures = MeasureSet::none();
  return request;
}

/// Policies by every score that a backend can find the lowest of, and by every merger that works on one slot at a time.
const std::vector<std::string> kKept = {
    "h2o:slots=20",
    "h2o:slots=20,group=max",
    "weightedkv:slots=20",
    "zeromerge:slots=24",
    "zeromerge:slots=24,residual=6,alpha=0.3",
    "keepkv:slots=20",
    "keepkv:slots=20,form=zip,threshold=0.2",
    "keepkv:slots=20,base=h2o,threshold=-1",
    "keepkv:slots=20,form=code,window=1",
    "custom:slots=20,stat=decayed,lambda=0.8",
    "custom:slots=20,stat=mean",
    "custom:slots=20,stat=window,window=7",
    "custom:slots=20,stat=ema_exp,merge=keepkv,bias=votes,threshold=0.1",
    "custom:slots=20,stat=sum,alloc=pyramid",
    "custom:slots=20,stat=sum,positions=cache",
    "custom:slots=20,stat=sum,drop=5",  // five at once: for that step on the host
    "roco:slots=20",
    "roco:slots=20,spread=4,recent=3,group=max",
    "roco:slots=20,spread=1.0,recent=0.5",
    "custom:slots=20,stat=mean,spread=6,drop=3",
    "knorm:slots=20",
    "custom:slots=20,stat=knorm,merge=weightedkv",
    "tova:slots=20",
    "pyramidinfer:slots=20",
    "custom:slots=20,stat=knorm,unit=layer",
    "custom:slots=20,stat=count,unit=layer,window=9",
    "custom:slots=20,stat=sum,unit=layer,drop=3",
    "scissorhands:slots=20",
    "scissorhands:slots=20,window=40",
    "scissorhands:slots=20,window=7,drop=4",
    "snapkv:slots=20,refresh=1",
    "snapkv:slots=20,refresh=1,pool=avg,kernel=5",
    "snapkv:slots=24,refresh=4,window=3",
    "snapkv:slots=20,refresh=1,window=0,sinks=4",
    "pyramidkv:slots=20,refresh=1",
    "keepkv:slots=20,base=snapkv",
    "custom:slots=20,stat=pooled,cadence=every_step,unit=layer,window=4",
};

/// What cannot be kept is on the host as ever, beside what is.
const std::vector<std::string> kOnHost = {"d2o:slots=20",
                                          "streaming:slots=20",
                                          "keydiff:slots=20",
                                          "adakv:slots=20,refresh=1",
                                          "criticalkv:slots=20,refresh=1",
                                          "keepkv:slots=20,base=pyramidinfer",
                                          "custom:slots=20,stat=score,score=sum * knorm",
                                          "custom:slots=20,stat=sum,unit=layer,merge=weightedkv",
                                          "custom:slots=20,stat=ema_exp,unit=layer",
                                          "custom:slots=24,stat=mean,spread=6,select=context,merge=zeromerge"};

/// Both may be "not available".
bool near(double x, double y) { return std::isnan(x) ? std::isnan(y) : std::abs(x - y) <= 1e-9 * (1 + std::abs(x)); }

void expect_same_decisions(const Snapshot& a, const Snapshot& b) {
  ASSERT_EQ(a.lanes.size(), b.lanes.size());
  for (std::size_t l = 0; l < a.lanes.size(); ++l) {
    const LaneSnapshot &x = a.lanes[l], &y = b.lanes[l];
    ASSERT_EQ(x.steps.size(), y.steps.size());
    for (std::size_t s = 0; s < x.steps.size(); ++s) {
      EXPECT_TRUE(near(x.steps[s]->nll, y.steps[s]->nll)) << x.spec << " step " << s;
      for (std::size_t h = 0; h < x.steps[s]->heads.size(); ++h) {
        const HeadRecord &p = x.steps[s]->heads[h], &q = y.steps[s]->heads[h];
        ASSERT_TRUE(same_decision(p, q)) << x.spec << " step " << s << " layer " << p.layer << " head " << p.kv_head;
        for (std::size_t e = 0; e < p.events.size(); ++e) {
          EXPECT_TRUE(near(p.events[e].score, q.events[e].score)) << x.spec << ": " << p.events[e].score << ", " << q.events[e].score;
          EXPECT_TRUE(near(p.events[e].w_removed, q.events[e].w_removed)) << x.spec;
          EXPECT_TRUE(near(p.events[e].cos, q.events[e].cos)) << x.spec;
          EXPECT_TRUE(near(p.events[e].gamma, q.events[e].gamma)) << x.spec;
        }
      }
    }
  }
}

struct Case {
  const char* folder;
  PromptMode mode;
};

class KeptNumbersRuns : public ::testing::TestWithParam<Case> {};

TEST_P(KeptNumbersRuns, DecideAsOnTheHost) {
  const std::string folder = in_checkout("tests/golden/") + GetParam().folder;
  Session on_host = open_session(folder), keeping = session_that_keeps(folder);
  for (const std::vector<std::string>& lanes : {kKept, kOnHost}) {
    const RunRequest request = request_of(lanes, GetParam().mode);
    expect_same_decisions(run(on_host, request), run(keeping, request));
  }
}

INSTANTIATE_TEST_SUITE_P(All, KeptNumbersRuns,
                         ::testing::Values(Case{"tiny-gqa", PromptMode::prefill}, Case{"tiny-gqa", PromptMode::stream},
                                           Case{"tiny-mha", PromptMode::prefill}, Case{"tiny-mha", PromptMode::stream}));

// Where layers are finished together after the whole pass, any thread may take any of them.
TEST(KeptNumbers, ThreadsChangeNothing) {
  std::vector<std::string> all = kKept;
  all.insert(all.end(), kOnHost.begin(), kOnHost.end());
  all.push_back("keepkv:slots=20@evict=88,step=40");
  for (const Detail detail : {Detail::events, Detail::why}) {
    RunRequest request = request_of(all, PromptMode::prefill, 60, 30);
    request.detail = detail;
    request.shadow = detail == Detail::why;
    if (detail == Detail::why) request.measures = {};
    Session alone = session_that_keeps(tiny_model()), together = session_that_keeps(tiny_model(), 3), on_host = open_session(tiny_model());
    const Snapshot one = run(alone, request), three = run(together, request), host = run(on_host, request);
    expect_same_decisions(one, three);
    expect_same_decisions(host, three);
    for (std::size_t l = 0; l < one.lanes.size() && detail == Detail::why; ++l)
      for (std::size_t s = 0; s < one.lanes[l].steps.size(); ++s)
        for (std::size_t h = 0; h < one.lanes[l].steps[s]->heads.size(); ++h) {
          const HeadRecord &a = one.lanes[l].steps[s]->heads[h], &b = three.lanes[l].steps[s]->heads[h], &c = host.lanes[l].steps[s]->heads[h];
          for (double HeadRecord::*figure : {&HeadRecord::local_rel_l2, &HeadRecord::local_l1_wo, &HeadRecord::attention_loss, &HeadRecord::theta,
                                             &HeadRecord::compress_rel_l2, &HeadRecord::predictor_error}) {
            EXPECT_TRUE(near(a.*figure, b.*figure)) << one.lanes[l].spec << " step " << s;
            EXPECT_TRUE(near(a.*figure, c.*figure)) << one.lanes[l].spec << " step " << s << ": " << a.*figure << ", " << c.*figure;
          }
        }
  }
}

std::unique_ptr<Policy> policy_of(const std::string& spec, const ModelConfig& config) {
  return Policy::make({.spec = spec, .model = &config, .n_prompt = 90});
}

TEST(KeptNumbers, ArePlannedForThesePoliciesAndNoOthers) {
  const ModelConfig config = open_model(tiny_model()).config;
  for (const std::string& spec : kKept) EXPECT_TRUE(policy_of(spec, config)->number_rules(0)) << spec;
  for (const std::string& spec : kOnHost) EXPECT_FALSE(policy_of(spec, config)->number_rules(0)) << spec;
  EXPECT_FALSE(policy_of("keepkv:slots=20,predict=window", config)->number_rules(0));
  EXPECT_FALSE(policy_of("keepkv:slots=20,reload=8", config)->number_rules(0));
  EXPECT_FALSE(policy_of("snapkv:slots=20", config)->number_rules(0)) << "nothing comes after the prompt";
  EXPECT_FALSE(policy_of("tova:slots=20@slots=30,layers=0,heads=1", config)->number_rules(0)) << "heads of a layer hold different slots";
}

/// Every two choices of a composition that can be together and whose statistics a backend may keep.
std::vector<std::string> kept_compositions(const ModelConfig& config, PromptMode mode, int n_prompt) {
  std::vector<std::string> out;
  const std::span<const PartKey> keys = part_keys();
  for (std::size_t a = 0; a < keys.size(); ++a)
    for (std::size_t b = a + 1; b < keys.size(); ++b)
      for (const PartChoice& x : keys[a].choices)
        for (const PartChoice& y : keys[b].choices) {
          const std::string spec = "custom:slots=12," + keys[a].key + "=" + x.value + "," + keys[b].key + "=" + y.value;
          try {
            if (Policy::make({.spec = spec, .model = &config, .n_prompt = n_prompt, .mode = mode})->number_rules(0)) out.push_back(spec);
          } catch (const UsageError&) {  // they contradict each other
          }
        }
  return out;
}

TEST(KeptNumbers, DecideAsOnTheHostHoweverAPolicyIsComposed) {
  constexpr int kPrompt = 24;
  const ModelConfig config = open_model(tiny_model()).config;
  for (const PromptMode mode : {PromptMode::prefill, PromptMode::stream}) {
    const std::vector<std::string> lanes = kept_compositions(config, mode, kPrompt);
    EXPECT_GT(lanes.size(), 100u);
    Session on_host = open_session(tiny_model()), keeping = session_that_keeps(tiny_model());
    const RunRequest request = request_of(lanes, mode, kPrompt, 12);
    expect_same_decisions(run(on_host, request), run(keeping, request));
  }
}

// Runs that go on, are forked and change by hand: the statistics come back to the host where somebody looks at them.
TEST(KeptNumbers, AnEditByHandGoesOnFromWhatTheBackendKept) {
  Session on_host = open_session(tiny_model()), keeping = session_that_keeps(tiny_model());
  const std::vector<std::string> plain = {"keepkv:slots=20", "h2o:slots=20",  "zeromerge:slots=24",        "roco:slots=20",
                                          "knorm:slots=20",  "tova:slots=20", "scissorhands:slots=20,window=40", "snapkv:slots=20,refresh=1"};
  std::vector<std::string> edited;
  for (const std::string& spec : plain) edited.push_back(spec + "@evict=88,step=40");
  for (const auto& [lanes, n] : {std::pair(plain, 30), std::pair(plain, 38), std::pair(edited, 60), std::pair(plain, 60)}) {
    const RunRequest request = request_of(lanes, PromptMode::prefill, 90, n);
    expect_same_decisions(run(on_host, request), run(keeping, request));
  }
}

// What a prompt leaves goes to the backend as numbers and comes back as it was.
TEST(KeptNumbers, StatisticsComeBackAsTheyWent) {
  const StatNeeds needs{.sum = true, .sum_sq = true, .decayed = true, .lambda = 0.9, .residual = true, .hits = 70, .key_norm = true,
                        .rows = 5, .row_sums = RowSums::by_place, .z_rows = 4, .ema = true, .ema_alpha = 0.8};
  const int group = 2, n = 9;
  SlotState state;
  for (int i = 0; i < n; ++i) {
    append_slot(state, needs, group, i, 0.5 * i + 1);
    std::vector<double> a, z;
    for (int x = 0; x < group * (i + 1); ++x) {
      a.push_back(1.0 / (2 + x));
      z.push_back(0.3 * x - i);
    }
    observe_step(state, needs, group, a, z);
  }
  state.residual[3] = 1;
  state.extra[2] = 0.25;
  state.votes[2] = 3;
  SlotState moved = state;
  const NumberRules rules = *number_rules(needs, group, Bias::votes);
  const std::vector<double> rows = take_numbers(moved, needs, rules, group, Bias::votes, n);
  EXPECT_TRUE(moved.sum.empty() && moved.ema.empty() && moved.times.empty() && moved.rows.slots() == 0);
  EXPECT_EQ(moved.residual, state.residual);
  EXPECT_EQ(rows[2 * static_cast<std::size_t>(rules.width) + static_cast<std::size_t>(rules.bias)], bias_of(state, Bias::votes)[2]);
  give_numbers(moved, needs, rules, group, rows, n);
  EXPECT_EQ(moved.sum, state.sum);
  EXPECT_EQ(moved.sum_sq, state.sum_sq);
  EXPECT_EQ(moved.key_norm, state.key_norm);
  EXPECT_EQ(moved.decayed, state.decayed);
  EXPECT_EQ(moved.times, state.times);
  EXPECT_EQ(moved.ema, state.ema);
  EXPECT_EQ(moved.ema_n, state.ema_n);
  EXPECT_EQ(moved.votes, state.votes);
  EXPECT_EQ(moved.extra, state.extra);
  EXPECT_EQ(moved.rows.rows(), state.rows.rows());
  EXPECT_EQ(moved.rows.sums(), state.rows.sums());
  EXPECT_EQ(moved.rows.sums_by_place(), state.rows.sums_by_place());
}

void expect_same_hits(const HitHistory& a, const HitHistory& b) {
  ASSERT_EQ(a.rows(), b.rows());
  ASSERT_TRUE(std::ranges::equal(a.counts(), b.counts()));
  for (int i = 0; i < a.slots(); ++i)
    for (int r = 0; r < a.rows(); ++r) ASSERT_EQ(a.hit(i, r), b.hit(i, r)) << "slot " << i << " row " << r;
}

// Rings that are empty, short, full and wrapped, and what later steps make of them.
TEST(KeptNumbers, HitsComeBackAsTheyWentWheneverTheyGo) {
  for (const int window : {1, 5, 32, 33, 64, 70, 150}) {
    const StatNeeds needs{.sum = true, .hits = window};
    const NumberRules rules = *number_rules(needs, 1, Bias::none);
    SlotState state, moving;
    for (int step = 0; step < 160; ++step) {
      std::vector<double> a;
      for (int i = 0; i < std::min(step + 1, 6); ++i) a.push_back(((step * 7 + i * 13) % 10) * 0.05);
      for (SlotState* s : {&state, &moving}) {
        if (step < 6) append_slot(*s, needs, 1, step);
        observe_step(*s, needs, 1, a, {});
      }
      const std::vector<double> rows = take_numbers(moving, needs, rules, 1, Bias::none, step + 1);
      EXPECT_EQ(moving.hits.window(), 0);
      give_numbers(moving, needs, rules, 1, rows, step + 1);
      ASSERT_NO_FATAL_FAILURE(expect_same_hits(moving.hits, state.hits)) << "window " << window << " step " << step;
    }
  }
}

}  // namespace
}  // namespace kvscope
