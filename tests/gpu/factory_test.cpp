// SPDX-License-Identifier: Apache-2.0
// What is said where the device cannot be had.
#include "backend/cuda/factory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/reference.h"
#include "core/error.h"
#include "emulator.h"

namespace kvscope::test {
namespace {

using testing::HasSubstr;

template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "none";
}

TEST(CudaFactory, SaysWhatTheDeviceIs) {
  const CudaStatus s = cuda::status();
  EXPECT_TRUE(s.usable);
  EXPECT_EQ(s.device, "emulated");
  EXPECT_EQ(s.capability, 90);
  EXPECT_EQ(cuda::make(DType::f32, config_of(1, 1, 8), {})->name().substr(0, 5), "cuda,");
}

TEST(CudaFactory, SaysThatThereIsNoDevice) {
  emulator::set_devices(0);
  EXPECT_EQ(cuda::status().why_not, "no CUDA device is there");
  EXPECT_THAT(error_of([] { cuda::make(DType::f32, config_of(1, 1, 8), {}); }), HasSubstr("no CUDA device is there; use --device cpu"));
  emulator::set_devices(1);
}

TEST(CudaFactory, RefusesWhatIsTooLargeBeforeItTakesAnything) {
  const std::size_t before = emulator::memory_in_use();
  const std::string said = error_of([] { cuda::make(DType::f32, config_of(1, 1, 8), {.needed_bytes = std::size_t{5} << 30}); });
  EXPECT_THAT(said, HasSubstr("needs 5.0 GiB, 4.0 free on emulated: choose a smaller model"));
  EXPECT_EQ(emulator::memory_in_use(), before);
}

TEST(CudaFactory, AnAllocationThatDoesNotFitIsASentenceAndTheBackendLivesOn) {
  const auto b = cuda::make(DType::f32, config_of(1, 1, 8), {});
  EXPECT_THAT(error_of([&] { b->allocate(std::size_t{5} << 30); }),
              HasSubstr("no room for activations and caches (4.00 of 4.00 GiB are free); use fewer runs"));
  Device x(*b, Numbers(8, 1.0));
  EXPECT_EQ(x.values(), Numbers(8, 1.0));
}

TEST(CudaFactory, RefusesShapesAndTypesThatNoKernelHas) {
  EXPECT_THROW(cuda::make(DType::f64, config_of(1, 1, 8), {}), Error);
  EXPECT_THROW(cuda::make(DType::f32, config_of(3, 2, 8), {}), Error);
  EXPECT_THROW(cuda::make(DType::f32, config_of(1, 1, 7), {}), Error);
  EXPECT_THROW(cuda::make(DType::f32, config_of(1, 1, 258), {}), Error);
}

TEST(CudaFactory, GivesAllMemoryBack) {
  if (!emulator::kRuns) GTEST_SKIP();
  const std::size_t before = emulator::memory_in_use();
  {
    Buffer outlives;
    const auto b = cuda::make(DType::bf16, config_of(2, 1, 8), {});
    outlives = b->allocate(1000);
    Device x(*b, Numbers(32, 1.0)), y(*b, Numbers(32, 1.0));
    b->copy(x.data(), y.data(), 16);
    b->rope(x.data(), 2, 2, std::vector<int>{1, 2});
    EXPECT_GT(emulator::memory_in_use(), before);
  }
  EXPECT_EQ(emulator::memory_in_use(), before);
}

TEST(CudaModule, TellsInASentenceWhyItCannotBeUsed) {
  const CudaStatus s = cuda_status();
  EXPECT_NE(s.usable, !s.why_not.empty());
  if (s.usable) return;
  EXPECT_THAT(error_of([] { make_cuda_backend(DType::f32, config_of(1, 1, 8)); }), HasSubstr(s.why_not + "; use --device cpu"));
}

}  // namespace
}  // namespace kvscope::test
