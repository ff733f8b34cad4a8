// SPDX-License-Identifier: Apache-2.0
// Numbers of slots on a device beside those of the CPU backend, over steps of heads of uneven length in every number format; with graphs
// and without; and how few launches they take.
#include "backend/cuda/factory.h"
#include "backend/numbers_reference.h"
#include "emulator.h"
#include "gpu/variants.h"

namespace kvscope::test {
namespace {

std::vector<Variant> all_variants() {
  std::vector<Variant> out = variants();
  for (Variant& v : narrow_variants()) out.push_back(std::move(v));
  return out;
}

std::unique_ptr<Backend> make_with(bool graphs, const Variant& v, const ModelConfig& config) {
  const CudaOptions options{.n_threads = 1, .graphs = graphs};
  return v.name.starts_with("host") ? cuda::make(v.dtype, config, options) : make_cuda_backend(v.dtype, config, options);
}

constexpr int kGroup = 4, kWidth = 16;

const std::vector<SlotScore> kScoresOfLanes[] = {{SlotScore::window, SlotScore::ema_share, SlotScore::mean, SlotScore::decayed},
                                                 {SlotScore::key_norm, SlotScore::hits, SlotScore::pooled, SlotScore::mean}};

/// Steps of some heads as a lane makes them: attention with the slots' own biases, observation, the question, and what comes of it.
class Lane {
 public:
  struct Head {
    HeadNumbers numbers;
    SlotScore score;
    int n;
    Device q, k, v, out, a, z;
    KvSegment segment = {};
  };

  explicit Lane(Backend& backend, std::span<const SlotScore> scores, const std::vector<int>& lengths = {1, 31, 33, 257}) : b(backend) {
    const GroupReduce reduces[] = {GroupReduce::mean, GroupReduce::max, GroupReduce::sum};
    for (std::size_t h = 0; h < lengths.size(); ++h) {
      const int n = lengths[h], most = n + kMostSteps;
      const unsigned seed = static_cast<unsigned>(h);
      const NumberRules rules = all_rules(kGroup, reduces[h % 3], 3 + 5 * static_cast<int>(h));
      heads.push_back({.numbers = {b, rules, kGroup, flat(random_rows(rules, kGroup, n, seed))},
                       .score = scores[h % scores.size()],
                       .n = n,
                       .q = Device(b, random_numbers(place(kGroup * kWidth), seed + 1)),
                       .k = Device(b, random_numbers(place(most * kWidth), seed + 2)),
                       .v = Device(b, random_numbers(place(most * kWidth), seed + 3)),
                       .out = Device(b, place(kGroup * kWidth)),
                       .a = Device(b, place(kGroup * most), 0.0),
                       .z = Device(b, place(kGroup * most), 0.0)});
    }
  }

  /// One more slot, then everything of a step but what the host says about it.
  void attend_and_ask() {
    std::vector<AttentionJob> attention;
    std::vector<ObserveJob> observations;
    std::vector<LowestJob> questions;
    for (Head& h : heads) {
      const NumberRules& r = h.numbers.rules;
      h.segment = {h.k.data(), h.v.data(), ++h.n};
      AttentionJob job{.slots = {&h.segment, 1}, .q = h.q.data(), .out = h.out.data(), .probabilities = h.a.data(), .logits = h.z.data()};
      job.rows_stay = true;
      job.slot_bias = h.numbers.numbers.rows.as<double>() + r.bias;
      job.bias_stride = r.width;
      job.n_biased = h.numbers.numbers.n_slots;
      attention.push_back(job);
      observations.push_back(h.numbers.observation(h.n, n_steps, h.a.data(), h.z.data()));
    }
    b.attend(attention);
    b.observe(observations);
    ++n_steps;
    for (Head& h : heads) questions.push_back(question(h, h.numbers));
    b.lowest(questions);
  }

  /// About a head, as it is in some numbers.
  LowestJob question(const Head& h, const HeadNumbers& numbers) const {
    LowestJob job = numbers.question(h.score, n_steps, 1, h.n - 1, left_out);
    job.steady = h.score == SlotScore::mean ? h.n / 3 : 0;
    job.pooling = {.kernel = 7, .unranked = 1, .averages = h.n % 2 == 0};
    return job;
  }

