// SPDX-License-Identifier: Apache-2.0
#pragma once

// The primitives of backend.h written as their formulas, in double, one number at a time; and random inputs for them.

#include <gtest/gtest.h>

#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/rope.h"
#include "core/half.h"

namespace kvscope::test {

using Numbers = std::vector<double>;

inline std::size_t size(int a, int b = 1, int c = 1) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * static_cast<std::size_t>(c);
}

inline Numbers random_numbers(std::size_t n, unsigned seed, double scale = 1.0) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0.0, scale);
  Numbers out(n);
  for (double& x : out) x = static_cast<double>(static_cast<float>(normal(random)));  // exact in float and in double
  return out;
}

/// Raw weights of a dtype and what they mean, exactly. Halves cover subnormals.
struct RandomWeight {
  DType dtype;
  std::vector<std::uint8_t> bytes;
  Numbers values;
};

inline RandomWeight random_weight(DType dtype, std::size_t n, unsigned seed) {
  RandomWeight w{dtype, std::vector<std::uint8_t>(n * size_of(dtype)), Numbers(n)};
  std::mt19937 random(seed);
  const Numbers plain = random_numbers(n, seed + 1, 0.5);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint8_t* at = w.bytes.data() + i * size_of(dtype);
    if (dtype == DType::f64) {
      const double x = plain[i] + 1e-11;  // not a float
      std::memcpy(at, &x, 8);
      w.values[i] = x;
    } else if (dtype == DType::f32) {
      const float x = static_cast<float>(plain[i]);
      std::memcpy(at, &x, 4);
      w.values[i] = x;
    } else if (dtype == DType::f16) {
      const std::uint16_t sign = static_cast<std::uint16_t>((random() & 1u) << 15);
      const bool subnormal = random() % 4 == 0;
      const std::uint16_t bits = static_cast<std::uint16_t>(sign | (subnormal ? random() % 0x400 : 0x2000 + random() % 0x1c00));
      std::memcpy(at, &bits, 2);
      w.values[i] = half_to_float(bits);
    } else {
      const float x = static_cast<float>(plain[i]);
      std::uint32_t word;
      std::memcpy(&word, &x, 4);
      const std::uint16_t bits = static_cast<std::uint16_t>(word >> 16);
      std::memcpy(at, &bits, 2);
      w.values[i] = bfloat_to_float(bits);
    }
  }
  return w;
}

inline ModelConfig config_of(int n_heads, int n_kv_heads, int head_dim) {
  ModelConfig c;
  c.n_layers = 1;
  c.n_heads = n_heads;
  c.n_kv_heads = n_kv_heads;
  c.head_dim = head_dim;
  c.dim = n_heads * head_dim;
  return c;
}

/// Numbers in backend memory.
class Device {
 public:
  Device(Backend& b, std::span<const double> values) : backend_(b), n_(values.size()), buffer_(b.allocate(n_ * size_of(b.dtype()))) {
    b.from_double(buffer_.data(), values);
  }
  Device(Backend& b, std::size_t n, double fill = std::nan("")) : Device(b, Numbers(n, fill)) {}

  void* data() { return buffer_.data(); }
  const void* data() const { return buffer_.data(); }
  /// Address of element i.
  void* at(std::size_t i) { return buffer_.as<char>() + i * size_of(backend_.dtype()); }
  Numbers values() const {
    Numbers out(n_);
    backend_.to_double(out, buffer_.data());
    return out;
  }

 private:
  Backend& backend_;
  std::size_t n_;
  Buffer buffer_;
};

/// What becomes of numbers in the backend's type.
inline Numbers rounded(Backend& b, const Numbers& x) { return Device(b, x).values(); }

/// Backend::nearest() of one head.
inline void nearest(Backend& b, const HeadKv& kv, std::span<const int> from, std::span<const int> to, std::span<int> places,
                    std::span<double> cosines) {
  const NearestJob job{.kv = &kv, .from = from, .to = to, .places = places, .cosines = cosines};
  b.nearest({&job, 1});
}

