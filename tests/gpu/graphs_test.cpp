// SPDX-License-Identifier: Apache-2.0
// Decode steps as graphs: whatever is asked of a backend in whatever order, the results are those of a backend without graphs, and of one
// that does everything at once, bit by bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "backend/cuda/factory.h"
#include "backend/reference.h"
#include "emulator.h"
#include "runtime/forward.h"
#include "runtime/model/synthetic_model.h"

namespace kvscope::test {
namespace {

/// Backends of a variant with graphs and without.
std::unique_ptr<Backend> make_with(bool graphs, const Variant& v, const ModelConfig& config) {
  const CudaOptions options{.n_threads = 1, .graphs = graphs};
  return v.name.starts_with("host") ? cuda::make(v.dtype, config, options) : make_cuda_backend(v.dtype, config, options);
}

/// What one backend holds, and what it has told the host so far. Everybody who asks for the same gets the same.
struct World {
  World(std::unique_ptr<Backend> made, bool always_wait) : b(std::move(made)), waits(always_wait) {
    const RandomWeight table = random_weight(DType::f32, size(kTokens, kDim), 1), matrix = random_weight(DType::f32, size(kDim, kDim), 2),
                       norm = random_weight(DType::f32, size(kDim), 3);
    embedding = b->weight(DType::f32, kTokens, kDim, table.bytes.data());
    square = b->weight(DType::f32, kDim, kDim, matrix.bytes.data());
    ones = b->weight(DType::f32, 1, kDim, norm.bytes.data());
    for (unsigned i = 0; i < 4; ++i) rows.emplace_back(*b, random_numbers(size(kRows, kDim), 10 + i));
    for (int i = 0; i < 2; ++i) {
      kept.emplace_back(*b, size(kGroup, 2 * kMostSlots), 0.0);
      caches.push_back(b->make_kv(4));
      b->append_kv(caches.back(), rows[2].data(), rows[3].data(), kRows);
    }
  }

  /// Reads n numbers.
  void read(const void* p, std::size_t n) {
    Numbers got(n);
    b->to_double(got, p);
    tell(got);
  }
  void tell(std::span<const double> numbers) {
    for (const double x : numbers) {
      told.push_back(0);
      std::memcpy(&told.back(), &x, sizeof(x));
    }
  }
  void done() {
    if (waits) b->to_double(std::span(&scrap, 1), ones.data);  // in the way of everything before it
  }

