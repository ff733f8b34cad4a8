// SPDX-License-Identifier: Apache-2.0
// Launches and what they read are gathered, then started together, as graphs where they come again: addresses, order and errors.
#include "backend/cuda/work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "backend/cuda/device.h"
#include "backend/cuda/kernels/launch.h"
#include "core/error.h"
#include "emulator.h"

namespace kvscope::cuda {
namespace {

class Gathered : public testing::Test {
 protected:
  void SetUp() override {
    if (!emulator::kRuns) GTEST_SKIP();
  }

  /// Adds a launch that copies ints inside device memory.
  void copy(int* to, const int* from, std::size_t n) {
    const CopyJob job{to, from, n * sizeof(int)};
    device->copy_together({&job, 1});
  }
  /// Three launches that copy the first n numbers of x; what they do is all in their arguments.
  void copy_thrice(Buffer& x, Buffer& y, int n) {
    for (int i = 0; i < 3; ++i) convert(device->work(), {x.data(), DType::f32}, n, DType::f32, y.as<float>() + 100 * i);
  }
  std::vector<int> ints(const Buffer& b, std::size_t n) {
    std::vector<int> out(n);
    device->download(out.data(), b.data(), n * sizeof(int));
    return out;
  }

  std::shared_ptr<Device> device = std::make_shared<Device>(0, DType::f32, 8, /*graphs=*/true);
  const long launches_before = emulator::launches(), graph_launches_before = emulator::graph_launches(), graphs_before = emulator::graphs();
  long launches() const { return emulator::launches() - launches_before; }
  long graph_launches() const { return emulator::graph_launches() - graph_launches_before; }
  long graphs() const { return emulator::graphs() - graphs_before; }
};

TEST_F(Gathered, AListIsAGraphFromTheSecondTimeOn) {
  Buffer x = device->allocate(4000, "x"), y = device->allocate(4000, "y");
  for (int step = 0; step < 5; ++step) {
    std::vector<float> numbers(100);
    std::iota(numbers.begin(), numbers.end(), static_cast<float>(step));
    device->upload(x.data(), numbers.data(), 400);
    copy_thrice(x, y, 100);
    EXPECT_EQ(launches(), step == 0 ? 0 : 3) << "only gathered";
    std::vector<float> got(300);
    device->download(got.data(), y.data(), 1200);
    for (std::size_t i = 0; i < 300; ++i) ASSERT_EQ(got[i], numbers[i % 100]);
  }
  EXPECT_EQ(launches(), 3);
  EXPECT_EQ(graph_launches(), 4);
  EXPECT_EQ(graphs(), 1);
}

TEST_F(Gathered, OneOrTwoLaunchesAreNoGraph) {
  Buffer x = device->allocate(400, "x"), y = device->allocate(400, "y");
  for (int step = 0; step < 5; ++step) {
    for (int i = 0; i < 2; ++i) convert(device->work(), {x.data(), DType::f32}, 100, DType::f32, y.data());
    device->wait();
  }
  EXPECT_EQ(launches(), 10);
  EXPECT_EQ(graphs(), 0);
}

TEST_F(Gathered, AnyOtherArgumentOrShapeIsAnotherList) {
  Buffer x = device->allocate(4000, "x"), y = device->allocate(4000, "y");
  for (int time = 0; time < 2; ++time) {
    for (const int n : {1, 2, 3, 99, 100}) {
      copy_thrice(x, y, n);
      device->wait();
    }
    EXPECT_EQ(graphs(), 5 * time);
  }
  EXPECT_EQ(launches(), 15);
  EXPECT_EQ(graph_launches(), 5);
}

TEST_F(Gathered, OfManyListsThatComeInTurnEachBecomesAGraph) {
  Buffer x = device->allocate(4000, "x"), y = device->allocate(4000, "y");
  const int n = static_cast<int>(Graphs::kMost);
  for (int time = 0; time < 3; ++time) {
    for (int i = 0; i < n; ++i) {
      copy_thrice(x, y, 1 + i);
      device->work().start();
    }
    EXPECT_EQ(graphs(), time == 0 ? 0 : n);
  }
  EXPECT_EQ(launches(), 3 * n);
  EXPECT_EQ(graph_launches(), 2 * n);
}

TEST_F(Gathered, TablesMayChangeAndTheGraphStays) {
  Buffer x = device->allocate(4000, "x"), y = device->allocate(4000, "y");
  std::vector<int> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 0);
  device->upload(x.data(), numbers.data(), 4000);
  for (int i = 0; i < 20; ++i) {
    for (int part = 0; part < 3; ++part) copy(y.as<int>() + part, x.as<int>() + 40 * i + part, 1);
    EXPECT_EQ(ints(y, 3), (std::vector<int>{40 * i, 40 * i + 1, 40 * i + 2}));
  }
  EXPECT_EQ(launches(), 3);
  EXPECT_EQ(graph_launches(), 19);
  EXPECT_EQ(graphs(), 1);
}

TEST_F(Gathered, OfManyGraphsThoseThatWereUsedLastAreKept) {
  Buffer x = device->allocate(4000, "x"), y = device->allocate(4000, "y");
  const int most = static_cast<int>(Graphs::kMost), all = most + 44;
  const long before = emulator::graphs_made();
  const std::vector<int> numbers(1000, 5);
  device->upload(x.data(), numbers.data(), 4000);
  for (int i = 0; i < all; ++i) {
    for (int time = 0; time < 2; ++time) {
      copy_thrice(x, y, 1 + i);
      device->work().start();  // nobody waits: those that go may still be at work
    }
    EXPECT_EQ(graphs(), std::min(i + 1, most));
    copy_thrice(x, y, 1);  // used again and again
    device->work().start();
  }
  EXPECT_EQ(emulator::graphs_made() - before, all);
  for (int i = 45; i < all; ++i) {
    copy_thrice(x, y, 1 + i);
    device->work().start();
  }
  copy_thrice(x, y, 1);
  device->work().start();
  EXPECT_EQ(emulator::graphs_made() - before, all);
  EXPECT_EQ(graphs(), most);
  EXPECT_EQ(ints(y, 500), std::vector<int>(numbers.begin(), numbers.begin() + 500));
  device.reset();
  EXPECT_EQ(graphs(), most) << "buffers hold on to their device";
  x = Buffer();
  y = Buffer();
  EXPECT_EQ(graphs(), 0);
}

TEST_F(Gathered, WhatIsReadStaysWhereItIsHoweverOftenTheWorkIsStarted) {
  const std::size_t n = 100;
  Buffer y = device->allocate(40000, "y");
  std::vector<int> first(n), second(n);
  std::iota(first.begin(), first.end(), 1);
  std::iota(second.begin(), second.end(), 1000);
  for (int time = 0; time < 3; ++time) {
    Upload a(*device), b(*device);
    const std::size_t in_a = a.add(first), in_b = b.add(second);
    a.send();
    device->work().start();
    copy(y.as<int>(), a.at<int>(in_a), n);
    device->wait();
    b.send();
    for (std::size_t i = 0; i < 2 * Work::kMost; ++i) {  // starts by itself in between
      copy(y.as<int>() + n + i, b.at<int>(in_b) + i % n, 1);
      copy(y.as<int>() + 3 * n + i, a.at<int>(in_a) + i % n, 1);
    }
    const std::vector<int> got = ints(y, 3 * n + 2 * Work::kMost);
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], first[i]);
    for (std::size_t i = 0; i < 2 * Work::kMost; ++i) {
      ASSERT_EQ(got[n + i], second[i % n]);
      ASSERT_EQ(got[3 * n + i], first[i % n]);
    }
  }
}

