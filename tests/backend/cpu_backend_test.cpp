// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "backend/reference.h"
#include "core/error.h"

namespace kvscope::test {
namespace {

TEST(CpuBackend, SaysWhatItIs) {
  const auto b = make_cpu_backend(DType::f32, config_of(1, 1, 8), {2});
  EXPECT_EQ(b->dtype(), DType::f32);
  EXPECT_EQ(b->name().substr(0, 5), "cpu, ");
  EXPECT_NE(b->name().find("2 threads"), std::string::npos);
}

TEST(CpuBackend, RefusesWhatItCannotCompute) {
  EXPECT_THROW(make_cpu_backend(DType::f16, config_of(1, 1, 8)), Error);
  EXPECT_THROW(make_cpu_backend(DType::bf16, config_of(1, 1, 8)), Error);
  EXPECT_THROW(make_cpu_backend(DType::f32, config_of(3, 2, 8)), Error);
  EXPECT_THROW(make_cpu_backend(DType::f32, config_of(1, 1, 7)), Error);
  EXPECT_THROW(make_cpu_backend(DType::f32, config_of(1, 1, 8), {-1}), Error);
  EXPECT_THROW(make_cpu_backend(DType::f32, config_of(1, 1, 8), {2})->allocate(SIZE_MAX), Error);
}

}  // namespace
}  // namespace kvscope::test