  static constexpr int kHeads = 4, kGroup = 2, kHeadDim = 16, kDim = kHeads * kHeadDim, kTokens = 9, kRows = 40, kMostSlots = 160;
  std::unique_ptr<Backend> b;
  bool waits;
  double scrap = 0;
  Weight embedding, square, ones;
  std::vector<Device> rows, kept;  // activations [kRows, kDim]; results of attention
  std::vector<HeadKv> caches;      // of two KV heads
  std::vector<std::uint64_t> told;
};

/// One thing that is asked of a backend; the same of every world for the same numbers of `random`.
void ask(World& w, std::mt19937& random) {
  const auto draw = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  const auto some = [&](auto& of) -> auto& { return of[static_cast<std::size_t>(draw(static_cast<int>(of.size())))]; };
  Backend& b = *w.b;
  const int n_rows = draw(4) == 0 ? World::kRows : 1 + draw(3), what = draw(22);
  const std::size_t from = static_cast<std::size_t>(draw(4)), to = (from + 1 + static_cast<std::size_t>(draw(3))) % 4;
  Device &x = w.rows[from], &y = w.rows[to];
  HeadKv& kv = some(w.caches);
  if (what == 0) {
    std::vector<int> ids;
    for (int i = 0; i < n_rows; ++i) ids.push_back(draw(World::kTokens));
    b.embed(w.embedding, ids, y.data());
  } else if (what <= 2) {
    b.rms_norm(x.data(), w.ones, 1e-5, n_rows, y.data());
  } else if (what <= 5) {
    b.linear(x.data(), w.square, n_rows, y.data(), draw(2) == 0);
    b.rms_norm(y.data(), w.ones, 1e-5, n_rows, y.data());  // of an everyday size
  } else if (what == 6) {
    b.silu_mul(x.data(), y.data(), n_rows, World::kDim, y.data());
  } else if (what == 7) {
    std::vector<int> positions;
    for (int i = 0; i < n_rows; ++i) positions.push_back(draw(300) - 100);
    b.rope(x.data(), n_rows, World::kHeads, positions);
  } else if (what <= 11) {
    std::vector<AttentionJob> jobs;
    std::vector<KvSegment> slots;
    std::vector<Numbers> biases;
    for (std::size_t i = 0; i < 2; ++i) {
      const HeadKv& cache = w.caches[i];
      slots.push_back(slots_of(cache));
      biases.push_back(random_numbers(size(cache.n_slots), static_cast<unsigned>(random())));
    }
    const bool bias = draw(2) == 0, probabilities = draw(2) == 0, logits = draw(3) == 0, rotate = draw(3) == 0, reads = draw(2) == 0;
    for (std::size_t i = 0; i < 2; ++i)
      jobs.push_back({{&slots[i], 1},
                      x.at(i * 2 * World::kHeadDim),
                      bias ? biases[i].data() : nullptr,
                      y.at(i * 2 * World::kHeadDim),
                      probabilities ? w.kept[i].data() : nullptr,
                      logits ? w.kept[i].at(World::kGroup * World::kMostSlots) : nullptr,
                      rotate,
                      reads});
    b.attend(jobs);
    w.done();
    if (draw(3) == 0) b.copy(w.kept[0].data(), x.data(), 64);
    if (probabilities || draw(3) == 0) w.read(w.kept[0].data(), size(World::kGroup, slots[0].n));
    if (reads) w.read(y.data(), World::kDim);
  } else if (what == 12) {
    const int rows = 1 + draw(6), n = std::min(w.caches[0].n_slots, w.caches[1].n_slots), first = n - rows;
    if (first < 0) return;
    std::vector<std::vector<KvSegment>> slots;
    for (const HeadKv& cache : w.caches) slots.push_back({slots_of(cache)});
    Numbers sum(2 * size(n)), outside(2);
    const ColumnSums columns{.stride = size(n), .sum = sum.data()};
    const OutsideSum outer{1, 2, outside.data()};
    const bool sums = draw(2) == 0;
    b.attend_prompt({.slots = slots,
                     .first = first,
                     .rows = rows,
                     .q = x.data(),
                     .out = y.data(),
                     .columns = {&columns, sums ? 1u : 0u},
                     .outside = {&outer, sums ? 1u : 0u}});
    w.tell(sum);
    w.tell(outside);
  } else if (what == 13) {
    const int n = 1 + draw(3);
    if (kv.n_slots + n <= World::kMostSlots) b.append_kv(kv, x.data(), y.data(), n);
  } else if (what == 14) {
    std::vector<int> gone;
    for (int i = 2; i < kv.n_slots; ++i)
      if (draw(6) == 0) gone.push_back(i);
    b.remove_slots(kv, gone);
  } else if (what == 15) {
    const std::vector<int> members = {draw(kv.n_slots), draw(kv.n_slots)};
    const Numbers weights = {0.25, 0.5};
    const CombineJob job{.kv = &kv, .target = members[0], .members = members, .key_weights = weights, .value_weights = weights};
    b.combine({&job, 1});
  } else if (what == 16) {
    kv = b.clone_kv(kv);
  } else if (what == 17) {
    const std::vector<int> one = {draw(kv.n_slots), draw(kv.n_slots)}, other = {0, kv.n_slots - 1, draw(kv.n_slots)};
    Numbers cosines(6), best(2), keys(2 * World::kHeadDim);
    std::vector<int> places(2);
    b.cosines(kv, one, other, cosines);
    nearest(b, kv, one, other, places, best);
    const KeyRowsJob job{&kv, one, keys};
    b.key_rows({&job, 1});
    for (const Numbers& numbers : {cosines, best, keys, Numbers(places.begin(), places.end())}) w.tell(numbers);
  } else if (what == 18) {
    Numbers norms(size(2, World::kHeads)), product(size(2, World::kDim));
    b.wo_l1(x.data(), w.square, 2, norms);
    b.wo_rows(x.data(), World::kDim, w.square, draw(World::kHeads), 2, product);
    w.tell(norms);
    w.tell(product);
  } else if (what == 19) {
    b.copy(y.data(), x.data(), size_of(b.dtype()) * size(1 + draw(100)));
  } else if (what == 20) {
    const Device other(b, random_numbers(size(World::kRows, World::kDim), static_cast<unsigned>(random())));  // gone again at once
    b.linear(other.data(), w.square, 3, y.data(), false);
  } else {
    w.read(x.data(), size(World::kRows, World::kDim));
    Numbers keys(size(kv.n_slots, World::kHeadDim));
    b.keys(kv, keys);
    w.tell(keys);
  }
  w.done();
}

class Graphs : public OfVariant {};

TEST_P(Graphs, WhateverIsAskedTheResultsAreThoseOfLaunchesAtOnceBitByBit) {
  const ModelConfig config = config_of(World::kHeads, World::kHeads / World::kGroup, World::kHeadDim);
  World with(make_with(true, GetParam(), config), false), without(make_with(false, GetParam(), config), false),
      at_once(make_with(false, GetParam(), config), true);
  const long before = emulator::graph_launches();
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    // the same few questions several times in a row: only what they read has changed
    const unsigned seed = static_cast<unsigned>(random());
    const int questions = 1 + static_cast<int>(random() % 12), times = 1 + static_cast<int>(random() % 4);
    for (World* w : {&with, &without, &at_once}) {
      for (int time = 0; time < times; ++time) {
        std::mt19937 same(seed);
        for (int question = 0; question < questions; ++question) ask(*w, same);
        w->read(w->rows[0].data(), World::kDim);
      }
    }
    ASSERT_EQ(with.told, without.told) << i;
    ASSERT_EQ(with.told, at_once.told) << i;
  }
  EXPECT_GT(with.told.size(), 10000u);
  if (GetParam().name.starts_with("host")) {
    EXPECT_GT(emulator::graph_launches() - before, 50);
  }
}

/// Caches that a test changes between steps.
class Caches final : public AttentionSite {
 public:
  Caches(Backend& backend, const ModelConfig& c, int n) : backend_(backend), c_(c) {
    const Device rows(backend, random_numbers(size(kRows, c.head_dim), 5));
    for (int i = 0; i < c.n_layers * c.n_kv_heads; ++i) {
      caches_.push_back(backend.make_kv(n + kMore));
      for (int have = 0; have < n; have += kRows) backend.append_kv(caches_.back(), rows.data(), rows.data(), std::min(kRows, n - have));
    }
  }
  /// The same numbers of slots, other memory and other contents.
  void exchange() { std::ranges::rotate(caches_, caches_.begin() + 1); }
  void attend(const LayerRows& rows) override {
    const std::size_t head = size_of(backend_.dtype()) * size(c_.head_dim), n_heads = size(c_.n_kv_heads);
    std::vector<KvSegment> slots(n_heads);
    std::vector<AttentionJob> jobs;
    for (std::size_t h = 0; h < n_heads; ++h) {
      HeadKv& kv = caches_[static_cast<std::size_t>(rows.layer) * n_heads + h];
      backend_.append_kv(kv, static_cast<const std::byte*>(rows.k) + h * head, static_cast<const std::byte*>(rows.v) + h * head, 1);
      slots[h] = slots_of(kv);
      jobs.push_back(
          {.slots = {&slots[h], 1}, .q = static_cast<std::byte*>(rows.q) + h * head, .out = static_cast<std::byte*>(rows.out) + h * head});
    }
    backend_.attend(jobs);
    for (std::size_t h = 0; h < n_heads && holds_; ++h) remove_one(caches_[static_cast<std::size_t>(rows.layer) * n_heads + h]);
  }
  /// From here on every step removes a slot of each cache, not always the same.
  void hold() { holds_ = true; }

