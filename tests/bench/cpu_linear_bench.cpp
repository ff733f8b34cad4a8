// SPDX-License-Identifier: Apache-2.0

// Backend::linear() of the CPU against the machine's limits: read bandwidth (decode), OpenBLAS sgemm (prefill), one row (few rows);
// and attention in the shapes of the embedded model. All limits are measured in the same run. Times are minima over `--rounds` rounds.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "core/thread_pool.h"

#ifdef KVSCOPE_OPENBLAS
#include <cblas.h>
#endif

namespace kvscope {
namespace {

struct Line {
  std::string what;
  double value = 0;
  std::string unit;
  double limit = 0;  // what the machine allows, same unit
  std::string limit_name;
  double ratio = 0;  // value to limit, in the direction in which 1 is "at the limit"
  std::string target;
};

using Clock = std::function<double()>;

double wall_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
/// Of the whole program: on a shared machine the time that a single thread really had.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Minimum time of one call; several calls per measurement where one is short.
double fastest(const Clock& clock, int rounds, const std::function<void()>& work) {
  const auto seconds = [&](const std::function<void()>& f) {
    const double start = clock();
    f();
    return clock() - start;
  };
  work();
  const double once = seconds(work);
  const int repeat = std::clamp(static_cast<int>(2e-3 / std::max(once, 1e-9)), 1, 10000);
  double best = 1e30;
  for (int r = 0; r < rounds; ++r) {
    best = std::min(best, seconds([&] {
                            for (int i = 0; i < repeat; ++i) work();
                          }) / repeat);
  }
  return best;
}

std::vector<float> random_floats(std::size_t n) {
  std::minstd_rand random(1);
  std::vector<float> out(n);
  for (float& x : out) x = static_cast<float>(random() % 2048) / 1024.0f - 1.0f;
  return out;
}

std::vector<std::uint8_t> weights(DType type, std::size_t n) {
  std::vector<std::uint8_t> out(n * size_of(type));
  if (type == DType::f32) {
    const std::vector<float> f = random_floats(n);
    std::memcpy(out.data(), f.data(), out.size());
  } else {  // bits of finite, normal halves and bfloats
    std::minstd_rand random(1);
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint16_t bits = static_cast<std::uint16_t>(0x3000u + random() % 0x0c00u);
      std::memcpy(out.data() + 2 * i, &bits, 2);
    }
  }
  return out;
}

class Bench {
 public:
  Bench(int threads, int rounds, bool cpu_time)
      : clock_(cpu_time ? processor_seconds : wall_seconds), cpu_time_(cpu_time), threads_(threads), rounds_(rounds), pool_(threads) {
    ModelConfig c;
    c.n_heads = 8;
    c.n_kv_heads = 4;
    c.head_dim = 32;
    backend_ = make_cpu_backend(DType::f32, c, {threads});
    fmt::print("{}, minima of {} rounds, {} time\n", backend_->name(), rounds, cpu_time ? "processor" : "wall");
  }

  void bandwidth() {
    const std::vector<std::uint64_t> data(std::size_t(64) << 20, 3);  // 512 MB
    std::atomic<std::uint64_t> sink = 0;
    const auto read = [&](int streams) {
      const int pieces = 256;
      pool_.parallel_for(pieces, 1, [&](int begin, int end) {
        for (int p = begin; p < end; ++p) {
          const std::size_t n = data.size() / pieces, per_stream = n / static_cast<std::size_t>(streams);
          const std::uint64_t* x = data.data() + static_cast<std::size_t>(p) * n;
          std::uint64_t sum[8] = {};
          for (std::size_t i = 0; i < per_stream; i += 8) {
            for (int s = 0; s < streams; ++s) {
              for (std::size_t j = 0; j < 8; ++j) sum[j] += x[static_cast<std::size_t>(s) * per_stream + i + j];
            }
          }
          for (const std::uint64_t s : sum) sink += s;
        }
      });
    };
    double best = 1e30;
    for (const int streams : {1, 4, 8}) best = std::min(best, fastest(clock_, rounds_, [&] { read(streams); }));
    bandwidth_ = static_cast<double>(data.size()) * 8 / best / 1e9;
    add({"read and sum 512 MB", bandwidth_, "GB/s", 0, "", 0, ""});
  }

  /// Two layers' worth of 7B matrices, each larger than any cache; all of them once per round.
  void decode() {
    struct Matrix {
      int out, in;
    };
    const std::vector<Matrix> matrices = {{4096, 4096}, {11008, 4096}, {4096, 11008}};
    double f32_time = 0;
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      std::vector<std::vector<std::uint8_t>> data;
      std::vector<Weight> w;
      double bytes = 0;
      for (const Matrix& m : matrices) {
        data.push_back(weights(type, static_cast<std::size_t>(m.out) * static_cast<std::size_t>(m.in)));
        w.push_back(backend_->weight(type, m.out, m.in, data.back().data()));
        bytes += static_cast<double>(data.back().size());
      }
      const std::vector<float> x = random_floats(11008);
      std::vector<float> y(11008);
      const double t = fastest(clock_, rounds_, [&] {
        for (const Weight& m : w) backend_->linear(x.data(), m, 1, y.data(), false);
      });
      if (type == DType::f32) f32_time = t;
      const double rate = bytes / t / 1e9;
      add({fmt::format("decode, {} MB of {} weights", static_cast<int>(bytes / 1e6), name_of(type)), rate, "GB/s", bandwidth_,
           "read bandwidth", rate / bandwidth_, type == DType::f32 ? ">= 0.9" : ""});
      if (type != DType::f32) {
        add({fmt::format("tokens/s with {} relative to f32", name_of(type)), f32_time / t, "x", 2, "half the bytes", f32_time / t / 2,
             "close to 1"});
      }
    }
  }

