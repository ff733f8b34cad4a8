// SPDX-License-Identifier: Apache-2.0
// Files of kept tokens: what is read, and what is refused in which words.
#include "io/kept_file_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/error.h"
#include "io/safetensors_builder.h"
#include "io/temp_folder.h"

namespace kvscope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kModel = R"("schema":"kvscope.kept/1","model":{"name":"m","n_layers":1,"n_kv_heads":2})";
constexpr const char* kTokens = R"("tokens":[{"id":5,"text":"a"},{"id":6,"text":"b"},7,8])";

class KeptFileTest : public testing::Test {
 protected:
  /// A file of these members.
  KeptFile read(const std::string& tokens, const std::string& runs) {
    return read_kept_file(folder.write("k.json", std::string("{") + kModel + ',' + tokens + R"(,"runs":[)" + runs + "]}"));
  }
  std::string refusal(const std::string& tokens, const std::string& runs) {
    try {
      read(tokens, runs);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
  std::string refused_step(const std::string& step) { return refusal(kTokens, R"({"steps":[)" + step + "]}"); }

  const test::TempFolder folder;
};

TEST_F(KeptFileTest, HoldsWhatEveryHeadKept) {
  const KeptFile file = read(kTokens, R"({"name":"mine","ratio":0.5,"steps":[{"step":0,"kept":[[[2,0],[1]]],"scores":[[[0.25,null],[3]]],
    "merged":[[[[1,2]],[]]]},{"step":1,"kept":[[[0,2,3],[]]]}]},{"steps":[{"step":0,"kept":[[[],[]]]}]})");
  EXPECT_EQ(file.model, "m");
  EXPECT_THAT(file.tokens, ElementsAre(5, 6, 7, 8));
  EXPECT_EQ(file.n_prompt, 3) << "one of four tokens was read in step 1";
  ASSERT_EQ(file.runs.size(), 2u);
  const KeptFile::Run& run = file.runs[0];
  EXPECT_EQ(run.ratio, 0.5);
  EXPECT_EQ(run.n_merges, 1);
  EXPECT_THAT(run.steps[0].kept, ElementsAre(ElementsAre(0, 2), ElementsAre(1))) << "ascending";
  EXPECT_TRUE(std::isnan(run.steps[0].scores[0][0]));
  EXPECT_EQ(run.steps[0].scores[0][1], 0.25) << "scores stay with their positions";
  EXPECT_THAT(run.steps[1].kept, ElementsAre(ElementsAre(0, 2, 3), ElementsAre()));
  EXPECT_TRUE(run.steps[1].scores.empty());
  EXPECT_EQ(file.runs[1].name, "run 2");
  EXPECT_TRUE(std::isnan(file.runs[1].ratio)) << "not given is not 0";
  EXPECT_EQ(file.run("mine"), &run);
  EXPECT_EQ(file.run(""), &run);
  EXPECT_EQ(file.run("other"), nullptr);
}

TEST_F(KeptFileTest, SaysWhereKeysStand) {
  const auto run = [](const char* positions) { return std::string("{") + positions + R"("steps":[{"step":0,"kept":[[[0],[1]]]}]})"; };
  EXPECT_EQ(read(kTokens, run("")).runs[0].positions, "original");
  EXPECT_EQ(read(kTokens, run(R"("positions":"cache",)")).runs[0].positions, "cache");
  EXPECT_THAT(refusal(kTokens, run(R"("positions":"text",)")), AllOf(HasSubstr("positions"), HasSubstr("one of original, cache, ceiling")));
  EXPECT_THAT(refusal(kTokens, run(R"("positions":1,)")), HasSubstr("positions"));
}

TEST_F(KeptFileTest, ThePromptsLengthMayBeGiven) {
  const std::string run = R"({"steps":[{"step":0,"kept":[[[0],[1]]]}]})";
  EXPECT_EQ(read(kTokens, run).n_prompt, 4);
  EXPECT_EQ(read(std::string(R"("n_prompt":2,)") + kTokens, run).n_prompt, 2);
  EXPECT_THAT(refusal(std::string(R"("n_prompt":5,)") + kTokens, run), HasSubstr("n_prompt"));
  EXPECT_THAT(refusal(R"("tokens":[1])", R"({"steps":[{"step":1,"kept":[[[0],[]]]}]})"), HasSubstr("the tokens of all steps"));
}

TEST_F(KeptFileTest, MasksMayLieInAFileBesideIt) {
  folder.write(
      "masks.safetensors",
      test::safetensors(
          R"({"s0":{"dtype":"U8","shape":[1,2,3],"data_offsets":[0,6]},"f":{"dtype":"F32","shape":[1],"data_offsets":[6,10]}})", 0) +
          std::string("\1\0\1\0\1\0\0\0\0\0", 10));
  const auto step = [](const std::string& file, const std::string& tensor) {
    return R"({"step":0,"kept":{"file":")" + file + R"(","tensor":")" + tensor + R"("}})";
  };
  const KeptFile file = read(kTokens, R"({"steps":[)" + step("masks.safetensors", "s0") + "]}");
  EXPECT_THAT(file.runs[0].steps[0].kept, ElementsAre(ElementsAre(0, 2), ElementsAre(1)));
  EXPECT_THAT(refused_step(step("masks.safetensors", "f")), HasSubstr("expected a mask of U8 or BOOL, got other numbers"));
  EXPECT_THAT(refused_step(step("masks.safetensors", "x")), HasSubstr("no such tensor"));
  for (const char* outside : {"../masks.safetensors", "/etc/passwd", "..", "a/b"})
    EXPECT_THAT(refused_step(step(outside, "s0")), HasSubstr("the name of a file in the same folder")) << outside;
  folder.write("other.safetensors", test::safetensors(R"({"s0":{"dtype":"U8","shape":[2,2,1],"data_offsets":[0,4]}})", 4));
  EXPECT_THAT(refused_step(step("other.safetensors", "s0")), HasSubstr("expected [1 layers, 2 KV heads, tokens], got [2, 2, 1]"));
}

