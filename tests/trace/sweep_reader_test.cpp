// SPDX-License-Identifier: Apache-2.0
// A store of a sweep as somebody reads it who did not begin it, and the bands over its items.
#include "trace/sweep_reader.h"

#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "io/files.h"
#include "io/temp_folder.h"
#include "trace/sweep_bands.h"
#include "trace/sweep_store.h"

namespace kvscope {
namespace {

using test::message_of;
using test::TempFolder;
using ::testing::HasSubstr;

constexpr double kNone = kNotAvailable;

SweepResult with(double score, double kl) {
  SweepResult out;
  out.figures.fill(kNone);
  out.figures[sweep_figure("score")] = score;
  out.figures[sweep_figure("kl")] = kl;
  return out;
}

/// Three runs, two texts, two seeds.
struct Sweep {
  Sweep() {
    contents.model = "m";
    contents.how = "compressed once";
    contents.command = "kvscope-cli sweep --texts 'a b'";
    contents.runs = {{"full", "full", 1, 0}, {"x", "x:ratio=0.1", 0.1, 1}, {"y", "y:ratio=0.1", 0.1, 1}};
    contents.texts = {{1, 0.25}, {4, kNone}};
    contents.seeds = {0, ~std::uint64_t{0}};
    for (const auto& text : contents.texts)
      for (const std::uint64_t seed : contents.seeds)
        for (const auto& run : contents.runs) {
          items.push_back({.model_hash = "h", .text_hash = std::to_string(text.number), .run = run.spec, .seed = seed, .settings = "s"});
          contents.keys.push_back(items.back().key());
        }
  }
  SweepContents contents;
  std::vector<SweepItem> items;
};

TEST(SweepBands, AreOfTheItemsThatAreThereAndPairsOfTheSameTextAndSeed) {
  const std::vector<std::size_t> beside = {0, 1, 1};
  const std::vector<std::optional<SweepResult>> results = {
      with(1, 0), with(0, 3),     with(1, 1),      // ahead by score
      with(1, 0), with(0.5, 9),   with(0.5, 2),    // alike by score: KL decides nothing
      with(1, 0), with(kNone, 1), with(kNone, 2),  // behind by KL
      with(1, 0), std::nullopt,   with(1, 4),      // nothing to compare with
  };
  const std::vector<SweepBand> bands = sweep_bands(beside, 1, results);
  ASSERT_EQ(bands.size(), 3u);
  EXPECT_EQ(bands[0].compared, 0u);
  EXPECT_EQ(bands[1].n, 3u);
  EXPECT_EQ(bands[1].compared, 0u) << "nobody is better than itself";
  EXPECT_EQ(bands[1].figure("score").n, 2) << "n/a is not 0";
  EXPECT_DOUBLE_EQ(bands[1].figure("score").mean(), 0.25);
  EXPECT_DOUBLE_EQ(bands[1].figure("kl").mean(), (3.0 + 9 + 1) / 3);
  EXPECT_EQ(bands[1].figure("kl").max, 9);
  EXPECT_TRUE(std::isnan(bands[1].figure("nll").mean()));
  EXPECT_EQ(bands[2].n, 4u);
  EXPECT_EQ(bands[2].better, 1u);
  EXPECT_EQ(bands[2].worse, 1u);
  EXPECT_EQ(bands[2].compared, 3u);
}

TEST(SweepBands, CountATextOnceWhereAllItsSeedsGaveTheSame) {
  const std::vector<std::size_t> beside = {0, 1, 1, 1};
  const std::vector<std::optional<SweepResult>> results = {
      with(1, 0), with(0, 3), with(1, 1),   with(1, 1),    // a text, seed by seed; the last run draws lots
      with(1, 0), with(0, 3), with(1, 1),   with(0, 3),    //
      with(1, 0), with(0, 3), with(1, 1),   with(1, 4),    //
      with(1, 0), with(1, 9), with(0, 2),   with(1, 2),    // another one
      with(1, 0), with(1, 9), with(0, 2),   with(1, 2),    //
      with(1, 0), with(1, 9), std::nullopt, std::nullopt,  // not there yet
  };
  const std::vector<SweepBand> bands = sweep_bands(beside, 3, results);
  EXPECT_EQ(bands[2].n, 5u);
  EXPECT_TRUE(bands[1].seeds_alike && bands[2].seeds_alike);
  EXPECT_EQ(words_of_pairs(bands[2]), "better on 1 of 2 texts (all seeds alike), worse on 1");
  EXPECT_FALSE(bands[3].seeds_alike);
  EXPECT_EQ(words_of_pairs(bands[3]), "better on 2 of 5, worse on 0") << "seed by seed";
  EXPECT_EQ(words_of_pairs(bands[1]), "");
  const std::vector<SweepBand> one = sweep_bands(beside, 1, results);
  EXPECT_FALSE(one[2].seeds_alike) << "of one seed nobody knows";
  EXPECT_EQ(words_of_pairs(one[2]), "better on 3 of 5, worse on 2");
  EXPECT_FALSE(sweep_bands(beside, 6, results)[2].seeds_alike);
}

TEST(SweepDepths, AreOfTheTextsWhoseAnswerHasAPlace) {
  SweepContents contents = Sweep().contents;
  contents.texts = {{1, 1.0}, {2, kNone}, {3, 0.19}};
  contents.seeds = {0};
  const std::vector<std::optional<SweepResult>> results = {with(1, 0), with(0.5, 0), std::nullopt,   with(1, 0), with(1, 0),
                                                           with(1, 0), with(1, 0),   with(kNone, 0), with(0, 0)};
  const auto depths = sweep_depths(contents, results);
  ASSERT_EQ(depths.size(), 3u);
  EXPECT_EQ(depths[1][4].n, 1) << "the end belongs to the last fifth";
  EXPECT_EQ(depths[1][4].mean(), 0.5);
  EXPECT_EQ(depths[1][0].n, 0) << "n/a is not 0";
  EXPECT_EQ(depths[2][0].mean(), 0);
  EXPECT_EQ(depths[2][4].n, 0) << "not there yet";
  for (const auto& run : depths)
    for (std::size_t d = 1; d < 4; ++d) EXPECT_EQ(run[d].n, 0);
}

TEST(SweepHeads, CountItemsByWhatBecameOfTheWholeAnswer) {
  const auto of = [](int n_tokens, std::vector<std::uint16_t> kept, std::vector<std::uint16_t> merged) {
    SweepResult out = with(1, 0);
    out.answer = {.n_tokens = n_tokens,
                  .n_layers = 2,
                  .n_kv_heads = 2,
                  .after_prompt = {std::move(kept), std::move(merged)},
                  .at_end = {{0, 0, 0, 0}, {0, 0, 0, 0}}};
    return out;
  };
  SweepResult other = of(1, {1, 1, 1, 1}, {0, 0, 0, 0});
  other.answer.n_layers = 1, other.answer.n_kv_heads = 4;
  const std::vector<std::optional<SweepResult>> results = {
      of(3, {3, 2, 2, 0}, {0, 1, 0, 3}),
      with(1, 0),  // nothing is known of it
      of(2, {2, 2, 0, 1}, {0, 0, 0, 0}),
      std::nullopt,  // not there yet
      other,
      with(1, 0),
  };
  const std::vector<SweepHeads> heads = sweep_heads(2, results);
  ASSERT_EQ(heads.size(), 2u);
  EXPECT_EQ(heads[0].n, 2u) << "one of other heads is none of them";
  EXPECT_EQ(heads[0].n_layers, 2);
  EXPECT_EQ(heads[0].n_kv_heads, 2);
  EXPECT_EQ(heads[0].after_prompt, (std::vector<HeadAnswers>{{2, 0, 0}, {1, 1, 0}, {0, 0, 2}, {0, 1, 1}}));
  EXPECT_EQ(heads[0].at_end, (std::vector<HeadAnswers>(4, {0, 0, 2})));
  EXPECT_EQ(heads[1].n, 0u);
  EXPECT_TRUE(heads[1].after_prompt.empty()) << "n/a is not 0";
}

TEST(SweepContentsFile, GivesBackWhatWasSaid) {
  const Sweep sweep;
  const SweepContents got = read_sweep_contents(sweep_contents_json(sweep.contents), "f");
  EXPECT_EQ(got.model, "m");
  EXPECT_EQ(got.how, sweep.contents.how);
  EXPECT_EQ(got.command, sweep.contents.command);
  ASSERT_EQ(got.runs.size(), 3u);
  EXPECT_EQ(got.runs[2].spec, "y:ratio=0.1");
  EXPECT_EQ(got.beside(), (std::vector<std::size_t>{0, 1, 1}));
  ASSERT_EQ(got.texts.size(), 2u);
  EXPECT_EQ(got.texts[0].depth, 0.25);
  EXPECT_TRUE(std::isnan(got.texts[1].depth));
  EXPECT_EQ(got.texts[1].number, 4);
  EXPECT_EQ(got.seeds, sweep.contents.seeds);
  EXPECT_EQ(got.keys, sweep.contents.keys);
  EXPECT_EQ(got.text_of(6).number, 4);
}

TEST(SweepContentsFile, WhatDoesNotFitTogetherIsRefusedWithASentence) {
  const auto refused = [](auto change) {
    SweepContents c = Sweep().contents;
    change(c);
    return message_of<Error>([&] { (void)read_sweep_contents(sweep_contents_json(c), "f"); });
  };
  EXPECT_THAT(refused([](SweepContents& c) { c.keys.pop_back(); }), HasSubstr("12 keys"));
  EXPECT_THAT(refused([](SweepContents& c) { c.keys[3] = "../../../../etc/passwd"; }), HasSubstr("hexadecimal"));
  EXPECT_THAT(refused([](SweepContents& c) { c.runs[1].beside = 3; }), HasSubstr("beside"));
  EXPECT_THAT(refused([](SweepContents& c) { c.runs[1].ratio = 7; }), HasSubstr("ratio"));
  EXPECT_THAT(refused([](SweepContents& c) { c.texts[0].depth = 2; }), HasSubstr("depth"));
  EXPECT_THAT(refused([](SweepContents& c) { c.texts.clear(), c.keys.clear(); }), HasSubstr("keys"));
  EXPECT_THAT(refused([](SweepContents& c) { c.runs.clear(), c.keys.clear(); }), HasSubstr("run"));
  const std::string whole = sweep_contents_json(Sweep().contents);
  for (std::size_t n = 0; n + 1 < whole.size(); ++n) EXPECT_THROW(read_sweep_contents(whole.substr(0, n), "f"), Error) << n;
}

TEST(SweepReader, TakesWhatCameSinceAndCountsWhatIsMissing) {
  const TempFolder folder;
  const Sweep sweep;
  const SweepStore store(folder / "s");
  EXPECT_FALSE(SweepReader::is_store(store.folder()));
  EXPECT_THAT(message_of<Error>([&] { SweepReader{store.folder()}; }), HasSubstr("kvscope-cli sweep --store"));
  store.announce(sweep.contents);
  EXPECT_TRUE(SweepReader::is_store(store.folder()));
  SweepReader reader(store.folder());
  EXPECT_EQ(reader.results().size(), 12u);
  EXPECT_FALSE(reader.take(100).changed);
  store.put(sweep.items[0], with(1, 0));
  store.put(sweep.items[4], with(0.5, 2));
  store.put(sweep.items[5], with(0.5, 3));
  SweepReader::Taken taken = reader.take(2);
  EXPECT_TRUE(taken.changed);
  EXPECT_TRUE(taken.more);
  EXPECT_EQ(reader.n_there(), 2u);
  taken = reader.take(2);
  EXPECT_TRUE(taken.changed);
  EXPECT_FALSE(taken.more);
  EXPECT_EQ(reader.n_there(), 3u);
  ASSERT_TRUE(reader.results()[5]);
  EXPECT_EQ(reader.results()[5]->figure("kl"), 3);
  EXPECT_FALSE(reader.results()[1]);
  EXPECT_FALSE(reader.take(2).changed) << "nothing came";
}

TEST(SweepReader, BadItemsAreSaidAndReadAgainOnceTheyAreOthers) {
  const TempFolder folder;
  const Sweep sweep;
  const SweepStore store(folder / "s");
  store.announce(sweep.contents);
  SweepReader reader(store.folder());
  write_atomically(store.path_of(sweep.items[1]), "{\"schema\":");
  write_atomically(store.path_of(sweep.items[2]), sweep_item_json(sweep.items[3], with(1, 1)));  // another item's
  std::filesystem::create_symlink("/dev/zero", store.path_of(sweep.items[6]));
  ASSERT_EQ(::mkfifo(store.path_of(sweep.items[7]).c_str(), 0600), 0);
  std::filesystem::create_directory(store.path_of(sweep.items[8]));
  store.put(sweep.items[0], with(1, 0));
  EXPECT_TRUE(reader.take(100).changed);
  EXPECT_EQ(reader.n_there(), 1u);
  EXPECT_EQ(reader.problems().size(), 5u);
  EXPECT_THAT(reader.problems().at(2), HasSubstr("key"));
  EXPECT_THAT(reader.problems().at(6), HasSubstr("a link"));
  EXPECT_FALSE(reader.take(100).changed) << "known already";
  store.put(sweep.items[1], with(1, 2));
  std::filesystem::remove(store.path_of(sweep.items[6]));
  EXPECT_TRUE(reader.take(100).changed);
  EXPECT_EQ(reader.n_there(), 2u);
  EXPECT_EQ(reader.problems().size(), 3u);
}

TEST(SweepReader, OfSeveralSweepsTheOneThatBeganLastIsShown) {
  const TempFolder folder;
  const SweepStore store(folder / "s");
  SweepContents contents = Sweep().contents;
  store.announce(contents);
  for (const auto& entry : std::filesystem::directory_iterator(store.folder()))
    std::filesystem::last_write_time(entry.path(), std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  contents.model = "later";
  store.announce(contents);
  const SweepReader reader(store.folder());
  EXPECT_EQ(reader.contents().model, "later");
  EXPECT_EQ(reader.n_sweeps(), 2u);
}

}  // namespace
}  // namespace kvscope
