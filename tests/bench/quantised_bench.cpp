// SPDX-License-Identifier: Apache-2.0

// Decoding with quantised weights: all matrices of a model of 1.1 billion weights (TinyLlama's shape) for one row, a quarter of its layers
// and its output layer measured and the rest counted as often. Each type beside the same numbers as f32 and f16 (decoded once when the
// model is opened), on the best instruction set and on the best that decodes, and beside blocks of 8 bits against activations rounded to
// one digit of 8 bits.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <functional>
#include <random>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "core/half.h"
#include "core/thread_pool.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kvscope {
namespace {

struct Matrix {
  int out, in;
};
constexpr int kLayers = 22, kMeasured = 5;
constexpr Matrix kLayer[] = {{2048, 2048}, {256, 2048}, {256, 2048}, {2048, 2048}, {5632, 2048}, {5632, 2048}, {2048, 5632}};
constexpr Matrix kHead = {32000, 2048};

/// Random bytes with scales of a usual size.
std::vector<std::uint8_t> random_weights(DType type, std::size_t n) {
  std::vector<std::uint8_t> out(bytes_of(type, n));
  std::minstd_rand random(1);
  if (type == DType::f32) {
    for (std::size_t i = 0; i < n; ++i) {
      const float x = static_cast<float>(random() % 2048) / 65536.0f;
      std::memcpy(out.data() + 4 * i, &x, 4);
    }
    return out;
  }
  for (std::uint8_t& b : out) b = static_cast<std::uint8_t>(random() >> 8);
  const Block block = block_of(type);
  const std::uint16_t small = 0x1800;
  for (std::size_t at = 0; at < out.size(); at += block.bytes) {
    if (!is_quantised(type)) out[at + 1] = static_cast<std::uint8_t>(0x20 | (out[at + 1] & 0x8f));
    if (!is_quantised(type)) continue;
    std::memcpy(out.data() + at + (type == DType::q6_k ? 208 : 0), &small, 2);
    if (type == DType::q4_k || type == DType::q5_k) std::memcpy(out.data() + at + 2, &small, 2);
  }
  return out;
}

bool cpu_time = false;

/// Of the whole program with --cpu-time: on a shared machine the time that a single thread really had.
double seconds() {
  return cpu_time ? static_cast<double>(std::clock()) / CLOCKS_PER_SEC
                  : std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double fastest(int rounds, const std::function<void()>& work) {
  double best = 1e30;
  for (int r = 0; r < rounds; ++r) {
    const double start = seconds();
    work();
    best = std::min(best, seconds() - start);
  }
  return best;
}

struct Measured {
  double seconds = 0;  // of a token
  double bytes = 0;    // of the whole model
};

Measured decode(Backend& backend, DType type, int rows, int rounds) {
  std::vector<std::vector<std::uint8_t>> data;
  std::vector<Weight> weights;
  const auto add = [&](const Matrix& m) {
    data.push_back(random_weights(type, static_cast<std::size_t>(m.out) * static_cast<std::size_t>(m.in)));
    weights.push_back(backend.weight(type, m.out, m.in, data.back().data()));
  };
  for (int l = 0; l < kMeasured; ++l)
    for (const Matrix& m : kLayer) add(m);
  add(kHead);
  const std::vector<float> x(static_cast<std::size_t>(rows) * 5632, 0.5f);
  std::vector<float> y(static_cast<std::size_t>(rows) * 32000);
  const std::size_t n_layers = weights.size() - 1;
  const double layers = fastest(rounds, [&] {
    for (std::size_t i = 0; i < n_layers; ++i) backend.linear(x.data(), weights[i], rows, y.data(), false);
  });
  const double head = fastest(rounds, [&] { backend.linear(x.data(), weights.back(), rows, y.data(), false); });
  double bytes = 0;
  for (std::size_t i = 0; i < n_layers; ++i) bytes += static_cast<double>(data[i].size());
  return {layers * kLayers / kMeasured + head, bytes * kLayers / kMeasured + static_cast<double>(data.back().size())};
}

#if defined(__x86_64__)
/// One row of Q8_0 against activations in 8 bits with a scale per 32: the products of whole numbers, as llama.cpp's.
__attribute__((target("avx2,fma"))) float whole_products(const std::uint8_t* w, const std::int8_t* x, const float* scales, int n) {
  __m256 sum = _mm256_setzero_ps();
  for (int i = 0; i < n; i += 32, w += 34) {
    std::uint16_t half = 0;
    std::memcpy(&half, w, 2);
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + 2)),
                  b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i));
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_sign_epi8(a, a), _mm256_sign_epi8(b, a));
    const __m256 products = _mm256_cvtepi32_ps(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    const std::uint32_t bits = static_cast<std::uint32_t>(half & 0x7fff) << 13;
    float scale;
    std::memcpy(&scale, &bits, 4);
    sum = _mm256_fmadd_ps(products, _mm256_set1_ps(scale * 0x1p112f * scales[i / 32]), sum);
  }
  alignas(32) float lanes[8];
  _mm256_store_ps(lanes, sum);
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

