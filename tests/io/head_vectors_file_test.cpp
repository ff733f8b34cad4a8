// SPDX-License-Identifier: Apache-2.0
// Directions of KV heads: what is read, and what is refused in which words.
#include "io/trained/head_vectors_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/error.h"
#include "io/safetensors_builder.h"
#include "io/temp_folder.h"

namespace kvscope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class HeadVectorsFile : public testing::Test {
 protected:
  std::string write(const std::string& header, const std::string& data) {
    return folder.write("f.safetensors", test::safetensors(header, 0) + data);
  }
  std::string refusal(const std::string& header, const std::string& data) {
    try {
      read_head_vectors(write(header, data));
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
  const test::TempFolder folder;
};

std::string header(const std::string& name, const std::string& dtype, const std::string& shape, std::size_t bytes) {
  return R"({")" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":[0,)" + std::to_string(bytes) + "]}}";
}

TEST_F(HeadVectorsFile, HoldsAVectorOfEveryHead) {
  const std::string halves("\x00\x3c\x00\xc0\x00\x38\x00\x00", 8);  // 1, -2, 0.5, 0
  const HeadVectors f16 = read_head_vectors(write(header("q_filters", "F16", "[2,1,2]", 8), halves));
  EXPECT_EQ(f16.n_layers, 2);
  EXPECT_EQ(f16.n_kv_heads, 1);
  EXPECT_EQ(f16.width, 2);
  EXPECT_THAT(f16.numbers, ElementsAre(1, -2, 0.5, 0));
  EXPECT_THAT(f16.of(1, 0), ElementsAre(0.5, 0));
  const std::string bfloats("\x80\x3f\x00\xc0", 4);
  EXPECT_THAT(read_head_vectors(write(header("q_filters", "BF16", "[1,2,1]", 4), bfloats)).numbers, ElementsAre(1, -2));
  const std::string floats("\x00\x00\x80\x3f\x00\x00\x00\xc0", 8);
  EXPECT_THAT(read_head_vectors(write(header("q_filters", "F32", "[1,1,2]", 8), floats)).numbers, ElementsAre(1, -2));
}

TEST_F(HeadVectorsFile, WhatIsWrongSaysWhat) {
  const std::string zeros(64, '\0');
  EXPECT_THAT(refusal(header("filters", "F32", "[1,1,2]", 8), zeros.substr(0, 8)),
              AllOf(HasSubstr("f.safetensors"), HasSubstr("expected a tensor q_filters of F32, F16 or BF16, got no such tensor")));
  EXPECT_THAT(refusal(header("q_filters", "I64", "[1,1,1]", 8), zeros.substr(0, 8)), HasSubstr("got I64"));
  EXPECT_THAT(refusal(header("q_filters", "F32", "[2,2]", 16), zeros.substr(0, 16)),
              HasSubstr("expected [layers, KV heads, head_dim], got [2, 2]"));
  EXPECT_THAT(refusal(header("q_filters", "F32", "[1,1,1,2]", 8), zeros.substr(0, 8)), HasSubstr("got [1, 1, 1, 2]"));
  EXPECT_THAT(refusal(header("q_filters", "F32", "[0,1,2]", 0), ""), HasSubstr("got [0, 1, 2]"));
  EXPECT_THAT(refusal(header("q_filters", "F32", "[1,1,70000]", 280000), std::string(280000, '\0')), HasSubstr("got [1, 1, 70000]"));
  EXPECT_THAT(refusal(header("q_filters", "F16", "[1,1,2]", 4), std::string("\x00\x3c\x00\x7e", 4)),
              HasSubstr("expected finite numbers, got nan at place 1"));
  EXPECT_THAT(refusal(header("q_filters", "F16", "[1,1,2]", 4), std::string("\x00\xfc\x00\x3c", 4)), HasSubstr("got -inf at place 0"));
  EXPECT_THROW(read_head_vectors(folder.path() + "/nowhere"), Error);
  EXPECT_THROW(read_head_vectors(folder.write("x.safetensors", "[[1, 2]]")), Error);
}

TEST_F(HeadVectorsFile, EveryPrefixIsRefused) {
  const std::string text = test::safetensors(header("q_filters", "F32", "[1,1,2]", 8), 0) + std::string(8, '\0');
  EXPECT_NO_THROW(read_head_vectors(folder.write("p.safetensors", text)));
  for (std::size_t n = 0; n < text.size(); ++n)
    EXPECT_THROW(read_head_vectors(folder.write("p.safetensors", text.substr(0, n))), Error) << n;
}

}  // namespace
}  // namespace kvscope
