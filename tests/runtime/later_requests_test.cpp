// SPDX-License-Identifier: Apache-2.0
// Whatever was asked of a session before, it answers as a fresh one does: random requests, each made of the one before by a change or two.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "core/error.h"
#include "policy/text/lane_edits.h"
#include "runs.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

constexpr const char* kRuns[] = {
    "h2o:slots=6",       "h2o:ratio=0.1", "streaming:ratio=0.3",  "keepkv:slots=7",     "snapkv:slots=8,window=3",
    "zeromerge:slots=7", "kivi",          "scissorhands:slots=6", "weightedkv:slots=7", "best:slots=6"};
constexpr const char* kEdits[] = {"full@evict=3,step=1", "full@evict=2-4,step=2@restore=3,step=3", "full@pin=5",
                                  "full@merge=4,into=2,step=1", "full@slots=4,layers=0,heads=1"};

class Asking {
 public:
  explicit Asking(unsigned seed) : random_(seed) {
    request.prompt_ids = random_ids(18, 64, seed);
    request.lanes = parse_lane_specs({"full", "h2o:slots=6", "keepkv:slots=7"});
    request.n_generate = 6;
  }
  void change() {
    std::vector<int>& ids = request.prompt_ids;
    std::vector<LaneSpec>& runs = request.lanes;
    switch (below(13)) {
      case 0:
        ids[static_cast<std::size_t>(below(static_cast<int>(ids.size())))] = below(64);
        break;
      case 1:
        for (int n = 1 + below(5); n > 0 && ids.size() < 40; --n) ids.push_back(below(64));
        break;
      case 2:
        ids.resize(std::max<std::size_t>(8, ids.size() - static_cast<std::size_t>(below(6))));
        break;
      case 3:
      case 4:
        if (runs.size() < 6) runs.push_back(parse_lane_spec(kRuns[below(static_cast<int>(std::size(kRuns)))]));
        break;
      case 5:
        if (runs.size() > 1) runs.erase(runs.begin() + 1 + below(static_cast<int>(runs.size()) - 1));
        break;
      case 6:
        if (runs.size() > 2) std::swap(runs[1], runs.back());
        break;
      case 7:
        request.n_generate = below(12);
        break;
      case 8:
        request.follow = request.follow == Follow::self ? Follow::reference : Follow::self;
        break;
      case 9:
        request.temperature = below(2) * 0.8;
        request.seed = static_cast<std::uint64_t>(below(3));
        break;
      case 10:
        request.ignore_end = !request.ignore_end;
        break;
      case 11:
        request.mode = request.mode == PromptMode::stream ? PromptMode::prefill : PromptMode::stream;
        break;
      default:
        if (runs.size() > 1 && runs.size() < 6)
          runs.push_back(with_edits(runs[static_cast<std::size_t>(1 + below(static_cast<int>(runs.size()) - 1))],
                                    edits_of(kEdits[below(static_cast<int>(std::size(kEdits)))])));
    }
  }
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  RunRequest request;

 private:
  std::mt19937 random_;
};

Session open() {
  ModelFiles model = open_model(tiny_model());
  model.end_ids = {3, 17, 40};
  return Session(std::move(model), {.precision = DType::f64, .n_threads = 1});
}

/// What cannot be asked is refused by both in the same words.
std::pair<Snapshot, std::string> answer(Session& session, const RunRequest& request) try {
  return {run(session, request), ""};
} catch (const Error& e) {
  return {Snapshot{}, e.what()};
}

class LaterRequests : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Random, LaterRequests, ::testing::Range(1u, 13u));

TEST_P(LaterRequests, AreAnsweredAsByAFreshSession) {
  Asking asking(GetParam());
  Session session = open();
  std::string before;
  for (int n = 0; n < 30 && !HasFailure(); ++n) {
    for (int changes = 1 + asking.below(2); n > 0 && changes > 0; --changes) asking.change();
    const RunRequest& r = asking.request;
    std::string asked =
        fmt::format("{} tokens + {}, {}, follow {}, temperature {}, seed {}, ignore_end {}:", r.prompt_ids.size(), r.n_generate,
                    r.mode == PromptMode::stream ? "stream" : "prefill", name_of(r.follow), r.temperature, r.seed, r.ignore_end);
    for (const LaneSpec& spec : r.lanes) asked += " " + spec.text;
    SCOPED_TRACE(fmt::format("request {}: {}\nafter: {}", n, asked, before));
    Session fresh = open();
    const auto [got, refused] = answer(session, r);
    const auto [want, refused_anew] = answer(fresh, r);
    EXPECT_EQ(refused, refused_anew);
    EXPECT_EQ(got.notice, want.notice);
    expect_same_run(got, want);
    for (std::size_t l = 0; l < std::min(got.lanes.size(), want.lanes.size()); ++l) {
      ASSERT_EQ(got.lanes[l].warnings.size(), want.lanes[l].warnings.size()) << got.lanes[l].spec;
      for (std::size_t w = 0; w < want.lanes[l].warnings.size(); ++w) {
        EXPECT_EQ(got.lanes[l].warnings[w].kind, want.lanes[l].warnings[w].kind) << got.lanes[l].spec;
        for (const auto number : {&LaneWarning::count, &LaneWarning::asked, &LaneWarning::got})
          expect_same_number(got.lanes[l].warnings[w].*number, want.lanes[l].warnings[w].*number, got.lanes[l].spec + " warning");
      }
    }
    before = std::move(asked);
  }
}

}  // namespace
}  // namespace kvscope
