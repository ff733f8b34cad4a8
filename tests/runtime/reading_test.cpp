// SPDX-License-Identifier: Apache-2.0
// What is told and shown of a prompt while it is read.
#include "runtime/session/reading.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <thread>

#include "backend/backend.h"
#include "policy/catalog.h"
#include "runs.h"
#include "runtime/model/model.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

TEST(TimeLeft, IsSaidInSecondsThenInMinutes) {
  EXPECT_EQ(time_left(1000, 0.1), "about 9 s");
  EXPECT_EQ(time_left(1000, 0.999), "about 1 s") << "never nothing";
  EXPECT_EQ(time_left(60000, 0.2), "about 4 min");
}

class ReadingTest : public ::testing::Test {
 protected:
  ReadingTest() {
    ModelFiles files = open_model(tiny_model());
    backend = make_cpu_backend(DType::f32, files.config, {.n_threads = 1});
    model = load_model(std::move(files), *backend);
    forward.emplace(*backend, model);
  }
  /// A prompt of so many pieces and some tokens more.
  std::vector<int> text(int pieces) const { return random_ids(pieces * backend->prompt_rows() + 5, model.config().vocab_size, 3); }

  std::unique_ptr<Backend> backend;
  Model model;
  std::optional<Forward> forward;
};

TEST_F(ReadingTest, SaysTokensAndLayersAndRisesToItsEnd) {
  const std::vector<int> ids = text(3);
  PromptRun prompt(*backend, model);
  const int n = static_cast<int>(ids.size()), rows = backend->prompt_rows();
  Reading reading(model.config(), prompt, n, DType::f32, {}, {.tell = 0});
  std::vector<double> shares;
  std::vector<std::string> words;
  prompt.update(ids, {}, *forward, CancelToken(), [&](int layer) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    reading.layer_done(layer);
    shares.push_back(reading.share());
    words.push_back(reading.words());
  });
  ASSERT_EQ(static_cast<int>(shares.size()), 4 * model.config().n_layers);
  EXPECT_TRUE(std::ranges::is_sorted(shares));
  EXPECT_GT(shares.front(), 0);
  EXPECT_EQ(shares.back(), 1);
  EXPECT_EQ(words[0], "prompt, " + std::to_string(rows) + " of " + std::to_string(n) + " tokens, layer 1 of " +
                          std::to_string(model.config().n_layers) + ", about 1 s of reading left");
}

TEST_F(ReadingTest, AfterAnEditItCountsWhatIsReadAgainOnly) {
  std::vector<int> ids = text(6);
  PromptRun prompt(*backend, model);
  prompt.update(ids, {}, *forward, CancelToken(), {});
  ids.back() = (ids.back() + 1) % model.config().vocab_size;
  Reading reading(model.config(), prompt, static_cast<int>(ids.size()), DType::f32, {});
  std::vector<double> shares;
  prompt.update(ids, {}, *forward, CancelToken(), [&](int layer) {
    reading.layer_done(layer);
    shares.push_back(reading.share());
  });
  ASSERT_EQ(static_cast<int>(shares.size()), model.config().n_layers) << "one piece";
  EXPECT_NEAR(shares.front(), 1.0 / model.config().n_layers, 0.01) << "not the share of the whole text";
}

class ReadingPictures : public ReadingTest {
 protected:
  /// Reads the text with pictures as fast as they come.
  std::vector<Snapshot> pictures(Reading::Screen screen, const Reading::Pace& pace, int pieces = 5, int pieces_before = 0) {
    const std::vector<int> ids = text(pieces);
    PromptRun prompt(*backend, model);
    if (pieces_before > 0) {  // the text with another end was read before
      std::vector<int> other = ids;
      std::fill(other.begin() + pieces_before * backend->prompt_rows() + 2, other.end(), 1);
      prompt.update(other, {}, *forward, CancelToken(), {});
    }
    Reading reading(model.config(), prompt, static_cast<int>(ids.size()), DType::f32, {}, pace);
    std::vector<Snapshot> out;
    const auto lanes = [] {
      Snapshot s;
      s.phase = RunPhase::computing;
      s.lanes.resize(3);
      s.lanes[1].steps = {std::make_shared<const StepRecord>()};  // a run that is there already
      return s;
    };
    reading.show_to([&](Snapshot s) { out.push_back(std::move(s)); }, lanes, screen);
    prompt.update(ids, {}, *forward, CancelToken(), [&](int layer) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));  // pictures cost a small share of the time
      reading.layer_done(layer);
      attention.assign(prompt.last_attention(0).begin(), prompt.last_attention(0).end());
      if (!out.empty() && out.size() > of.size()) of.resize(out.size(), attention);
    });
    return out;
  }
  std::vector<double> attention;
  std::vector<std::vector<double>> of;  // layer 0's, when each picture was made
};

