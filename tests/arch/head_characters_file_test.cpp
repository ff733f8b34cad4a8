// SPDX-License-Identifier: Apache-2.0
#include "arch/head_characters_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "arch/model_files.h"
#include "core/error.h"
#include "model_folder.h"
#include "paths.h"

namespace kvscope {
namespace {

using test::ModelFolder;
using ::testing::HasSubstr;

std::string rows(int n_layers, int n_heads, double value) {
  return nlohmann::json(std::vector(static_cast<std::size_t>(n_layers), std::vector(static_cast<std::size_t>(n_heads), value))).dump();
}

/// For ModelFolder's model of 2 layers and 4 query heads; `spoil` replaces one text by another.
std::string file(const std::string& what = "", const std::string& by = "") {
  std::string text = R"({"schema": "kvscope.head_characters/1", "sink_tokens": 4, "near_tokens": 16, "sink": )" + rows(2, 4, 0.125) +
                     R"(, "near": )" + rows(2, 4, 0.25) + R"(, "previous": )" + rows(2, 4, 0.5) + R"(, "induction": )" + rows(2, 4, 0) +
                     R"(, "retrieval": )" + rows(2, 4, 1) + R"(, "entropy": )" + rows(2, 4, 5.5) + "}";
  if (!what.empty()) {
    const std::size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    text.replace(at, what.size(), by);
  }
  return text;
}

/// The problem that open_model tells of a model folder with this heads.json; the model itself opens.
std::string problem_of(const std::string& text) {
  const ModelFolder model;
  model.write();
  model.folder().write("heads.json", text);
  const ModelFiles files = open_model(model.path());
  EXPECT_EQ(files.characters == nullptr, !files.characters_problem.empty());
  EXPECT_EQ(files.config.n_layers, 2);
  return files.characters_problem;
}

TEST(HeadCharactersFile, IsReadWithTheModel) {
  const ModelFolder model;
  model.write();
  EXPECT_EQ(open_model(model.path()).characters, nullptr) << "none there";
  EXPECT_EQ(open_model(model.path()).characters_problem, "");
  model.folder().write("heads.json", file());
  const ModelFiles files = open_model(model.path());
  ASSERT_NE(files.characters, nullptr) << files.characters_problem;
  const HeadCharacters& c = *files.characters;
  EXPECT_EQ(c.n_layers, 2);
  EXPECT_EQ(c.n_heads, 4);
  EXPECT_EQ(c.sink_tokens, 4);
  EXPECT_EQ(c.near_tokens, 16);
  EXPECT_EQ(c.sink, std::vector<double>(8, 0.125));
  EXPECT_EQ(c.local, std::vector<double>(8, 0.25));
  EXPECT_EQ(c.previous, std::vector<double>(8, 0.5));
  EXPECT_EQ(c.induction, std::vector<double>(8, 0.0));
  EXPECT_EQ(c.retrieval, std::vector<double>(8, 1.0));
  EXPECT_EQ(c.entropy, std::vector<double>(8, 5.5));
}

TEST(HeadCharactersFile, OfTheEmbeddedModelIsGood) {
  const ModelFiles files = open_model(in_checkout("assets/models/kvmini"));
  ASSERT_NE(files.characters, nullptr) << files.characters_problem;
  EXPECT_EQ(files.characters->retrieval.size(), static_cast<std::size_t>(files.config.n_layers * files.config.n_heads));
}

TEST(HeadCharactersFile, ABadOneIsSaidAndTheModelOpensAllTheSame) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "expected JSON"},
      {file().substr(0, 200), "expected JSON"},
      {"[1, 2]", "expected an object"},
      {"{}", "expected schema \"kvscope.head_characters/1\", got none"},
      {file("characters/1", "characters/9"), "got \"kvscope.head_characters/9\""},
      {file("\"schema\": \"kvscope.head_characters/1\"", "\"schema\": 1"), "expected schema"},
      {file("sink_tokens\": 4", "sink_tokens\": 0"), "sink_tokens: a number of tokens"},
      {file("sink_tokens\": 4", "sink_tokens\": 1e300"), "sink_tokens: a number of tokens"},
      {file("\"near\"", "\"far\""), "expected near, got none"},
      {file(rows(2, 4, 0.25), rows(3, 4, 0.25)), "near: numbers [2 layers][4 query heads], got 3 layers"},
      {file(rows(2, 4, 0.25), rows(2, 2, 0.25)), "got 2 heads in layer 0"},
      {file(rows(2, 4, 0.25), "{}"), "got no list"},
      {file(rows(2, 4, 0.25), "[1, 2]"), "got a layer that is no list"},
      {file("0.5,0.5]]", "0.5,null]]"), "previous: numbers from 0 to 1, got null in layer 1, query head 3"},
      {file("0.5,0.5]]", "0.5,NaN]]"), "expected JSON"},
      {file("0.5,0.5]]", "0.5,1e999]]"), "range of a double"},
      {file("0.5,0.5]]", "0.5,1.5]]"), "got 1.5 in layer 1"},
      {file("0.5,0.5]]", "0.5,-0.1]]"), "got -0.1"},
      {file("0.5,0.5]]", "0.5,\"" + std::string(5000, 'x') + "\"]]"), "got \"xxxxxxxxxxxxxxxxxxx in layer 1"},
      {std::string(5000, '['), "nested deeper"},
  };
  for (const auto& [text, said] : cases) {
    const std::string problem = problem_of(text);
    EXPECT_THAT(problem, HasSubstr(said)) << text.substr(0, 300);
    EXPECT_THAT(problem, HasSubstr("heads.json"));
    EXPECT_LT(problem.size(), 400u);
  }
}

TEST(HeadCharactersFile, AFolderInItsPlaceIsSaid) {
  const ModelFolder model;
  model.write();
  std::filesystem::create_directory(model.path() + "/heads.json");
  EXPECT_THAT(open_model(model.path()).characters_problem, HasSubstr("heads.json"));
}

}  // namespace
}  // namespace kvscope
