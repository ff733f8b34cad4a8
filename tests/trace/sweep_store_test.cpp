// SPDX-License-Identifier: Apache-2.0
#include "trace/sweep_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <set>

#include "core/error.h"
#include "io/files.h"
#include "io/temp_folder.h"

namespace kvscope {
namespace {

using test::message_of;
using test::TempFolder;
using ::testing::HasSubstr;
using ::testing::Not;

SweepItem item() {
  return {.model_hash = std::string(64, 'a'),
          .text_hash = std::string(64, 'b'),
          .run = "x:ratio=0.1",
          .seed = 3,
          .settings = "f32",
          .model = "m",
          .policy = "x",
          .text = 2,
          .ratio = 0.1};
}

SweepResult result() {
  SweepResult out;
  for (std::size_t i = 0; i < out.figures.size(); ++i) out.figures[i] = 0.1 * static_cast<double>(i) + 1.0 / 3;
  out.figures[1] = std::numeric_limits<double>::quiet_NaN();
  out.figures[2] = std::numeric_limits<double>::denorm_min();
  out.said = "\"sha256\":\" 123\n\xff\x01";
  out.answer = {.n_tokens = 3,
                .n_layers = 1,
                .n_kv_heads = 2,
                .after_prompt = {.kept = {3, 1}, .merged = {0, 2}},
                .at_end = {.kept = {2, 0}, .merged = {1, 1}}};
  out.warnings = {{.kind = LaneWarning::Kind::budget_raised, .asked = 1, .got = 2, .n_heads = 4}};
  return out;
}

TEST(SweepStore, GivesBackTheSameBits) {
  const TempFolder folder;
  const SweepStore store(folder / "new");
  std::string problem;
  EXPECT_FALSE(store.find(item(), &problem));
  store.put(item(), result());
  const auto got = store.find(item(), &problem);
  ASSERT_TRUE(got) << problem;
  for (std::size_t i = 0; i < got->figures.size(); ++i) {
    if (i == 1)
      EXPECT_TRUE(std::isnan(got->figures[i])) << "n/a is not 0";
    else
      EXPECT_EQ(got->figures[i], result().figures[i]) << kSweepFigures[i];
  }
  EXPECT_THAT(got->said, HasSubstr("\"sha256\":\" 123\n"));
  EXPECT_EQ(got->answer, result().answer);
  EXPECT_EQ(got->warnings, result().warnings);
  EXPECT_EQ(read_sweep_result(sweep_result_json(result()), "f").warnings, result().warnings) << "of another process";
  EXPECT_EQ(problem, "");
  EXPECT_EQ(read_sweep_result(sweep_result_json(result()), "f").answer, result().answer);
  EXPECT_EQ(read_sweep_result(sweep_result_json(result()), "f").figures[2], result().figures[2]);
}

TEST(SweepStore, WhatSaysNothingOfTheAnswersIsReadAndWhatCannotBeIsRefused) {
  SweepResult without = result();
  without.answer = {};
  const std::string old = sweep_item_json(item(), without);
  EXPECT_THAT(old, Not(HasSubstr("answer"))) << "as an earlier version wrote it";
  EXPECT_FALSE(read_sweep_item(old, item().key(), "f").answer.known());
  const auto refused = [](auto change) {
    SweepResult wrong = result();
    change(wrong.answer);
    return message_of<Error>([&] { (void)read_sweep_result(sweep_result_json(wrong), "f"); });
  };
  EXPECT_THAT(refused([](AnswerFates& a) { a.at_end.kept.pop_back(); }), HasSubstr("2 numbers"));
  EXPECT_THAT(refused([](AnswerFates& a) { a.n_layers = 2; }), HasSubstr("4 numbers"));
  EXPECT_THAT(refused([](AnswerFates& a) { a.n_layers = 1 << 20; }), HasSubstr("layers"));
  EXPECT_THAT(refused([](AnswerFates& a) { a.after_prompt.kept[0] = 4; }), HasSubstr("kept"));
  EXPECT_THAT(refused([](AnswerFates& a) { a.after_prompt.merged[1] = 3; }), HasSubstr("merged")) << "more than are left";
}

TEST(SweepStore, TheKeyIsOfEverythingThatDecidesAndOfNothingElse) {
  std::set<std::string> keys = {item().key()};
  const auto with = [](auto change) {
    SweepItem out = item();
    change(out);
    return out.key();
  };
  for (const std::string& key : {with([](SweepItem& i) { i.model_hash[0] = 'c'; }), with([](SweepItem& i) { i.text_hash[0] = 'c'; }),
                                 with([](SweepItem& i) { i.run = "x:ratio=0.2"; }), with([](SweepItem& i) { i.seed = 4; }),
                                 with([](SweepItem& i) { i.settings = "f64"; })})
    EXPECT_TRUE(keys.insert(key).second);
  EXPECT_EQ(with([](SweepItem& i) { i.model = "other", i.policy = "y", i.text = 7, i.ratio = 0.5; }), item().key());
  // texts that run into each other are not the same
  SweepItem a = item(), b = item();
  a.run = "x\",\"y", a.settings = "z";
  b.run = "x", b.settings = "y\",\"z";
  EXPECT_NE(a.key(), b.key());
}

TEST(SweepStore, EveryPieceAndEveryChangedByteOfAnItemIsRefusedWithASentence) {
  const std::string whole = sweep_item_json(item(), result());
  EXPECT_NO_THROW(read_sweep_item(whole, item().key(), "f"));
  for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_THROW(read_sweep_item(whole.substr(0, n), item().key(), "f"), Error) << n;
  std::mt19937 random(1);
  for (std::size_t n = 0; n < whole.size(); ++n) {
    std::string changed = whole;
    changed[n] = static_cast<char>(changed[n] ^ static_cast<char>(1 + random() % 255));
    EXPECT_THAT(message_of<Error>([&] { read_sweep_item(changed, item().key(), "f"); }), HasSubstr("f: ")) << n;
  }
  SweepItem other = item();
  other.seed = 9;
  EXPECT_THAT(message_of<Error>([&] { read_sweep_item(whole, other.key(), "f"); }), HasSubstr("key"));
}

TEST(SweepStore, ALinkInAnItemsPlaceIsNotWrittenThrough) {
  const TempFolder folder;
  const SweepStore store(folder / "s");
  const std::string victim = folder.write("victim", "precious");
  std::filesystem::create_symlink(victim, store.path_of(item()));
  std::string problem;
  EXPECT_THAT(message_of<Error>([&] { (void)store.find(item(), &problem); }), HasSubstr("a link"));
  EXPECT_EQ(read_text(victim), "precious");
}

TEST(SweepStore, WhatIsNoFolderIsSaid) {
  const TempFolder folder;
  EXPECT_THAT(message_of<Error>([&] { SweepStore(folder.write("f", "x")); }),
              HasSubstr("expected a folder for the sweep, got a regular file"));
  EXPECT_THAT(message_of<Error>([&] { SweepStore(folder / "none/s"); }), HasSubstr("cannot be made"));
}

}  // namespace
}  // namespace kvscope
