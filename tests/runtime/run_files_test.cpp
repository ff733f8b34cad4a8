// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/run_files.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "io/file_hash.h"
#include "io/temp_folder.h"
#include "paths.h"

namespace kvscope {
namespace {

using ::testing::HasSubstr;

std::string refusal(RunFiles& files, const std::string& text) {
  try {
    files.of(parse_lane_spec(text));
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(RunFiles, AModelsOwnFileIsLookedForInItsFolderAndAnyOtherThereToo) {
  const test::TempFolder folder;
  folder.write("retrieval_heads.json", "[[3, 1]]");
  folder.write("mine.json", "[[5, 1]]");
  RunFiles files(folder.path());
  const auto first = [&](const std::string& text, const char* key) {
    return files.of(parse_lane_spec(text)).heads.at(key)->rows.at(0)->at(0);
  };
  EXPECT_EQ(first("headkv:slots=10", "scores"), 3);
  EXPECT_EQ(first("headkv:slots=10,scores=mine.json", "scores"), 5);
  EXPECT_EQ(first("headkv:slots=10,scores=" + folder.path() + "/mine.json", "scores"), 5);
  EXPECT_EQ(first("duo:heads=mine.json", "heads"), 5);
  EXPECT_TRUE(files.of(parse_lane_spec("duo")).heads.empty()) << "without one the prompt decides";
  EXPECT_TRUE(files.of(parse_lane_spec("h2o:slots=10")).heads.empty());
}

TEST(RunFiles, OfPublicModelsTheProgramHasSome) {
  const test::TempFolder folder;
  const auto n_layers = [](const std::string& of_model) {
    RunFiles files(of_model);
    const GivenFiles given = files.of(parse_lane_spec("duo"));
    return given.heads.empty() ? std::size_t{0} : given.heads.at("heads")->rows.size();
  };
  const std::string plain = folder.path() + "/Mistral-7B-Instruct-v0.3";
  const std::string cached = folder.path() + "/models--mistralai--Mistral-7B-Instruct-v0.3/snapshots/c170c708";
  for (const std::string& model : {plain, plain + "/", cached}) EXPECT_EQ(n_layers(model), 32u) << model;
  EXPECT_EQ(n_layers(folder.path() + "/Mistral-7B-v0.1"), 0u);
  EXPECT_TRUE(named_files_outside({parse_lane_spec("duo")}, plain, "").empty()) << "nobody has to be asked";
  std::filesystem::create_directories(plain);
  folder.write("Mistral-7B-Instruct-v0.3/distant_heads.json", "[[1]]");
  EXPECT_EQ(n_layers(plain), 1u) << "the model's own comes first";
}

TEST(RunFiles, ARelativeNameIsOfTheFolderOfItsFileAndIsWrittenSo) {
  const test::TempFolder folder, elsewhere;
  const std::string beside = folder.write("hd.json", "[[1]]"), other = elsewhere.write("hd.json", "[[2]]");
  std::filesystem::create_directory(folder.path() + "/below");
  const std::string below = folder.write("below/hd.json", "[[3]]");
  const auto text = [](std::vector<LaneSpec> lanes) { return lanes.front().text; };
  const auto run = [](const std::string& file) { return std::vector{parse_lane_spec("duo:ratio=0.2,heads=" + file)}; };
  EXPECT_EQ(text(with_files_beside(run("hd.json"), folder.path())), "duo:ratio=0.2,heads=" + beside);
  EXPECT_EQ(text(with_files_beside(run("below/hd.json"), folder.path())), "duo:ratio=0.2,heads=" + below);
  EXPECT_EQ(text(with_files_beside(run(other), folder.path())), "duo:ratio=0.2,heads=" + other);
  EXPECT_EQ(text(with_files_beside(run("none.json"), folder.path())), "duo:ratio=0.2,heads=none.json") << "the model's folder may have it";
  EXPECT_EQ(text(with_files_told(run(beside), folder.path())), "duo:ratio=0.2,heads=hd.json");
  EXPECT_EQ(text(with_files_told(run(below), folder.path() + "/")), "duo:ratio=0.2,heads=below/hd.json");
  EXPECT_EQ(text(with_files_told(run(other), folder.path())), "duo:ratio=0.2,heads=" + other);
  EXPECT_EQ(text(with_files_told(run(beside), "")), "duo:ratio=0.2,heads=" + beside);
  EXPECT_EQ(text(with_files_told(run("none.json"), folder.path())), "duo:ratio=0.2,heads=none.json");
  const std::vector pair = {parse_lane_spec("prefill_decode:prefill=\"headkv:slots=4,scores=hd.json\",decode=local:slots=4")};
  EXPECT_THAT(text(with_files_beside(pair, folder.path())), HasSubstr("scores=" + beside)) << "in halves, too";
  EXPECT_EQ(text(with_files_told(with_files_beside(pair, folder.path()), folder.path())), pair.front().text);
}

TEST(RunFiles, WhatHasChangedSinceIsNamed) {
  const test::TempFolder folder, model;
  const std::string table = folder.write("hd.json", "[[1]]");
  const std::vector lanes = {parse_lane_spec("full"), parse_lane_spec("duo"), parse_lane_spec("duo:ratio=0.2,heads=" + table)};
  EXPECT_EQ(files_beside_model(lanes, model.path()), (std::vector<RunFile>{{table, table}})) << "the model's own is none of them";
  const std::vector<RunFileHash> known = {{table, hash_of_file(table).sha256}, {"gone.json", "of a run that is not there any more"}};
  EXPECT_TRUE(changed_files(known, lanes, model.path()).empty());
  folder.write("hd.json", "[[2]]");
  EXPECT_EQ(changed_files(known, lanes, model.path()), std::vector{table});
  std::filesystem::remove(table);
  EXPECT_EQ(changed_files(known, lanes, model.path()), std::vector{table});
}

TEST(RunFiles, AFileIsReadAgainWhenItChanges) {
  const test::TempFolder folder;
  folder.write("f.json", "[[3, 1]]");
  RunFiles files(folder.path());
  const LaneSpec spec = parse_lane_spec("headkv:slots=10,scores=f.json");
  const auto before = files.of(spec).heads.at("scores");
  EXPECT_EQ(files.of(spec).heads.at("scores"), before);
  folder.write("f.json", "[[4.5, 1]]");
  EXPECT_EQ(files.of(spec).heads.at("scores")->rows.at(0)->at(0), 4.5);
}

TEST(RunFiles, MapsAreOfTheModelsOwnWeights) {
  const std::string embedded = in_checkout("assets/models/kvmini"), maps = embedded + "/less_maps.safetensors";
  RunFiles own(embedded), other(in_checkout("tests/golden/tiny-gqa"));
  const GivenFiles files = own.of(parse_lane_spec("less:slots=10"));
  ASSERT_TRUE(files.maps);
  EXPECT_EQ(own.of(parse_lane_spec("less:slots=10,base=streaming")).maps, files.maps);
  EXPECT_THAT(refusal(other, "less:slots=10,maps=" + maps),
              HasSubstr("maps: " + maps + ": expected maps that were trained for these weights (SHA-256 "));
  EXPECT_TRUE(other.of(parse_lane_spec("less:slots=10,maps=maps.safetensors")).maps) << "these do not say";
  const test::TempFolder sharded;
  RunFiles unknown(sharded.path());
  EXPECT_TRUE(unknown.of(parse_lane_spec("less:slots=10,maps=" + maps)).maps) << "nothing to compare with";
  EXPECT_THAT(refusal(other, "less:slots=10"), HasSubstr("got none; its feature maps are trained for one model"));
}

TEST(RunFiles, WhatIsWrongNamesTheKeyAndThePlace) {
  const test::TempFolder folder;
  folder.write("broken.json", "[[1, 2");
  RunFiles files(folder.path());
  EXPECT_THAT(refusal(files, "headkv:slots=10"),
              HasSubstr("run 'headkv:slots=10': scores: expected retrieval_heads.json in the model's folder '" + folder.path() +
                        "', got none; kvscope-cli heads"));
  EXPECT_THAT(
      refusal(files, "headkv:slots=10,scores=nowhere.json"),
      HasSubstr(
          "run 'headkv:slots=10,scores=nowhere.json': scores: file 'nowhere.json' is neither in the working directory nor in the model's folder"));
  EXPECT_THAT(refusal(files, "qfilter:slots=10"), HasSubstr("file: expected q_filters.safetensors in the model's folder '" + folder.path() +
                                                            "', got none; the authors publish them for some models"));
  EXPECT_THAT(refusal(files, "qfilter:slots=10,file=broken.json"), HasSubstr("file: "));
  EXPECT_THAT(refusal(files, "kvzap:slots=10"), HasSubstr("file: expected kvzap.safetensors in the model's folder '" + folder.path() +
                                                          "', got none; its networks are trained for one model, and without them it would "
                                                          "be another method under its name; the authors publish them for some models "
                                                          "(nvidia/KVzap-mlp-MODEL, model.safetensors)"));
  EXPECT_THAT(refusal(files, "fastkvzip:slots=10"), HasSubstr("got none; its gates are trained for one model"));
  EXPECT_THAT(refusal(files, "lukv:slots=10"), HasSubstr("got none; its curves are measured for one model and one ranking"));
  EXPECT_THAT(refusal(files, "duo:heads=nowhere.json"), HasSubstr("heads: file 'nowhere.json' is neither"));
  const std::string sentence = refusal(files, "headkv:slots=10,scores=broken.json");
  EXPECT_THAT(sentence, HasSubstr("scores: "));
  EXPECT_THAT(sentence, HasSubstr("broken.json"));
  EXPECT_THAT(sentence, HasSubstr("expected JSON"));
}

}  // namespace
}  // namespace kvscope
