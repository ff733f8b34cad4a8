// SPDX-License-Identifier: Apache-2.0
// What scores hidden states: what is read, and what is refused in which words.
#include "io/trained/hidden_scorer_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
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

/// Of F32, its numbers i/8 from `first` on.
struct F32Tensor {
  std::string name;
  std::vector<int> shape;
  float first = 0;
};

std::string weights_of(const std::vector<F32Tensor>& tensors) {
  std::vector<test::TensorBytes> out;
  for (const F32Tensor& t : tensors) {
    test::TensorBytes& of = out.emplace_back(test::TensorBytes{t.name, "F32", {t.shape.begin(), t.shape.end()}, {}});
    int n = 1;
    for (const int size : t.shape) n *= size;
    for (int i = 0; i < n; ++i) of.bytes += test::bytes_of_float(t.first + static_cast<float>(i) / 8);
  }
  return test::safetensors(out);
}

/// Two layers for two KV heads and hidden states of three numbers.
std::vector<F32Tensor> two_matrices() {
  std::vector<F32Tensor> out;
  for (const char* layer : {"layers.0", "layers.1"})
    for (const F32Tensor& t : {F32Tensor{".0.weight", {4, 3}}, {".0.bias", {4}}, {".2.weight", {2, 4}}, {".2.bias", {2}}})
      out.push_back({layer + t.name, t.shape});
  return out;
}
std::vector<F32Tensor> gates() {
  std::vector<F32Tensor> out;
  for (const char* layer : {"0", "1"})
    for (const F32Tensor& t : {F32Tensor{".q_proj.weight", {8, 3}},
                               {".q_proj.bias", {8}},
                               {".k_proj.weight", {4, 3}},
                               {".q_norm.weight", {2}},
                               {".k_norm.weight", {2}},
                               {".k_base", {2, 1, 3, 2}},
                               {".b", {2, 1, 2}}})
      out.push_back({layer + t.name, t.shape});
  return out;
}