 private:
  void remove_one(HeadKv& kv) { backend_.remove_slots(kv, std::vector{static_cast<int>(random_() % size(kv.n_slots))}); }

  static constexpr int kRows = 32, kMore = 64;
  Backend& backend_;
  const ModelConfig& c_;
  std::vector<HeadKv> caches_;
  std::mt19937 random_{1};
  bool holds_ = false;
};

/// A model that makes steps.
struct CapturedSteps {
  static ModelConfig config() {
    ModelConfig c = config_of(2, 2, 16);
    c.n_layers = 3;
    c.hidden_dim = c.vocab_size = 64;
    return c;
  }
  CapturedSteps(const Variant& variant, bool graphs, int n_slots)
      : backend(make_with(graphs, variant, config())),
        model(synthetic_model(config(), DType::f32, *backend)),
        forward(*backend, model),
        caches(*backend, model.config(), n_slots) {}
  Numbers step() {
    Numbers logits(64);
    const std::span<double> row = logits;
    const std::vector<int> token = {n_steps % 64}, at = {6 - n_steps % 7};
    ++n_steps;
    forward.run(token, at, caches, CancelToken());
    forward.project(0, 1);
    forward.logits({&row, 1});
    return logits;
  }
  std::unique_ptr<Backend> backend;
  Model model;
  Forward forward;
  Caches caches;
  int n_steps = 0;
};

TEST_P(Graphs, OfStepsAreMadeAnewOnlyWhereAChunkOfSlotsBegins) {
  CapturedSteps with(GetParam(), true, 100), without(GetParam(), false, 100);
  std::vector<int> one_by_one;  // steps with kernels that were not started in a graph
  std::vector<long> graphs;     // after each step
  const long before = emulator::graphs();
  for (int step = 0; step < 50; ++step) {
    const long launches = emulator::launches();
    const Numbers logits = with.step();
    if (emulator::launches() != launches) one_by_one.push_back(step);
    graphs.push_back(emulator::graphs() - before);
    ASSERT_EQ(logits, without.step()) << step;
    if (step % 5 == 4) {
      with.caches.exchange();
      without.caches.exchange();
    }
  }
  if (!GetParam().name.starts_with("host")) return;  // of a device's launches nobody tells
  EXPECT_EQ(one_by_one, (std::vector<int>{0, 1, 28, 29}))
      << "two steps of a kind: the first takes memory, the second shows what comes again";
  EXPECT_EQ(graphs[2], 4) << "up to the first attention, up to each of the others, the rest";
  EXPECT_EQ(graphs[28], graphs[2]) << "slot 129 is new";
  EXPECT_EQ(graphs[49], graphs[30]);
}

TEST_P(Graphs, OfStepsThatRemoveASlotOfEachHeadAreTheSameFromStepToStep) {
  CapturedSteps with(GetParam(), true, 20), without(GetParam(), false, 20);
  for (CapturedSteps* steps : {&with, &without}) steps->caches.hold();
  std::vector<int> one_by_one;  // steps with kernels that were not started in a graph
  const long before = emulator::graphs();
  long graphs = 0;
  for (int step = 0; step < 30; ++step) {
    const long launches = emulator::launches();
    const Numbers logits = with.step();
    if (emulator::launches() != launches) one_by_one.push_back(step);
    if (step == 5) graphs = emulator::graphs() - before;
    ASSERT_EQ(logits, without.step()) << step;
  }
  if (!GetParam().name.starts_with("host")) return;
  EXPECT_EQ(one_by_one, (std::vector<int>{0, 1})) << "what the caches of the last layer lose in the first step waits for the second";
  EXPECT_EQ(emulator::graphs() - before, graphs);
}

TEST(GraphsOfAnEmulatedDevice, AreSwitchedOffByTheOptionAndByTheEnvironment) {
  const Variant host = variants().front();
  if (!host.why_not.empty()) GTEST_SKIP() << host.why_not;
  const auto launched = [&](bool graphs) {
    CapturedSteps steps(host, graphs, 10);
    const long before = emulator::graph_launches();
    for (int step = 0; step < 4; ++step) steps.step();
    return emulator::graph_launches() - before;
  };
  EXPECT_GT(launched(true), 0);
  EXPECT_EQ(launched(false), 0);
  setenv("KVSCOPE_CUDA_GRAPHS", "0", 1);
  EXPECT_EQ(launched(true), 0);
  setenv("KVSCOPE_CUDA_GRAPHS", "1", 1);
  EXPECT_GT(launched(true), 0);
  unsetenv("KVSCOPE_CUDA_GRAPHS");
}

INSTANTIATE_TEST_SUITE_P(On, Graphs, testing::ValuesIn(variants()), [](const auto& p) { return name_of_variant(p.param); });

}  // namespace
}  // namespace kvscope::test