Measured decode_in_8_bits(ThreadPool& pool, int rounds) {
  std::vector<std::vector<std::uint8_t>> data;
  std::vector<Matrix> shapes;
  for (int l = 0; l < kMeasured; ++l)
    for (const Matrix& m : kLayer) shapes.push_back(m);
  shapes.push_back(kHead);
  for (const Matrix& m : shapes)
    data.push_back(random_weights(DType::q8_0, static_cast<std::size_t>(m.out) * static_cast<std::size_t>(m.in)));
  const std::vector<std::int8_t> x(5632, 17);
  const std::vector<float> scales(5632 / 32, 0.01f);
  std::vector<float> y(32000);
  const auto multiply = [&](std::size_t i) {
    const Matrix& m = shapes[i];
    const std::size_t row = bytes_of(DType::q8_0, static_cast<std::size_t>(m.in));
    pool.parallel_for(m.out, 16, [&](int begin, int end) {
      for (int r = begin; r < end; ++r)
        y[static_cast<std::size_t>(r)] = whole_products(data[i].data() + static_cast<std::size_t>(r) * row, x.data(), scales.data(), m.in);
    });
  };
  const double layers = fastest(rounds, [&] {
    for (std::size_t i = 0; i + 1 < shapes.size(); ++i) multiply(i);
  });
  const double head = fastest(rounds, [&] { multiply(shapes.size() - 1); });
  double bytes = 0;
  for (std::size_t i = 0; i + 1 < shapes.size(); ++i) bytes += static_cast<double>(data[i].size());
  return {layers * kLayers / kMeasured + head, bytes * kLayers / kMeasured + static_cast<double>(data.back().size())};
}
#endif

void print(const std::string& what, const Measured& m, int rows) {
  fmt::print("{:<34}{:>8.2f} GB {:>8.1f} tokens/s {:>8.1f} GB/s\n", what, m.bytes / 1e9, rows / m.seconds, m.bytes / m.seconds / 1e9);
  std::fflush(stdout);
}

}  // namespace
}  // namespace kvscope

int main(int argc, char** argv) {
  using namespace kvscope;
  int threads = 2, rounds = 7;
  bool all = false;
  std::string only;
  std::vector<int> row_counts = {1, 4, 64};
  CLI::App app("Decoding with quantised weights in the shape of a model of 1.1 billion");
  app.add_option("--threads", threads)->check(CLI::Range(1, 256));
  app.add_option("--rounds", rounds, "measurements per figure; the fastest counts")->check(CLI::Range(1, 1000));
  app.add_option("--type", only, "this type only, as it is printed");
  app.add_option("--rows", row_counts, "rows at once")->check(CLI::Range(1, 1024));
  app.add_flag("--all", all, "every instruction set; without it the best, and the best of those that decode");
  app.add_flag("--cpu-time", cpu_time, "processor time instead of wall time; one thread only");
  CLI11_PARSE(app, argc, argv);
  if (cpu_time && threads != 1) return app.exit(CLI::ValidationError("--cpu-time", "adds up threads, so it needs --threads 1"));
  ModelConfig c;
  c.n_heads = 32;
  c.n_kv_heads = 4;
  c.head_dim = 64;
  const auto decodes = [](cpu::Isa isa) { return !cpu::kernels<float>(isa).is_whole(DType::q8_0); };
  const std::vector<cpu::Isa> isas = cpu::usable_isas();
  const cpu::Isa best_that_decodes = *std::find_if(isas.rbegin(), isas.rend(), decodes);
  for (const cpu::Isa isa : isas) {
    if (!all && isa != isas.back() && isa != best_that_decodes) continue;
    const auto backend = cpu::make_cpu_backend_for(DType::f32, c, {threads}, isa);
    fmt::print("{}, minima of {} rounds\n", backend->name(), rounds);
    for (const int rows : row_counts) {
      for (const DType type :
           {DType::f32, DType::f16, DType::q8_0, DType::q4_0, DType::q5_0, DType::q4_k, DType::q5_k, DType::q6_k, DType::iq4_nl}) {
        if (!only.empty() && name_of(type) != only) continue;
        print(fmt::format("{}, {} row{}", name_of(type), rows, rows > 1 ? "s" : ""), decode(*backend, type, rows, rounds), rows);
      }
    }
  }
#if defined(__x86_64__)
  ThreadPool pool(threads);
  if (cpu::best_isa() != cpu::Isa::portable) print("Q8_0, activations in 8 bits (AVX2)", decode_in_8_bits(pool, rounds), 1);
#endif
  return 0;
}
