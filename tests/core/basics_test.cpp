// SPDX-License-Identifier: Apache-2.0
// Sizes, widths and cancellation.
#include <gtest/gtest.h>

#include <type_traits>

#include "core/cancel.h"
#include "core/config.h"
#include "core/dtype.h"
#include "core/error.h"

namespace kvscope {
namespace {

TEST(DTypes, HaveTheirSizeAndName) {
  EXPECT_EQ(size_of(DType::f64), 8u);
  EXPECT_EQ(size_of(DType::f32), 4u);
  EXPECT_EQ(size_of(DType::f16), 2u);
  EXPECT_EQ(size_of(DType::bf16), 2u);
  EXPECT_EQ(name_of(DType::f64), "f64");
  EXPECT_EQ(name_of(DType::bf16), "bf16");
}

TEST(ModelConfigs, KnowTheirGroupAndWidths) {
  ModelConfig c;
  c.n_heads = 8;
  c.n_kv_heads = 4;
  c.head_dim = 32;
  EXPECT_EQ(c.group(), 2);
  EXPECT_EQ(c.q_dim(), 256);
  EXPECT_EQ(c.kv_dim(), 128);
}

TEST(CancelTokens, ThrowOnlyOnceCancelledAndNoMoreAfterReset) {
  CancelToken token;
  EXPECT_NO_THROW(token.check());
  token.cancel();
  EXPECT_TRUE(token.cancelled());
  EXPECT_THROW(token.check(), Cancelled);
  token.reset();
  EXPECT_NO_THROW(token.check());
}

TEST(CancelTokens, AreNotErrors) {
  EXPECT_FALSE((std::is_base_of_v<Error, Cancelled>)) << "a catch of Error must not swallow a cancellation";
  EXPECT_TRUE((std::is_base_of_v<Error, UsageError>));
}

}  // namespace
}  // namespace kvscope