  void prefill() {
    struct Shape {
      int rows, out, in;
    };
    for (const Shape& s : {Shape{512, 4096, 4096}, {512, 256, 256}, {512, 512, 256}, {512, 256, 512}, {512, 2048, 256}}) {
      const double flops = 2.0 * s.rows * s.out * static_cast<double>(s.in);
      const std::vector<float> x = random_floats(static_cast<std::size_t>(s.rows) * static_cast<std::size_t>(s.in));
      std::vector<float> y(static_cast<std::size_t>(s.rows) * static_cast<std::size_t>(s.out));
      double blas = 0;
      for (const DType type : {DType::f32, DType::f16}) {
        const std::vector<std::uint8_t> data = weights(type, static_cast<std::size_t>(s.out) * static_cast<std::size_t>(s.in));
        const Weight w = backend_->weight(type, s.out, s.in, data.data());
#ifdef KVSCOPE_OPENBLAS
        if (type == DType::f32) {
          openblas_set_num_threads(threads_);
          blas = flops / 1e9 / fastest(clock_, rounds_, [&] {
                   cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, s.rows, s.out, s.in, 1.0f, x.data(), s.in,
                               reinterpret_cast<const float*>(data.data()), s.in, 0.0f, y.data(), s.out);
                 });
        }
#endif
        const double rate = flops / 1e9 / fastest(clock_, rounds_, [&] { backend_->linear(x.data(), w, s.rows, y.data(), false); });
        add({fmt::format("prefill [{} x {}] by [{} x {}] {}", s.rows, s.in, s.out, s.in, name_of(type)), rate, "GFlop/s", blas,
             "OpenBLAS sgemm f32", blas > 0 ? rate / blas : 0, type == DType::f32 ? ">= 0.6" : ""});
      }
    }
  }

  /// The matrices of a whole small model in turn, so that they come from the L3 cache as in a real step; and one matrix again and again.
  void few_rows() {
    double blas = 0;
#ifdef KVSCOPE_OPENBLAS
    {
      const std::vector<float> x = random_floats(512 * 512), w = random_floats(512 * 512);
      std::vector<float> y(512 * 512);
      openblas_set_num_threads(threads_);
      blas = 2.0 * 512 * 512 * 512 / 1e9 / fastest(clock_, rounds_, [&] {
               cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, 512, 512, 512, 1.0f, x.data(), 512, w.data(), 512, 0.0f, y.data(), 512);
             });
    }