class HiddenScorerFile : public testing::Test {
 protected:
  HiddenScorer read(const std::vector<F32Tensor>& tensors) {
    return read_hidden_scorer(folder.write("s.safetensors", weights_of(tensors)));
  }
  std::string refusal(const std::vector<F32Tensor>& tensors) {
    try {
      read(tensors);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
  /// The same with another shape for one tensor; none: without it.
  std::string refusal_with(std::vector<F32Tensor> tensors, const std::string& name, const std::vector<int>& shape) {
    std::erase_if(tensors, [&](const F32Tensor& t) { return t.name == name; });
    if (!shape.empty()) tensors.push_back({name, shape});
    return refusal(tensors);
  }
  const test::TempFolder folder;
};

TEST_F(HiddenScorerFile, OneMatrixIsALinearFunction) {
  // rows (0, 1/8, 2/8), (3/8, 4/8, 5/8) and the biases 1, 1 1/8
  const HiddenScorer scorer = read({{"layers.0.weight", {2, 3}}, {"layers.0.bias", {2}, 1}});
  EXPECT_EQ(scorer.n_layers, 1);
  EXPECT_EQ(scorer.n_kv_heads, 2);
  EXPECT_EQ(scorer.dim, 3);
  std::vector<double> out(4);
  scorer.score(0, std::vector<double>{1, 0, 0, 0, 2, 4}, out);  // two tokens
  EXPECT_THAT(out, ElementsAre(1, 2.25, 1.5, 4.625)) << "head by head";
}

TEST_F(HiddenScorerFile, TwoMatricesHaveGeluBetweenThem) {
  const HiddenScorer scorer =
      read({{"layers.0.0.weight", {1, 1}, 1}, {"layers.0.0.bias", {1}}, {"layers.0.2.weight", {1, 1}, 2}, {"layers.0.2.bias", {1}, 3}});
  std::vector<double> out(3);
  scorer.score(0, std::vector<double>{1, 0, -1}, out);
  EXPECT_NEAR(out[0], 3 + 2 * 0.841344746068543, 1e-12);
  EXPECT_EQ(out[1], 3);
  EXPECT_NEAR(out[2], 3 - 2 * 0.158655253931457, 1e-12);
}

TEST_F(HiddenScorerFile, AGateIsTheShareOfTheTokensOwnKeyAmongFixedOnes) {
  // width 1: q and k are normed to +-1; own logit q k + b = 1 + 2, one fixed key of 3: 1/(1 + exp(3 q - own))
  const HiddenScorer scorer = read({{"0.q_proj.weight", {1, 1}, 5},
                                    {"0.q_proj.bias", {1}},
                                    {"0.k_proj.weight", {1, 1}, 7},
                                    {"0.q_norm.weight", {1}, 1},
                                    {"0.k_norm.weight", {1}, 1},
                                    {"0.k_base", {1, 1, 1, 1}, 3},
                                    {"0.b", {1, 1, 1}, 2}});
  std::vector<double> out(2);
  scorer.score(0, std::vector<double>{100, -100}, out);
  EXPECT_NEAR(out[0], 0.5, 1e-9);
  EXPECT_NEAR(out[1], 1 / (1 + std::exp(-6.0)), 1e-9);
  const HiddenScorer wider = read(gates());
  EXPECT_EQ(wider.n_layers, 2);
  EXPECT_EQ(wider.n_kv_heads, 2);
  const auto& of = std::get<ScorerGates>(wider.function);
  EXPECT_THAT(std::vector({of.group, of.width, of.sinks}), ElementsAre(2, 2, 3));
}

TEST_F(HiddenScorerFile, WhatIsWrongSaysWhat) {
  EXPECT_THAT(refusal({{"weight", {2, 3}}}),
              AllOf(HasSubstr("s.safetensors"), HasSubstr("expected networks (layers.0.weight or layers.0.0.weight) "
                                                          "or gates (0.q_proj.weight), got neither")));
  EXPECT_THAT(refusal({{"layers.0.weight", {3}}, {"layers.0.bias", {1}}}), HasSubstr("expected [units, hidden state], got [3]"));
  EXPECT_THAT(refusal({{"layers.0.weight", {1, 70000}}, {"layers.0.bias", {1}}}), HasSubstr("got [1, 70000]"));
  EXPECT_THAT(refusal({{"layers.0.weight", {0, 3}}, {"layers.0.bias", {1}}}), HasSubstr("got [0, 3]"));
  EXPECT_THAT(refusal_with(two_matrices(), "layers.1.0.weight", {4, 5}), HasSubstr("expected [4, 3], got [4, 5]"));
  EXPECT_THAT(refusal_with(two_matrices(), "layers.1.2.weight", {3, 4}), HasSubstr("expected [2, 4], got [3, 4]"));
  EXPECT_THAT(refusal_with(two_matrices(), "layers.0.2.bias", {3}), HasSubstr("expected [2], got [3]"));
  EXPECT_THAT(refusal_with(two_matrices(), "layers.0.2.weight", {}),
              HasSubstr("expected a tensor 'layers.0.2.weight' of F64, F32, F16 or BF16, got none"));
  EXPECT_THAT(refusal_with(two_matrices(), "layers.3.0.weight", {4, 3}),
              HasSubstr("expected the tensors of 2 layers, got 'layers.3.0.weight' besides"));
  EXPECT_THAT(refusal_with(gates(), "0.k_base", {2, 3, 2}), HasSubstr("expected [KV heads, 1, sinks, width], got [2, 3, 2]"));
  EXPECT_THAT(refusal_with(gates(), "0.b", {3, 1, 2}), HasSubstr("expected [2, 1, group], got [3, 1, 2]"));
  EXPECT_THAT(refusal_with(gates(), "1.k_norm.weight", {3}), HasSubstr("expected [2], got [3]"));
  EXPECT_THAT(refusal({{"layers.0.weight", {1, 2}, std::numeric_limits<float>::quiet_NaN()}, {"layers.0.bias", {1}}}),
              HasSubstr("tensor 'layers.0.weight': expected finite numbers, got nan at place 0"));
  EXPECT_THROW(read_hidden_scorer(folder.path() + "/nowhere"), Error);
}

TEST_F(HiddenScorerFile, EveryPrefixIsRefused) {
  for (const std::vector<F32Tensor>& tensors : {std::vector<F32Tensor>{{"layers.0.weight", {2, 3}}, {"layers.0.bias", {2}}}, gates()}) {
    const std::string text = weights_of(tensors);
    EXPECT_NO_THROW(read_hidden_scorer(folder.write("p.safetensors", text)));
    for (std::size_t n = 0; n < text.size(); ++n)
      EXPECT_THROW(read_hidden_scorer(folder.write("p.safetensors", text.substr(0, n))), Error) << n;
  }
}

}  // namespace
}  // namespace kvscope
