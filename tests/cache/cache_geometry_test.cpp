// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/head_cache.h"

namespace kvscope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Twelve slots of head_dim 2 whose key i is (i, -i).
class CacheGeometryOf : public testing::TestWithParam<DType> {
 protected:
  ModelConfig config{
      .n_layers = 1, .n_heads = 1, .n_kv_heads = 1, .head_dim = 2, .dim = 2, .hidden_dim = 4, .vocab_size = 8, .max_positions = 64};
  std::unique_ptr<Backend> backend = make_cpu_backend(GetParam(), config, {.n_threads = 1});
  std::vector<HeadCache> heads{1};
  Weight no_wo;

  void SetUp() override {
    heads[0].kv = backend->make_kv(3);
    Buffer row = backend->allocate(2 * size_of(GetParam()));
    for (int i = 0; i < 12; ++i) {
      const double k[] = {1.0 * i, -1.0 * i};
      backend->from_double(row.data(), k);
      backend->append_kv(heads[0].kv, row.data(), row.data(), 1);
    }
  }
  std::vector<double> keys(const std::vector<int>& slots) {
    std::vector<double> rows(3, 7.0);  // what is there does not matter
    CacheGeometry(*backend, heads, 0, no_wo, 2).keys(slots, rows);
    return rows;
  }
};

TEST_P(CacheGeometryOf, GivesKeyRowsInTheOrderAskedFor) {
  EXPECT_THAT(keys({11, 0, 5}), ElementsAre(11, -11, 0, 0, 5, -5)) << "a few rows";
  EXPECT_THAT(keys({3, 2, 1, 9, 9}), ElementsAre(3, -3, 2, -2, 1, -1, 9, -9, 9, -9)) << "many rows";
  EXPECT_THAT(keys({}), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Precisions, CacheGeometryOf, testing::Values(DType::f32, DType::f64));

}  // namespace
}  // namespace kvscope
