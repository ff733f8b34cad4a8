// SPDX-License-Identifier: Apache-2.0
#include "arch/rope_keys.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "io/quote_name.h"

namespace kvscope {
namespace {

constexpr int kMaxPositions = (1 << 30) - 1;  // tokens
constexpr double kMaxFactor = 1e6, kMaxTheta = 1e12;

std::optional<ConfigReader> scaling_of(const ConfigReader& config) {
  return config.object(config.has("rope_scaling") ? "rope_scaling" : "rope_parameters");
}

double read_theta(const ConfigReader& config, double usual) {
  std::optional<double> theta;
  if (config.has("rope_theta")) theta = config.number("rope_theta", 1, kMaxTheta);
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    const auto rope = config.object(key);
    if (!rope || !rope->has("rope_theta")) continue;
    const double inner = rope->number("rope_theta", 1, kMaxTheta);
    // Programs differ in which of them they take, and the logits with them.
    if (theta && *theta != inner)
      rope->fail("rope_theta",
                 fmt::format("expected {} as elsewhere in the file, got {}; keep the one the model was trained with", *theta, inner));
    theta = inner;
  }
  return theta.value_or(usual);
}

int read_dims(const ConfigReader& config, const std::optional<ConfigReader>& rope, const RopeShape& shape) {
  double part = 1;
  for (const ConfigReader* place : {&config, rope ? &*rope : nullptr}) {
    if (!place || !place->has("partial_rotary_factor")) continue;
    part = place->number("partial_rotary_factor", 0, 1);
    const int dims = static_cast<int>(shape.head_dim * part);
    if (part != 1 && !shape.may_be_partial) place->fail("partial_rotary_factor", "expected 1, this family has no partial rotation");
    if (dims < 2 || dims % 2 != 0)
      place->fail("partial_rotary_factor",
                  fmt::format("expected an even number of rotated dimensions, got {} of {}", dims, shape.head_dim));
  }
  return part == 1 ? 0 : static_cast<int>(shape.head_dim * part);
}

int read_original_length(const ConfigReader& config, const ConfigReader& rope, int otherwise) {
  constexpr const char* key = "original_max_position_embeddings";
  return rope.whole_or(key, 1, kMaxPositions, config.whole_or(key, 1, kMaxPositions, otherwise));
}

void read_llama3(const ConfigReader& config, const ConfigReader& rope, int max_positions, RopeScaling& scaling) {
  scaling.kind = RopeScaling::Kind::llama3;
  scaling.low_freq_factor = rope.number("low_freq_factor", 1e-6, kMaxFactor);
  scaling.high_freq_factor = rope.number("high_freq_factor", 1e-6, kMaxFactor);
  if (scaling.high_freq_factor <= scaling.low_freq_factor) {
    rope.fail("high_freq_factor",
              fmt::format("expected more than low_freq_factor = {}, got {}", scaling.low_freq_factor, scaling.high_freq_factor));
  }
  scaling.original_max_position = read_original_length(config, rope, max_positions);
}

/// arXiv:2309.00071, equation 22 and what transformers makes of it.
double yarn_gain(const ConfigReader& rope, double factor) {
  if (rope.has("attention_factor")) return rope.number("attention_factor", 1e-3, 1e3);
  const auto gain = [&](double mscale) { return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0; };
  const double mscale = rope.number_or("mscale", 0, 1e3, 0), of_all = rope.number_or("mscale_all_dim", 0, 1e3, 0);
  return mscale != 0 && of_all != 0 ? gain(mscale) / gain(of_all) : gain(1);
}

void read_yarn(const ConfigReader& config, const ConfigReader& rope, int max_positions, Rope& out) {
  RopeScaling& scaling = out.scaling;
  scaling.kind = RopeScaling::Kind::yarn;
  scaling.original_max_position = read_original_length(config, rope, max_positions);
  scaling.beta_fast = rope.number_or("beta_fast", 1e-6, kMaxFactor, 32);
  scaling.beta_slow = rope.number_or("beta_slow", 1e-6, kMaxFactor, 1);
  scaling.whole_bounds = rope.flag_or("truncate", true);
  out.gain = yarn_gain(rope, scaling.factor);
  if (out.theta <= 1) config.fail("rope_theta", "expected more than 1 with yarn");
}

std::vector<Rope> read_longrope(const ConfigReader& config, const ConfigReader& rope, const RopeShape& shape, Rope short_one) {
  const int original = read_original_length(config, rope, shape.max_positions);
  const double factor = rope.number_or("factor", 1e-6, kMaxFactor, static_cast<double>(shape.max_positions) / original);
  if (original < 2) rope.fail("original_max_position_embeddings", fmt::format("expected at least 2 tokens, got {}", original));
  short_one.gain = rope.has("attention_factor") ? rope.number("attention_factor", 1e-3, 1e3)
                   : factor <= 1                ? 1.0
                                                : std::sqrt(1 + std::log(factor) / std::log(original));
  short_one.scaling.kind = RopeScaling::Kind::longrope;
  const std::size_t pairs = static_cast<std::size_t>((short_one.dims > 0 ? short_one.dims : shape.head_dim) / 2);
  Rope long_one = short_one;
  short_one.scaling.divisors = rope.numbers("short_factor", pairs, 1e-6, kMaxFactor);
  long_one.scaling.divisors = rope.numbers("long_factor", pairs, 1e-6, kMaxFactor);
  short_one.up_to = original;
  short_one.beyond = 1;
  return {short_one, long_one};
}

}  // namespace

std::vector<Rope> read_ropes(const ConfigReader& config, const RopeShape& shape) {
  RopeShape with_theta = shape;
  with_theta.theta = read_theta(config, shape.theta);
  return read_ropes(config, scaling_of(config), with_theta);
}

std::vector<Rope> read_ropes(const ConfigReader& config, const std::optional<ConfigReader>& rope, const RopeShape& shape) {
  Rope out;
  out.theta = rope ? rope->number_or("rope_theta", 1, kMaxTheta, shape.theta) : shape.theta;
  out.dims = read_dims(config, rope, shape);
  if (!rope) return {out};
  const std::string kind = rope->text_or("rope_type", rope->text_or("type", "default"));
  if (kind == "default") return {out};
  if (kind == "longrope" || kind == "su") return read_longrope(config, *rope, shape, out);
  if (kind != "linear" && kind != "llama3" && kind != "yarn") {
    rope->fail("rope_type", fmt::format("unknown kind of scaling {} (known: default, linear, llama3, yarn, longrope)", quote_name(kind)));
  }
  out.scaling.factor = rope->number("factor", 1, kMaxFactor);
  if (kind == "linear") out.scaling.kind = RopeScaling::Kind::linear;
  if (kind == "llama3") read_llama3(config, *rope, shape.max_positions, out.scaling);
  if (kind == "yarn") read_yarn(config, *rope, shape.max_positions, out);
  return {out};
}

}  // namespace kvscope