TEST_F(KeptFileTest, ScoresMayLieInAFileBesideIt) {
  // [1, 2, 3]: of the first head 0.5, NaN, -2, of the second nothing but infinity and 1
  std::string floats, doubles;
  for (const double x : {0.5, std::nan(""), -2.0, HUGE_VAL, HUGE_VAL, 1.0}) {
    const auto narrow = static_cast<float>(x);
    floats.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
    doubles.append(reinterpret_cast<const char*>(&x), sizeof x);
  }
  folder.write("n.safetensors",
               test::safetensors(R"({"f":{"dtype":"F32","shape":[1,2,3],"data_offsets":[0,24]},"d":{"dtype":"F64","shape":[1,2,3],)"
                                 R"("data_offsets":[24,72]},"i":{"dtype":"I64","shape":[1],"data_offsets":[72,80]},)"
                                 R"("flat":{"dtype":"F32","shape":[2],"data_offsets":[80,88]}})",
                                 0) +
                   floats + doubles + std::string(16, '\0'));
  const auto step = [](const std::string& tensor) {
    return R"({"step":1,"kept":[[[2,0,1],[3,2,0]]],"scores":{"file":"n.safetensors","tensor":")" + tensor + R"("}})";
  };
  for (const char* tensor : {"f", "d"}) {
    const KeptFile::Step read_step = read(kTokens, R"({"steps":[)" + step(tensor) + "]}").runs[0].steps[0];
    EXPECT_THAT(read_step.kept, ElementsAre(ElementsAre(0, 1, 2), ElementsAre(0, 2, 3)));
    EXPECT_THAT(read_step.scores[0], ElementsAre(0.5, testing::IsNan(), -2.0)) << tensor;
    EXPECT_THAT(read_step.scores[1], ElementsAre(testing::IsNan(), 1.0, testing::IsNan())) << "not finite, given, beyond the tensor";
  }
  EXPECT_THAT(refused_step(step("i")), HasSubstr("expected scores of F32 or F64, got other numbers"));
  EXPECT_THAT(refused_step(step("x")), HasSubstr("no such tensor"));
  EXPECT_THAT(refused_step(step("flat")), HasSubstr("expected [1 layers, 2 KV heads, tokens], got [2]"));
}

TEST_F(KeptFileTest, WhatIsWrongSaysWhere) {
  EXPECT_THAT(refused_step(R"({"step":0,"kept":[[[0,0],[]]]})"),
              AllOf(HasSubstr("k.json"), HasSubstr("KV head 0: position 0 comes twice")));
  EXPECT_THAT(refused_step(R"({"step":0,"kept":[[[],[4]]]})"),
              HasSubstr("KV head 1: position 4 is kept, expected one of the 4 tokens read"));
  EXPECT_THAT(refused_step(R"({"step":0,"kept":[[[-1],[]]]})"), HasSubstr("kept[0][0][0]"));
  EXPECT_THAT(refused_step(R"({"step":0,"kept":[[[0]]]})"), HasSubstr("a list for each of 2 KV heads"));
  EXPECT_THAT(refused_step(R"({"step":0,"kept":[]})"), HasSubstr("a list for each of 1 layers"));
  EXPECT_THAT(refused_step(R"({"step":0,"kept":[[[0],[]]],"scores":[[[1,2],[]]]})"), HasSubstr("a score for each of 1 kept positions"));
  EXPECT_THAT(refused_step(R"({"step":0,"kept":[[[0],[]]]},{"step":0,"kept":[[[0],[]]]})"), HasSubstr("steps[1].step"));
  EXPECT_THAT(refused_step(R"({"step":0})"), HasSubstr("kept"));
  EXPECT_THAT(refusal(kTokens, ""), HasSubstr("at least one run"));
  EXPECT_THAT(refusal(kTokens, R"({"steps":[]})"), HasSubstr("at least one step"));
  EXPECT_THAT(refusal(R"("tokens":[])", R"({"steps":[]})"), HasSubstr("at least one token"));
  const std::string run = R"({"name":"a","steps":[{"step":0,"kept":[[[0],[]]]}]})";
  EXPECT_THAT(refusal(kTokens, run + ',' + run), HasSubstr("another name than the runs before"));
  for (const char* name : {R"(my \"best\")", R"(a\nb)"})
    EXPECT_THAT(refusal(kTokens, std::string(R"({"name":")") + name + R"(","steps":[{"step":0,"kept":[[[0],[]]]}]})"),
                HasSubstr("a name of one line without double quotes"));
  for (const char* text : {"[]", "{}", R"({"schema":"kvscope.trace/1"})"})
    EXPECT_THROW(read_kept_file(folder.write("x.json", text)), Error) << text;
  EXPECT_THROW(read_kept_file(folder.path() + "/nowhere"), Error);
}

TEST_F(KeptFileTest, EveryPrefixIsRefused) {
  const std::string text = std::string("{") + kModel + ',' + kTokens + R"(,"runs":[{"steps":[{"step":0,"kept":[[[0,1],[2]]]}]}]})";
  EXPECT_NO_THROW(read_kept_file(folder.write("k.json", text)));
  for (std::size_t n = 0; n < text.size(); ++n) EXPECT_THROW(read_kept_file(folder.write("k.json", text.substr(0, n))), Error) << n;
}

}  // namespace
}  // namespace kvscope