/// y [M, out] = x [M, in] w [out, in]^T.
inline Numbers linear_reference(const Numbers& x, const Numbers& w, int rows, int out, int in) {
  Numbers y(static_cast<std::size_t>(rows * out));
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < out; ++c) {
      double sum = 0;
      for (int i = 0; i < in; ++i) sum += x[static_cast<std::size_t>(r * in + i)] * w[static_cast<std::size_t>(c * in + i)];
      y[static_cast<std::size_t>(r * out + c)] = sum;
    }
  }
  return y;
}

struct AttentionResult {
  Numbers logits, probabilities, out;
};

/// One query row over n slots: softmax(q . k / sqrt(d) + bias) v.
inline AttentionResult attention_reference(std::span<const double> q, std::span<const double> k, std::span<const double> v, int d,
                                           std::span<const double> bias = {}) {
  const std::size_t width = static_cast<std::size_t>(d), n = k.size() / width;
  AttentionResult a{Numbers(n), Numbers(n), Numbers(width)};
  double top = -INFINITY;
  for (std::size_t j = 0; j < n; ++j) {
    double dot = 0;
    for (std::size_t i = 0; i < width; ++i) dot += q[i] * k[j * width + i];
    a.logits[j] = dot / std::sqrt(static_cast<double>(d));
    a.probabilities[j] = a.logits[j] + (bias.empty() ? 0.0 : bias[j]);
    top = std::max(top, a.probabilities[j]);
  }
  double sum = 0;
  for (double& p : a.probabilities) sum += p = std::exp(p - top);
  for (std::size_t j = 0; j < n; ++j) {
    a.probabilities[j] /= sum;
    for (std::size_t i = 0; i < width; ++i) a.out[i] += a.probabilities[j] * v[j * width + i];
  }
  return a;
}

/// Half-split rotary embedding of one row at one position.
inline Numbers rope_reference(std::span<const double> x, double position, const std::vector<double>& frequencies) {
  const std::size_t half = x.size() / 2;
  Numbers y(x.size());
  for (std::size_t i = 0; i < half; ++i) {
    const double c = std::cos(position * frequencies[i]), s = std::sin(position * frequencies[i]);
    y[i] = x[i] * c - x[half + i] * s;
    y[half + i] = x[half + i] * c + x[i] * s;
  }
  return y;
}

/// Largest |a - b| over the largest |b|.
inline double distance(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) return INFINITY;
  double diff = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) || std::isnan(b[i])) return INFINITY;
    if (a[i] != b[i]) diff = std::max(diff, std::abs(a[i] - b[i]));
    if (std::isfinite(b[i])) size = std::max(size, std::abs(b[i]));
  }
  return diff == 0 ? 0 : diff / size;
}

inline double tolerance(DType t) { return t == DType::f64 ? 1e-13 : 5e-6; }

/// A backend to be held against the formulas.
struct Variant {
  std::string name;  // letters, digits and _
  DType dtype = DType::f32;
  std::function<std::unique_ptr<Backend>(const ModelConfig& config, int n_threads)> make;
  int rows_alike = INT_MAX;        // up to here the number of rows does not change a row's bits in linear()
  bool steps_like_prompts = true;  // attend() makes the bits of attend_prompt()
  bool whole_numbers = false;      // linear() multiplies quantised weights as whole numbers: not the bits of dequantised ones
  std::string why_not = {};        // not empty: cannot run here
};

/// Those of this test program: every arithmetic of the CPU backend (cpu_variants.cpp), or CUDA's (gpu/variants.cpp).
std::vector<Variant> variants();
/// The same with activations and caches in half the bytes: of CUDA's alone.
std::vector<Variant> narrow_variants();

inline void PrintTo(const Variant& v, std::ostream* out) { *out << v.name; }
inline std::string name_of_variant(const Variant& v) { return v.name; }

/// A test of one variant; skipped where that cannot run.
class OfVariant : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    if (!GetParam().why_not.empty()) GTEST_SKIP() << GetParam().why_not;
  }
  static std::unique_ptr<Backend> make(const ModelConfig& config, int n_threads = 2) {
    return GetParam().why_not.empty() ? GetParam().make(config, n_threads) : nullptr;
  }
};

}  // namespace kvscope::test
