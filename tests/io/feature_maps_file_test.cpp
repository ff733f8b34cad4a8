// SPDX-License-Identifier: Apache-2.0
// Maps of queries and keys: what is read, and what is refused in which words.
#include "io/trained/feature_maps_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "core/error.h"
#include "io/safetensors_builder.h"
#include "io/temp_folder.h"

namespace kvscope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

struct Tensor {
  std::string name, dtype = "F32";
  std::vector<std::int64_t> shape;
};

/// One layer, two KV heads, head_dim 2, one number between the layers, one feature.
std::vector<Tensor> good() {
  return {{.name = "a.query_1", .shape = {1, 2, 2, 1}},
          {.name = "a.query_2", .shape = {1, 2, 1, 1}},
          {.name = "a.key_1", .shape = {1, 2, 2, 1}},
          {.name = "a.key_2", .shape = {1, 2, 1, 1}},
          {.name = "a.key_3", .shape = {1, 2, 1, 1}}};
}

/// Numbers of F32 count 1, 2, 3, ... through the whole file; other bytes are `filling`.
std::string file_of(const std::vector<Tensor>& tensors, char filling = '\0') {
  std::vector<test::TensorBytes> out;
  float next = 1;
  for (const Tensor& t : tensors) {
    const std::int64_t n = std::accumulate(t.shape.begin(), t.shape.end(), std::int64_t{1}, std::multiplies<>());
    test::TensorBytes& of = out.emplace_back(test::TensorBytes{t.name, t.dtype, t.shape, {}});
    for (std::int64_t i = 0; i < n && t.dtype == "F32"; ++i) of.bytes += test::bytes_of_float(next++);
    if (t.dtype != "F32") of.bytes.append(static_cast<std::size_t>(n) * (t.dtype == "U8" ? 1 : 2), filling);
  }
  return test::safetensors(out);
}

struct FeatureMapsFile_ : testing::Test {
  FeatureMapsFile read(const std::vector<Tensor>& tensors, char filling = '\0') {
    return read_feature_maps(folder.write("f.safetensors", file_of(tensors, filling)));
  }
  std::string refusal(const std::function<void(std::vector<Tensor>&)>& change, char filling = '\0') {
    std::vector<Tensor> tensors = good();
    change(tensors);
    try {
      read(tensors, filling);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
  const test::TempFolder folder;
};

TEST_F(FeatureMapsFile_, HoldsASetForEachName) {
  std::vector<Tensor> tensors = good();
  for (Tensor& t : good()) tensors.push_back({"b.c" + t.name.substr(1), "F16", t.shape});
  const FeatureMapsFile file = read(tensors);
  ASSERT_EQ(file.sets.size(), 2u);
  const FeatureMaps& maps = file.sets.at("a");
  EXPECT_THAT((std::vector{maps.n_layers, maps.n_kv_heads, maps.head_dim, maps.hidden, maps.width}), ElementsAre(1, 2, 2, 1, 1));
  EXPECT_THAT(maps.query_1, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(maps.query_2, ElementsAre(5, 6));
  EXPECT_THAT(maps.key_1, ElementsAre(7, 8, 9, 10));
  EXPECT_THAT(maps.key_2, ElementsAre(11, 12));
  EXPECT_THAT(maps.key_mixed, ElementsAre(13, 14));
  EXPECT_THAT(file.sets.at("b.c").query_2, ElementsAre(0, 0));
  EXPECT_EQ(file.weights_sha256, "");
}

TEST_F(FeatureMapsFile_, MaySayForWhichWeights) {
  std::vector<Tensor> tensors = good();
  tensors.push_back({"weights_sha256", "U8", {32}});
  std::string expected;
  for (int i = 0; i < 32; ++i) expected += "ab";
  EXPECT_EQ(read(tensors, '\xab').weights_sha256, expected);
  tensors.back().shape = {31};
  EXPECT_THAT(refusal([&](auto& t) { t = tensors; }), HasSubstr("weights_sha256: expected U8 [32], got U8 [31]"));
}

TEST_F(FeatureMapsFile_, WhatIsWrongSaysWhat) {
  EXPECT_THAT(refusal([](auto& t) { t.pop_back(); }),
              AllOf(HasSubstr("f.safetensors"), HasSubstr("expected a tensor 'a.key_3' of F32, F16 or BF16, got none")));
  EXPECT_THAT(refusal([](auto& t) {
                t[0].shape = {1, 2, 2};
              }),
              HasSubstr("'a.query_1': expected [layers, KV heads, head_dim, hidden], got [1, 2, 2]"));
  EXPECT_THAT(refusal([](auto& t) { t[0].shape = {1, 0, 2, 1}; }), HasSubstr("got [1, 0, 2, 1]"));
  EXPECT_THAT(refusal([](auto& t) { t[0].shape = {70000, 1, 1, 1}; }), HasSubstr("got [70000, 1, 1, 1]"));
  EXPECT_THAT(refusal([](auto& t) { t[1].shape = {}; }), HasSubstr("'a.query_2': expected [layers, KV heads, hidden, features], got []"));
  EXPECT_THAT(refusal([](auto& t) { t[1].shape = {1, 2, 2, 1}; }), HasSubstr("'a.query_2': expected [1, 2, 1, 1], got [1, 2, 2, 1]"));
  EXPECT_THAT(refusal([](auto& t) { t[2].shape = {1, 1, 2, 2}; }), HasSubstr("'a.key_1': expected [1, 2, 2, 1], got [1, 1, 2, 2]"));
  EXPECT_THAT(refusal([](auto& t) { t[4].shape = {1, 2, 1, 2}; }), HasSubstr("'a.key_3': expected [1, 2, 1, 1], got [1, 2, 1, 2]"));
  EXPECT_THAT(refusal([](auto& t) { t[3].dtype = "I16"; }), HasSubstr("expected a tensor 'a.key_2'"));
  EXPECT_THAT(refusal([](auto& t) { t.push_back({"a.other", "F32", {1}}); }), HasSubstr("expected tensors NAME.query_1, "));
  EXPECT_THAT(refusal([](auto& t) { t.push_back({".key_1", "F32", {1}}); }), HasSubstr("got '.key_1'"));
  EXPECT_THAT(refusal([](auto& t) { t.clear(); }), HasSubstr("NAME.key_3, got none"));
  EXPECT_THAT(refusal([](auto& t) { t[4].dtype = "BF16"; }, '\xff'), HasSubstr("'a.key_3': expected finite numbers, got "));
  EXPECT_THROW(read_feature_maps(folder.path() + "/nowhere"), Error);
}

TEST_F(FeatureMapsFile_, EveryPrefixIsRefused) {
  const std::string text = file_of(good());
  EXPECT_NO_THROW(read_feature_maps(folder.write("p.safetensors", text)));
  for (std::size_t n = 0; n < text.size(); ++n)
    EXPECT_THROW(read_feature_maps(folder.write("p.safetensors", text.substr(0, n))), Error) << n;
}

}  // namespace
}  // namespace kvscope