  /// What the host does: the row of slot 0 is written anew and the lowest slot goes.
  void decide() {
    for (Head& h : heads) {
      const Lowest low = h.numbers.answer();
      tell({static_cast<double>(low.slot), low.score});
      tell(h.numbers.log_z);
      if (h.n < 3 || low.slot < 0 || n_steps % 3 == 0) continue;
      Numbers row = new_slot(h.numbers.rules, kGroup);
      row[place(h.numbers.rules.bias)] = 0.125 * n_steps;
      row[place(h.numbers.rules.extra)] = 0.25;
      h.numbers.set(0, row);
      h.numbers.remove({low.slot});
      --h.n;
    }
  }

  void tell(const Numbers& numbers) { told.insert(told.end(), numbers.begin(), numbers.end()); }

  static constexpr int kMostSteps = 12;
  const std::vector<int> left_out = {2, 5};
  Backend& b;
  std::vector<Head> heads;
  Numbers told;
  int n_steps = 40;  // more than any ring is long
};

Numbers first(const Numbers& x, std::size_t n) { return {x.begin(), x.begin() + static_cast<long>(n)}; }

class NumbersOnDevices : public OfVariant {};

void expect_those_of_the_cpu(Backend& b, Backend& twin, std::span<const SlotScore> scores) {
  Lane lane(b, scores);
  std::vector<HeadNumbers> twins;
  for (const Lane::Head& h : lane.heads) {
    const unsigned seed = static_cast<unsigned>(twins.size());
    twins.emplace_back(twin, h.numbers.rules, kGroup, flat(random_rows(h.numbers.rules, kGroup, h.n, seed)));
  }
  for (int step = 0; step < Lane::kMostSteps; ++step) {
    Rows biases;
    for (Lane::Head& h : lane.heads) {
      biases.emplace_back();
      for (const Numbers& row : h.numbers.rows()) biases.back().push_back(row[place(h.numbers.rules.bias)]);
      biases.back().push_back(0);  // of the new slot
    }
    lane.attend_and_ask();
    for (std::size_t i = 0; i < twins.size(); ++i) {
      Lane::Head& h = lane.heads[i];
      const std::size_t n = place(h.n);
      const StepRows rows{first(h.a.values(), kGroup * n), first(h.z.values(), kGroup * n)};
      const Numbers q = h.q.values(), k = first(h.k.values(), n * kWidth), v = first(h.v.values(), n * kWidth);
      for (std::size_t g = 0; g < kGroup; ++g) {
        const AttentionResult reference = attention_reference(std::span(q).subspan(g * kWidth, kWidth), k, v, kWidth, biases[i]);
        const double tolerance = b.dtype() == DType::bf16 ? 1.0 / 128 : b.dtype() == DType::f16 ? 1.0 / 1024 : 5e-6;
        ASSERT_LT(distance(std::span(rows.a).subspan(g * n, n), reference.probabilities), tolerance);
        ASSERT_LT(distance(std::span(rows.z).subspan(g * n, n), reference.logits), tolerance);
      }
      twins[i].observe(h.n, lane.n_steps - 1, rows);
      const Lowest expected = twins[i].ask(lane.question(h, twins[i])), got = h.numbers.answer();
      ASSERT_EQ(got.slot, expected.slot) << "head " << i << " step " << step;
      ASSERT_TRUE(same_number(got.score, expected.score)) << got.score << " and " << expected.score;
      ASSERT_TRUE(same_numbers(h.numbers.log_z, twins[i].log_z));
      ASSERT_TRUE(same_numbers(flat(h.numbers.rows()), flat(twins[i].rows()))) << "head " << i << " step " << step;
    }
    lane.decide();
    for (std::size_t i = 0; i < twins.size(); ++i) {
      HeadNumbers& other = lane.heads[i].numbers;
      const Rows rows = other.rows();
      if (rows.size() == place(twins[i].numbers.n_slots)) continue;
      twins[i].numbers = twin.make_numbers(other.rules.width, flat(rows));
    }
  }
}

TEST_P(NumbersOnDevices, AreThoseOfTheCpuForTheSameRows) {
  const ModelConfig config = config_of(kGroup, 1, kWidth);
  const auto b = make(config), twin = make_cpu_backend(DType::f64, config);
  for (const std::vector<SlotScore>& scores : kScoresOfLanes) expect_those_of_the_cpu(*b, *twin, scores);
}

TEST_P(NumbersOnDevices, HaveTheSameBitsWithGraphsAndWithoutAndAgain) {
  const ModelConfig config = config_of(kGroup, 1, kWidth);
  const auto run = [&](bool graphs) {
    const auto b = make_with(graphs, GetParam(), config);
    Numbers told;
    for (const std::vector<SlotScore>& scores : kScoresOfLanes) {
      Lane lane(*b, scores);
      for (int step = 0; step < Lane::kMostSteps; ++step) {
        lane.attend_and_ask();
        lane.decide();
      }
      for (Lane::Head& h : lane.heads) lane.tell(flat(h.numbers.rows()));
      told.insert(told.end(), lane.told.begin(), lane.told.end());
    }
    return told;
  };
  const Numbers with = run(true);
  EXPECT_EQ(with, run(true));
  EXPECT_EQ(with, run(false));
  if (!GetParam().name.starts_with("host")) return;
  emulator::set_order(emulator::Order::descending);
  const Numbers descending = run(true);
  emulator::set_order(emulator::Order::ascending);
  EXPECT_EQ(with, descending);
}

TEST(NumbersOnAnEmulatedDevice, AreSetAndRemovedTogetherHoweverManyHeadsThereAre) {
  const Variant host = variants().front();
  if (!host.why_not.empty()) GTEST_SKIP() << host.why_not;
  const auto b = make_with(false, host, config_of(kGroup, 1, kWidth));
  std::vector<HeadNumbers> heads;
  std::vector<Rows> expected;
  for (int h = 0; h < 100; ++h) {  // rows of odd and of even width, the last one even
    NumberRules rules = all_rules(kGroup, GroupReduce::mean, 1 + (h + 1) % 4);
    rules.key_norm = -1;  // norms would be uploaded
    expected.push_back(random_rows(rules, kGroup, 9, static_cast<unsigned>(h)));
    heads.emplace_back(*b, rules, kGroup, flat(expected.back()));
    heads.back().give(random_step(kGroup, 40, 2));
  }
  double scrap = 0;
  b->download(&scrap, heads[0].out.data(), sizeof(scrap));
  const long before = emulator::launches();
  std::vector<Numbers> new_rows;
  for (const HeadNumbers& head : heads) new_rows.push_back(new_slot(head.rules, kGroup));
  const std::vector<int> gone = {1, 4};
  std::vector<SetNumbersJob> sets;
  std::vector<RemovalJob> removals;
  for (std::size_t h = 0; h < heads.size(); ++h) {
    sets.push_back({&heads[h].numbers, 3, new_rows[h]});
    removals.push_back({.gone = gone, .numbers = &heads[h].numbers, .number_width = heads[h].rules.width});
  }
  b->set_numbers(sets);
  b->remove_slots(removals);
  std::vector<ObserveJob> observations;
  for (HeadNumbers& head : heads) observations.push_back(head.observation(40, 3));  // all of them have to grow
  b->observe(observations);
  std::vector<LowestJob> questions;
  for (HeadNumbers& head : heads) questions.push_back(head.question(SlotScore::sum, 4, 0, 40));
  b->lowest(questions);
  const long waits = emulator::waits();
  for (HeadNumbers& head : heads) EXPECT_GE(head.answer().slot, 0);
  EXPECT_EQ(emulator::waits(), waits) << "for nothing but the answers";
  EXPECT_EQ(emulator::launches() - before, 6) << "rows set, slots removed, memory grown, observation, question, answers gathered";
  for (std::size_t h = 0; h < heads.size(); ++h) {
    Rows& rows = expected[h];
    rows[3] = new_slot(heads[h].rules, kGroup);
    rows.erase(rows.begin() + 4);
    rows.erase(rows.begin() + 1);
    observe_reference(heads[h].rules, kGroup, 40, 3, {heads[h].a->values(), heads[h].z->values()}, rows);
    EXPECT_TRUE(same_numbers(flat(heads[h].rows()), flat(rows))) << h;
  }
}

INSTANTIATE_TEST_SUITE_P(On, NumbersOnDevices, testing::ValuesIn(all_variants()), [](const auto& p) { return name_of_variant(p.param); });

}  // namespace
}  // namespace kvscope::test