TEST_F(ReadingPictures, GrowWithTheTokensThatEveryHeadHasRead) {
  const std::vector<Snapshot> shown = pictures(Reading::Screen::text, {.tell = 0, .show = 0, .show_left = 0, .every = 0});
  ASSERT_GE(shown.size(), 2u);
  int before = 0;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const Snapshot& s = shown[i];
    EXPECT_NE(s.activity.find("tokens"), std::string::npos) << s.activity;
    EXPECT_EQ(s.lanes[1].steps.front()->heads.size(), 0u) << "a run that was there stays as it was";
    for (const int lane : {0, 2}) {
      ASSERT_EQ(s.lanes[static_cast<std::size_t>(lane)].steps.size(), 1u);
      const StepRecord& step = *s.lanes[static_cast<std::size_t>(lane)].steps.front();
      ASSERT_EQ(static_cast<int>(step.heads.size()), model.config().n_layers * model.config().n_kv_heads);
      EXPECT_LT(step.top1, 0) << "no next token is known";
      EXPECT_TRUE(std::isnan(step.kl));
      for (const HeadRecord& head : step.heads) {
        EXPECT_EQ(head.n_slots, step.position + 1);
        EXPECT_NEAR(std::accumulate(head.attention.begin(), head.attention.end(), 0.0), 1, 1e-5) << "of the newest token read";
        EXPECT_EQ(head.attended.size(), head.attention.size());
      }
    }
    const StepRecord& step = *s.lanes[0].steps.front();
    EXPECT_EQ(s.lanes[0].fates->n_tokens, static_cast<int>(text(5).size())) << "what is to come has its place on the axis";
    EXPECT_EQ(s.lanes[0].kv_bytes, 2.0 * sizeof(float) * model.config().n_layers * model.config().kv_dim() * (step.position + 1));
    EXPECT_GT(step.position, before);
    before = step.position;
    const std::size_t n = static_cast<std::size_t>(step.position) + 1;
    double mean = 0;
    for (int g = 0; g < model.config().group(); ++g) mean += of[i][static_cast<std::size_t>(g) * n] / model.config().group();
    EXPECT_NEAR(step.heads[0].attention[0], mean, 1e-6);
  }
}

TEST_F(ReadingPictures, BeginWithTheTextWhereNothingOfTheModelWasShown) {
  const std::vector<Snapshot> shown = pictures(Reading::Screen::nothing, {.show = 1e9});
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_TRUE(shown[0].lanes.empty());
  EXPECT_EQ(shown[0].progress, 0) << "nothing of it is done";
}

TEST_F(ReadingPictures, AreLeftOutWhereTheTextIsSoonRead) {
  EXPECT_TRUE(pictures(Reading::Screen::text, {.show = 0, .show_left = 1e9, .every = 0}).empty());
}

TEST_F(ReadingPictures, DoNotTakeThePlaceOfResultsForTheEndOfAText) {
  const Reading::Pace fast{.tell = 0, .show = 0, .show_left = 0, .every = 0};
  const int pieces = 16;
  EXPECT_TRUE(pictures(Reading::Screen::results, fast, pieces, /*pieces_before=*/15).empty());
  EXPECT_FALSE(pictures(Reading::Screen::results, fast, pieces, /*pieces_before=*/4).empty()) << "most of it is another text";
  EXPECT_FALSE(pictures(Reading::Screen::results, fast, pieces).empty());
  EXPECT_FALSE(pictures(Reading::Screen::text, fast, pieces, /*pieces_before=*/14).empty()) << "there is nothing better on screen";
}

TEST(SessionReading, ShowsModelAndTextBeforeThePromptIsRead) {
  Session session = open_session(tiny_model());
  RunRequest request;
  request.prompt_ids = random_ids(200, 64, 1);
  request.lanes = parse_lane_specs({reference_policy(), "h2o:slots=12"});
  std::vector<Snapshot> shown;
  std::size_t told = 0, shown_before = 0;
  const auto publish = [&](Snapshot s) { shown.push_back(std::move(s)); };
  const auto progress = [&](const std::string&, double) {
    if (told++ == 0) shown_before = shown.size();
  };
  session.run(request, {}, progress, publish);
  ASSERT_EQ(shown_before, 1u);
  EXPECT_EQ(shown[0].phase, RunPhase::computing);
  EXPECT_EQ(shown[0].model.n_layers, session.config().n_layers);
  EXPECT_EQ(shown[0].tokens.size(), 200u);
  EXPECT_TRUE(shown[0].lanes.empty());
  const std::size_t n = shown.size();
  request.prompt_ids.back() = 1;
  told = 0;
  session.run(request, {}, progress, publish);
  EXPECT_EQ(shown_before, n) << "after an edit the picture that was there stays until there is a better one";
}

TEST(DropUnread, LeavesNoRunOfATextThatWasNotReadToItsEnd) {
  auto unread = std::make_shared<StepRecord>();
  unread->top1 = -1;
  const auto whole = std::make_shared<const StepRecord>();
  Snapshot one;
  one.lanes.resize(3);
  one.lanes[0].steps = one.lanes[1].steps = {whole};
  one.lanes[2].steps = {unread};
  drop_unread(one);
  EXPECT_EQ(one.lanes.size(), 2u);
  Snapshot all;
  all.lanes.resize(2);
  all.lanes[1].steps = {whole};
  all.lanes[0].steps = {unread};
  drop_unread(all);
  EXPECT_TRUE(all.lanes.empty()) << "without the full cache there is nothing to hold the others against";
}

/// A cheap policy's layers say little of how long a dear one's take.
TEST(CompressionProgressTest, ALayerCountsForWhatItsPolicyTookTheLastTime) {
  const std::vector<std::string> policies = {"dear", "cheap", "new"};
  CompressionProgress progress(policies, 10, {{"dear", 900}, {"cheap", 100}, {"other", 1e9}});
  EXPECT_EQ(progress.share(), 0);
  EXPECT_EQ(progress.words(), "prompt, compressing, layer 0 of 30");
  for (int i = 0; i < 10; ++i) progress.layer_done("cheap");
  EXPECT_NEAR(progress.share(), 100.0 / 1500, 1e-12);
  for (int i = 0; i < 10; ++i) progress.layer_done("new");
  EXPECT_NEAR(progress.share(), 600.0 / 1500, 1e-12) << "as much as the two take on average";
  for (int i = 0; i < 10; ++i) progress.layer_done("dear");
  EXPECT_EQ(progress.share(), 1);

  CompressionProgress unknown(policies, 2, {});
  unknown.layer_done("new");
  EXPECT_NEAR(unknown.share(), 1.0 / 6, 1e-12) << "all alike";
}

}  // namespace
}  // namespace kvscope