#endif
    double flops = 0;  // of 1 row by one matrix of each shape
    struct Shape {
      int out, in;
    };
    for (const int copies : {24, 1}) {
      double total_one = 0, total_eight = 0;
      for (const Shape& s : {Shape{256, 256}, {512, 256}, {256, 512}, {2048, 256}}) {
        const std::size_t n = static_cast<std::size_t>(s.out) * static_cast<std::size_t>(s.in);
        const int here = s.out == 2048 && copies > 1 ? 8 : copies;
        const std::vector<std::uint8_t> data = weights(DType::f16, n * static_cast<std::size_t>(here));
        std::vector<Weight> w;
        for (int i = 0; i < here; ++i)
          w.push_back(backend_->weight(DType::f16, s.out, s.in, data.data() + 2 * n * static_cast<std::size_t>(i)));
        const std::vector<float> x = random_floats(static_cast<std::size_t>(8 * s.in));
        std::vector<float> y(static_cast<std::size_t>(8 * s.out));
        const auto time = [&](int rows) {
          return 1e6 / here * fastest(clock_, rounds_, [&] {
                   for (const Weight& m : w) backend_->linear(x.data(), m, rows, y.data(), false);
                 });
        };
        const double one = time(1), eight = time(8);
        total_one += one;
        total_eight += eight;
        if (copies == 1) flops += 2.0 * static_cast<double>(n);
        add({fmt::format("8 rows by [{} x {}] f16, {}", s.out, s.in, here > 1 ? fmt::format("{} matrices in turn", here) : "one matrix"),
             eight, "us", one, "1 row", eight / one, "<= 3"});
      }
      add({fmt::format("8 rows, sum of the four shapes, {}", copies > 1 ? "matrices in turn" : "one matrix"), total_eight, "us", total_one,
           "1 row", total_eight / total_one, "<= 3"});
      if (copies == 1) {  // how far each is from what the processor can multiply at all
        for (const auto& [rows, time] : {std::pair(1, total_one), std::pair(8, total_eight)}) {
          const double rate = rows * flops / time / 1e3;
          add({fmt::format("{} row{} by cache-resident matrices", rows, rows > 1 ? "s" : ""), rate, "GFlop/s", blas, "OpenBLAS sgemm 512^3",
               blas > 0 ? rate / blas : 0, ""});
        }
      }
    }
  }

  void attention() {
    for (const int length : {512, 1024, 2048, 4096}) {
      const std::size_t q_size = static_cast<std::size_t>(length) * 8 * 32, kv_size = static_cast<std::size_t>(length) * 32;
      const std::vector<float> q = random_floats(q_size), k = random_floats(kv_size), v = random_floats(kv_size);
      std::vector<float> out(q_size);
      std::vector<double> sum(static_cast<std::size_t>(4 * length));
      const std::vector<std::vector<KvSegment>> slots(4, std::vector<KvSegment>{{k.data(), v.data(), length}});
      const double flops = 4.0 * 8 * 32 * length * (length + 1) / 2.0;  // the causal half, two products
      const ColumnSums columns{.stride = static_cast<std::size_t>(length), .sum = sum.data()};
      for (const bool sums : {false, true}) {
        PromptAttentionJob job{.slots = slots, .rows = length, .q = q.data(), .out = out.data()};
        if (sums) job.columns = {&columns, 1};
        const double t = fastest(clock_, std::min(rounds_, 5), [&] { backend_->attend_prompt(job); });
        add({fmt::format("prompt attention, 8 heads of 32, {} tokens{}", length, sums ? ", with column sums" : ""), t * 1e3, "ms",
             flops / t / 1e9, "GFlop/s", 0, ""});
      }
    }
    for (const int length : {512, 4096}) {
      const std::vector<float> q = random_floats(256), k = random_floats(static_cast<std::size_t>(length) * 32);
      std::vector<float> out(256);
      const KvSegment s{k.data(), k.data(), length};
      std::vector<AttentionJob> jobs(4);
      for (std::size_t i = 0; i < 4; ++i) {
        jobs[i].slots = std::span(&s, 1);
        jobs[i].q = q.data() + i * 64;
        jobs[i].out = out.data() + i * 64;
      }
      const double t = fastest(clock_, rounds_, [&] { backend_->attend(jobs); });
      add({fmt::format("decode attention, 8 heads of 32, {} slots", length), t * 1e6, "us", 0, "", 0, ""});
    }
  }

  nlohmann::json json() const {
    nlohmann::json lines = nlohmann::json::array();
    for (const Line& l : lines_) {
      lines.push_back({{"what", l.what},
                       {"value", l.value},
                       {"unit", l.unit},
                       {"limit", l.limit},
                       {"limit_name", l.limit_name},
                       {"ratio", l.ratio},
                       {"target", l.target}});
    }
    return {{"backend", backend_->name()},
            {"threads", threads_},
            {"rounds", rounds_},
            {"clock", cpu_time_ ? "processor" : "wall"},
            {"lines", lines}};
  }

 private:
  void add(const Line& l) {
    fmt::print("{:<66}{:>10.2f} {:<8}", l.what, l.value, l.unit);
    if (l.limit > 0) fmt::print(" {:>9.2f} {:<19}", l.limit, l.limit_name);
    if (l.ratio > 0) fmt::print(" ratio {:5.2f} {}", l.ratio, l.target.empty() ? "" : fmt::format("(target {})", l.target));
    fmt::print("\n");
    std::fflush(stdout);
    lines_.push_back(l);
  }

  Clock clock_;
  bool cpu_time_;
  int threads_, rounds_;
  ThreadPool pool_;
  std::unique_ptr<Backend> backend_;
  double bandwidth_ = 0;
  std::vector<Line> lines_;
};

}  // namespace
}  // namespace kvscope

int main(int argc, char** argv) {
  int threads = 2, rounds = 15;
  std::string json, only;
  bool cpu_time = false;
  CLI::App app("Backend::linear() and attention of the CPU against the machine's limits");
  app.add_option("--threads", threads, "threads of everything measured")->check(CLI::Range(1, 256));
  app.add_option("--rounds", rounds, "measurements per figure; the fastest counts")->check(CLI::Range(1, 1000));
  app.add_option("--only", only, "decode, prefill, rows or attention")->check(CLI::IsMember({"decode", "prefill", "rows", "attention"}));
  app.add_option("--json", json, "also write the figures to this file");
  app.add_flag("--cpu-time", cpu_time, "processor time instead of wall time; one thread only");
  CLI11_PARSE(app, argc, argv);
  if (cpu_time && threads != 1) return app.exit(CLI::ValidationError("--cpu-time", "adds up threads, so it needs --threads 1"));
  kvscope::Bench bench(threads, rounds, cpu_time);
  if (only.empty() || only == "decode") {
    bench.bandwidth();
    bench.decode();
  }
  if (only.empty() || only == "prefill") bench.prefill();
  if (only.empty() || only == "rows") bench.few_rows();
  if (only.empty() || only == "attention") bench.attention();
  if (!json.empty()) std::ofstream(json) << bench.json().dump(1) << '\n';
  return 0;
}