TEST_F(Gathered, ArraysThatFillTheArenaAndThatAreLargerThanItArriveToo) {
  Buffer y = device->allocate(4000, "y");
  const std::size_t in_use = emulator::memory_in_use();
  for (const std::size_t size : {Work::kArena / 3, Work::kArena - 256, Work::kArena, Work::kArena + 1, 3 * Work::kArena}) {
    std::vector<int> numbers(size / sizeof(int));
    std::vector<std::unique_ptr<Upload>> held;
    for (int i = 0; i < 8; ++i) {
      std::iota(numbers.begin(), numbers.end(), i);
      auto up = std::make_unique<Upload>(*device);
      const std::size_t place = up->add(numbers);
      up->send();
      copy(y.as<int>() + i, up->at<int>(place) + numbers.size() - 1, 1);
      if (i % 3 != 0) held.push_back(std::move(up));  // read again below
    }
    for (std::size_t i = 0; i < held.size(); ++i) copy(y.as<int>() + 8 + i, held[i]->at<int>(0), 1);
    const std::vector<int> got = ints(y, 8 + held.size());
    for (int i = 0; i < 8; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i)], static_cast<int>(numbers.size()) - 1 + i) << size;
    EXPECT_THAT(std::vector<int>(got.begin() + 8, got.end()), testing::ElementsAre(1, 2, 4, 5, 7)) << size;
  }
  device->wait();
  EXPECT_EQ(emulator::memory_in_use(), in_use);
}

TEST_F(Gathered, WhereThereIsNoMemoryForGraphsKernelsAreStartedOneByOne) {
  Buffer x = device->allocate(4000, "x"), y = device->allocate(4000, "y");
  copy_thrice(x, y, 10);
  device->wait();
  copy_thrice(x, y, 10);
  device->wait();
  EXPECT_EQ(graphs(), 1);
  emulator::set_room_for_graphs(false);
  for (int time = 0; time < 3; ++time) {
    copy_thrice(x, y, 20);
    device->wait();
  }
  emulator::set_room_for_graphs(true);
  EXPECT_EQ(graphs(), 0);
  copy_thrice(x, y, 10);
  device->wait();
  EXPECT_EQ(graph_launches(), 1);
  EXPECT_EQ(launches(), 3 * 5);
}

__global__ void nothing(int) {}

TEST_F(Gathered, AKernelHasTheSharedMemoryThatWasAskedForWhenItStarts) {
  const auto other = std::make_shared<Device>(0, DType::f32, 8, true);
  for (int time = 0; time < 3; ++time) {
    for (const std::size_t kib : {30, 60, 25, 100}) launch("nothing", nothing, dim3(1), dim3(32), kib << 10, device->work(), 1);
    launch("nothing", nothing, dim3(1), dim3(32), 50 << 10, other->work(), 1);
    device->wait();
    other->wait();
  }
  EXPECT_THROW(launch("nothing", nothing, dim3(1), dim3(32), 300 << 10, device->work(), 1), Error) << "at once";
}

TEST_F(Gathered, AnErrorNamesTheKernelAndTheRestGoesOn) {
  Buffer x = device->allocate(4000, "x"), y = device->allocate(4000, "y");
  const std::vector<int> numbers(10, 7);
  device->upload(x.data(), numbers.data(), 40);
  static const char nobody = 0;
  device->work().launch("a kernel that nobody has", &nobody, dim3(1), dim3(32), 0, {});
  try {
    device->wait();
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("a kernel that nobody has failed"));
  }
  copy(y.as<int>(), x.as<int>(), 10);
  EXPECT_EQ(ints(y, 10), numbers);
}

}  // namespace
}  // namespace kvscope::cuda
