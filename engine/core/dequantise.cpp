// SPDX-License-Identifier: Apache-2.0
#include "core/dequantise.h"

#include <cstdint>
#include <cstring>

#include "core/error.h"
#include "core/half.h"

namespace kvscope {
namespace {

using Bytes = const std::uint8_t*;

float half_at(Bytes p) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, p, sizeof bits);
  return half_to_float(bits);
}

int low(std::uint8_t b) { return b & 15; }
int high(std::uint8_t b) { return b >> 4; }

// scale f16, 32 codes of 8 bits
void q8_0(Bytes p, float* out) {
  const float d = half_at(p);
  for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(static_cast<std::int8_t>(p[2 + i])) * d;
}

// scale f16, 16 bytes: codes 0..15 in the low, 16..31 in the high halves
void q4_0(Bytes p, float* out) {
  const float d = half_at(p);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(low(p[2 + i]) - 8);
    out[16 + i] = d * static_cast<float>(high(p[2 + i]) - 8);
  }
}

void iq4_nl(Bytes p, float* out) {
  const float d = half_at(p);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(kIq4Values[low(p[2 + i])]);
    out[16 + i] = d * static_cast<float>(kIq4Values[high(p[2 + i])]);
  }
}

// scale f16, 32 fifth bits, then as Q4_0
void q5_0(Bytes p, float* out) {
  const float d = half_at(p);
  const auto fifth = [p](int i) { return (p[2 + i / 8] >> (i % 8) & 1) << 4; };
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>((low(p[6 + i]) | fifth(i)) - 16);
    out[16 + i] = d * static_cast<float>((high(p[6 + i]) | fifth(16 + i)) - 16);
  }
}

/// Eight scales and eight minima of six bits in twelve bytes.
struct ScalesAndMinima {
  int scale[8], minimum[8];

  explicit ScalesAndMinima(Bytes p) {
    for (int i = 0; i < 4; ++i) {
      scale[i] = p[i] & 63;
      minimum[i] = p[4 + i] & 63;
      scale[4 + i] = low(p[8 + i]) | (p[i] >> 6) << 4;
      minimum[4 + i] = high(p[8 + i]) | (p[4 + i] >> 6) << 4;
    }
  }
};

/// d f16, dmin f16, scales and minima of eight groups, `fifth`: 32 bytes with a bit per group or nullptr, then 32 bytes for every two
/// groups: the first in the low halves.
void k_groups(Bytes p, Bytes fifth, Bytes codes, float* out) {
  const float d = half_at(p), least = half_at(p + 2);
  const ScalesAndMinima groups(p + 4);
  for (int g = 0; g < 8; ++g) {
    const float scale = d * static_cast<float>(groups.scale[g]), minimum = least * static_cast<float>(groups.minimum[g]);
    const Bytes pair = codes + g / 2 * 32;
    for (int i = 0; i < 32; ++i) {
      const int code = (g % 2 == 0 ? low(pair[i]) : high(pair[i])) | (fifth ? (fifth[i] >> g & 1) << 4 : 0);
      const float product = scale * static_cast<float>(code);
      out[g * 32 + i] = product - minimum;
    }
  }
}

void q4_k(Bytes p, float* out) { k_groups(p, nullptr, p + 16, out); }
void q5_k(Bytes p, float* out) { k_groups(p, p + 16, p + 48, out); }

// 128 bytes of low halves, 64 of two high bits, 16 scales of 8 bits, d f16; each half of the block: 64, 32 bytes, 8 scales
void q6_k(Bytes p, float* out) {
  const float d = half_at(p + 208);
  for (int half = 0; half < 2; ++half) {
    const Bytes codes = p + half * 64, bits = p + 128 + half * 32, scales = p + 192 + half * 8;
    for (int g = 0; g < 4; ++g) {
      for (int i = 0; i < 32; ++i) {
        const std::uint8_t byte = codes[g % 2 * 32 + i];
        const int code = ((g < 2 ? low(byte) : high(byte)) | (bits[i] >> (2 * g) & 3) << 4) - 32;
        const float scale = d * static_cast<float>(static_cast<std::int8_t>(scales[g * 2 + i / 16]));
        out[half * 128 + g * 32 + i] = scale * static_cast<float>(code);
      }
    }
  }
}

using OneBlock = void (*)(Bytes, float*);

OneBlock decoder_of(DType type) {
  switch (type) {
    case DType::q8_0:
      return q8_0;
    case DType::q4_0:
      return q4_0;
    case DType::iq4_nl:
      return iq4_nl;
    case DType::q5_0:
      return q5_0;
    case DType::q4_k:
      return q4_k;
    case DType::q5_k:
      return q5_k;
    case DType::q6_k:
      return q6_k;
    default:
      return nullptr;
  }
}

}  // namespace

void dequantise(DType type, const void* blocks, std::size_t n, float* out) {
  const OneBlock decode = decoder_of(type);
  const Block block = block_of(type);
  KVSCOPE_ASSERT(decode && n % block.numbers == 0);
  Bytes p = static_cast<Bytes>(blocks);
  for (std::size_t i = 0; i < n; i += block.numbers, p += block.bytes) decode(p, out + i);
}

}  // namespace kvscope
