// SPDX-License-Identifier: Apache-2.0
// Causal grouped-query attention and its gradient for training, on x86 processors with AMX or AVX-512 BF16: bf16 in, fp32 sums, bf16 out.
// head_dim is 32, so that one tile product is a whole dot product; the number of tokens is a multiple of 32. Nothing of size
// tokens x tokens is kept: the gradient computes the weights again from the logarithm of their sum (FlashAttention-2, Dao 2023).
//
// Everything is computed transposed, keys x queries: 16 queries lie side by side in a register, so that maxima and sums over keys
// need no shuffling. build: g++ -O3 -march=sapphirerapids (AMX) or -march=cooperlake -shared -fPIC attention_kernel.cpp -o attention.so
#include <immintrin.h>
#ifdef __AMX_BF16__
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdint>
#include <cstring>
#include <vector>

namespace {
constexpr int head_dim = 32, block = 32;
using Bf16 = std::uint16_t;

struct alignas(64) Tile16 {
  Bf16 at[16 * 32];
};  // operand of a tile product: 16 rows of 64 bytes
struct alignas(64) Square {
  float at[block * block];
};  // 32 x 32 sums: four tiles

// A matrix of tokens x head_dim in the three forms a tile product may want it.
struct Packed {
  std::vector<Tile16> pairs_of_dims;    // right operand, sums over head_dim: one tile for 16 tokens
  std::vector<Tile16> pairs_of_tokens;  // right operand, sums over tokens: two tiles (halves of head_dim) for 32 tokens
  std::vector<Tile16> transposed;       // left operand, sums over tokens: two tiles for 32 tokens
};

void pack(const Bf16* rows, long stride, int tokens, bool dims, bool tokens_pairs, bool transposed, Packed& p) {
  if (dims) p.pairs_of_dims.resize(tokens / 16);
  if (tokens_pairs) p.pairs_of_tokens.resize(tokens / 16);
  if (transposed) p.transposed.resize(tokens / 16);
  for (int t = 0; t < tokens; ++t) {
    const Bf16* x = rows + t * stride;
    if (dims) {
      Bf16* to = p.pairs_of_dims[t / 16].at + t % 16 * 2;
      for (int d = 0; d < head_dim; ++d) to[d / 2 * 32 + d % 2] = x[d];
    }
    for (int half = 0; half < 2; ++half) {
      if (tokens_pairs) {
        Bf16* to = p.pairs_of_tokens[t / block * 2 + half].at + t % block / 2 * 32 + t % 2;
        for (int d = 0; d < 16; ++d) to[d * 2] = x[half * 16 + d];
      }
      if (transposed) {
        Bf16* to = p.transposed[t / block * 2 + half].at + t % block;
        for (int d = 0; d < 16; ++d) to[d * 32] = x[half * 16 + d];
      }
    }
  }
}

// product(): out (32 x 32) = or += left (two tiles of 16 rows, `stride` elements apart from row to row) * right (two tiles of 16 columns)
#ifdef __AMX_BF16__
void use_tiles() {
  static thread_local bool allowed = false;
  if (!allowed) syscall(SYS_arch_prctl, 0x1023, 18), allowed = true;  // ARCH_REQ_XCOMP_PERM, tile data
  struct alignas(64) {
    std::uint8_t palette = 1, start = 0, reserved[14] = {};
    std::uint16_t bytes[16] = {};
    std::uint8_t rows[16] = {};
  } config;
  for (int i = 0; i < 8; ++i) config.bytes[i] = 64, config.rows[i] = 16;
  _tile_loadconfig(&config);
}

void end_tiles() { _tile_release(); }

template <bool add>
inline void product(float* out, const Bf16* left0, const Bf16* left1, long stride, const Bf16* right0, const Bf16* right1) {
  asm volatile("" ::: "memory");  // the compiler does not know that tile instructions read memory
  if constexpr (add) {
    _tile_loadd(0, out, 128);
    _tile_loadd(1, out + 16, 128);
    _tile_loadd(2, out + 16 * 32, 128);
    _tile_loadd(3, out + 16 * 32 + 16, 128);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  _tile_loadd(4, left0, stride * 2);
  _tile_loadd(5, left1, stride * 2);
  _tile_loadd(6, right0, 64);
  _tile_loadd(7, right1, 64);
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
  _tile_stored(0, out, 128);
  _tile_stored(1, out + 16, 128);
  _tile_stored(2, out + 16 * 32, 128);
  _tile_stored(3, out + 16 * 32 + 16, 128);
}
#else
void use_tiles() {}
void end_tiles() {}

template <bool add>
inline void product(float* out, const Bf16* left0, const Bf16* left1, long stride, const Bf16* right0, const Bf16* right1) {
  constexpr int rows = 8;  // 16 sums in registers
  const auto pair_of = [](const Bf16* x) {
    int two;
    std::memcpy(&two, x, 4);
    return reinterpret_cast<__m512bh>(_mm512_set1_epi32(two));
  };
  for (int r = 0; r < block; r += rows) {
    const Bf16* left = r < 16 ? left0 + r * stride : left1 + (r - 16) * stride;
    __m512 sum[rows][2];
    for (int i = 0; i < rows; ++i)
      for (int half = 0; half < 2; ++half) sum[i][half] = add ? _mm512_load_ps(out + (r + i) * 32 + half * 16) : _mm512_setzero_ps();
#pragma GCC unroll 4
    for (int p = 0; p < 16; ++p) {
      const auto a = reinterpret_cast<__m512bh>(_mm512_load_si512(right0 + p * 32)),
                 b = reinterpret_cast<__m512bh>(_mm512_load_si512(right1 + p * 32));
#pragma GCC unroll 8
      for (int i = 0; i < rows; ++i) {
        const __m512bh x = pair_of(left + i * stride + p * 2);
        sum[i][0] = _mm512_dpbf16_ps(sum[i][0], a, x);
        sum[i][1] = _mm512_dpbf16_ps(sum[i][1], b, x);
      }
    }
    for (int i = 0; i < rows; ++i)
      for (int half = 0; half < 2; ++half) _mm512_store_ps(out + (r + i) * 32 + half * 16, sum[i][half]);
  }
}
#endif

inline __m512 exp2(__m512 x) {  // 2^x, relative error below 2e-7
  x = _mm512_max_ps(x, _mm512_set1_ps(-126.0f));
  const __m512 whole = _mm512_roundscale_ps(x, 0), f = _mm512_sub_ps(x, whole);
  __m512 y = _mm512_set1_ps(1.5403530e-4f);
  for (float c : {1.3333558e-3f, 9.6181291e-3f, 5.5504109e-2f, 2.4022651e-1f, 6.9314718e-1f, 1.0f})
    y = _mm512_fmadd_ps(y, f, _mm512_set1_ps(c));
  return _mm512_scalef_ps(y, whole);
}

// Two rows of 16 queries, interleaved as a right operand that sums over keys.
inline __m512i pairs(__m512 even, __m512 odd) {
  const __m512i low = _mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(even)));
  const __m512i high = _mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(odd)));
  return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}

inline __m512i lanes(int first) {
  return _mm512_add_epi32(_mm512_set1_epi32(first), _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
}

// Logits of key `j` of a block for 16 queries from `first`, -inf for queries before the key when the block lies on the diagonal.
inline __m512 logits(const Square& s, int j, int half, bool diagonal) {
  const __m512 x = _mm512_load_ps(s.at + j * 32 + half * 16);
  return diagonal ? _mm512_mask_mov_ps(x, _mm512_cmplt_epi32_mask(lanes(half * 16), _mm512_set1_epi32(j)), _mm512_set1_ps(-1e30f)) : x;
}

inline Bf16 to_bf16(float x) {
  std::uint32_t u;
  std::memcpy(&u, &x, 4);
  return static_cast<Bf16>((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
inline float to_float(Bf16 x) {
  const std::uint32_t u = static_cast<std::uint32_t>(x) << 16;
  float f;
  std::memcpy(&f, &u, 4);
  return f;
}
constexpr float log2e = 1.44269504f;
}  // namespace

extern "C" {

// q, out: [batch, tokens, heads, 32]; k, v: [batch, tokens, kv_heads, 32], all bf16. lse: [batch, heads, tokens], the logarithm (base 2)
// of the sum of the weights. scale: of the logits.
void attention_forward(const Bf16* q, const Bf16* k, const Bf16* v, Bf16* out, float* lse, int batch, int tokens, int heads, int kv_heads,
                       float scale) {
  use_tiles();
  const long qs = heads * head_dim, ks = kv_heads * head_dim;
  Packed pq, pv;
  Square s, sums;
  alignas(64) Bf16 p[2][16 * 32];
  const __m512 c = _mm512_set1_ps(scale * log2e);
  for (int b = 0; b < batch; ++b)
    for (int h = 0; h < heads; ++h) {
      const int g = h / (heads / kv_heads);
      const Bf16* key = k + b * tokens * ks + g * head_dim;
      if (h % (heads / kv_heads) == 0) pack(v + b * tokens * ks + g * head_dim, ks, tokens, false, false, true, pv);
      pack(q + b * tokens * qs + h * head_dim, qs, tokens, true, false, false, pq);
      for (int i = 0; i < tokens / block; ++i) {
        const Bf16 *q0 = pq.pairs_of_dims[i * 2].at, *q1 = pq.pairs_of_dims[i * 2 + 1].at;
        __m512 top[2] = {_mm512_set1_ps(-1e30f), _mm512_set1_ps(-1e30f)}, total[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
        for (int j = 0; j <= i; ++j) {
          product<false>(s.at, key + j * block * ks, key + (j * block + 16) * ks, ks, q0, q1);
          for (int half = 0; half < 2; ++half)
            for (int r = 0; r < block; ++r) top[half] = _mm512_max_ps(top[half], logits(s, r, half, i == j));
        }
        std::memset(sums.at, 0, sizeof sums.at);
        for (int j = 0; j <= i; ++j) {
          product<false>(s.at, key + j * block * ks, key + (j * block + 16) * ks, ks, q0, q1);
          for (int half = 0; half < 2; ++half) {
            const __m512 m = top[half];
            for (int r = 0; r < block; r += 2) {
              const __m512 e0 = exp2(_mm512_mul_ps(_mm512_sub_ps(logits(s, r, half, i == j), m), c));
              const __m512 e1 = exp2(_mm512_mul_ps(_mm512_sub_ps(logits(s, r + 1, half, i == j), m), c));
              total[half] = _mm512_add_ps(total[half], _mm512_add_ps(e0, e1));
              _mm512_store_si512(p[half] + r / 2 * 32, pairs(e0, e1));
            }
          }
          product<true>(sums.at, pv.transposed[j * 2].at, pv.transposed[j * 2 + 1].at, 32, p[0], p[1]);
        }
        alignas(64) float z[block], l[block];
        for (int half = 0; half < 2; ++half) {
          _mm512_store_ps(z + half * 16, total[half]);
          _mm512_store_ps(l + half * 16, _mm512_mul_ps(top[half], c));
        }
        for (int t = 0; t < block; ++t) {
          const float inverse = 1 / z[t];
          lse[(b * heads + h) * static_cast<long>(tokens) + i * block + t] = l[t] + __builtin_log2f(z[t]);
          Bf16* o = out + (b * static_cast<long>(tokens) + i * block + t) * qs + h * head_dim;
          for (int d = 0; d < head_dim; ++d) o[d] = to_bf16(sums.at[d * 32 + t] * inverse);
        }
      }
    }
  end_tiles();
}

// Gradients with respect to q, k, v (shapes as above) from that of the output, `go`.
void attention_backward(const Bf16* q, const Bf16* k, const Bf16* v, const Bf16* out, const float* lse, const Bf16* go, Bf16* gq, Bf16* gk,
                        Bf16* gv, int batch, int tokens, int heads, int kv_heads, float scale) {
  use_tiles();
  const long qs = heads * head_dim, ks = kv_heads * head_dim;
  const int blocks = tokens / block;
  Packed pq, pk, po;
  Square s, ds;
  alignas(64) Bf16 weights[2][16 * 32], left[2][16 * 32], right[2][16 * 32];
  std::vector<Square> sum_q(blocks), sum_k(blocks), sum_v(blocks);
  std::vector<float> delta(tokens);
  const __m512 c = _mm512_set1_ps(scale * log2e), grain = _mm512_set1_ps(scale);
  const auto clear = [](std::vector<Square>& x) { std::memset(x.data(), 0, x.size() * sizeof(Square)); };
  for (int b = 0; b < batch; ++b)
    for (int h = 0; h < heads; ++h) {
      const int group = heads / kv_heads, g = h / group;
      const Bf16 *key = k + b * tokens * ks + g * head_dim, *value = v + b * tokens * ks + g * head_dim;
      if (h % group == 0) pack(key, ks, tokens, false, false, true, pk), clear(sum_k), clear(sum_v);
      clear(sum_q);
      const long at = static_cast<long>(b) * tokens * qs + h * head_dim;
      pack(q + at, qs, tokens, true, true, false, pq);
      pack(go + at, qs, tokens, true, true, false, po);
      for (int t = 0; t < tokens; ++t) {
        delta[t] = 0;
        for (int d = 0; d < head_dim; ++d) delta[t] += to_float(out[at + t * qs + d]) * to_float(go[at + t * qs + d]);
      }
      const float* l = lse + (b * heads + h) * static_cast<long>(tokens);
      for (int j = 0; j < blocks; ++j)
        for (int i = j; i < blocks; ++i) {
          product<false>(s.at, key + j * block * ks, key + (j * block + 16) * ks, ks, pq.pairs_of_dims[i * 2].at,
                         pq.pairs_of_dims[i * 2 + 1].at);
          product<false>(ds.at, value + j * block * ks, value + (j * block + 16) * ks, ks, po.pairs_of_dims[i * 2].at,
                         po.pairs_of_dims[i * 2 + 1].at);
          for (int half = 0; half < 2; ++half) {
            const __m512 lq = _mm512_loadu_ps(l + i * block + half * 16), dq = _mm512_loadu_ps(delta.data() + i * block + half * 16);
            for (int r = 0; r < block; r += 2) {
              __m512 p[2], d[2];
              for (int n = 0; n < 2; ++n) {
                p[n] = exp2(_mm512_fmsub_ps(logits(s, r + n, half, i == j), c, lq));
                d[n] = _mm512_mul_ps(_mm512_mul_ps(p[n], grain), _mm512_sub_ps(_mm512_load_ps(ds.at + (r + n) * 32 + half * 16), dq));
                Bf16 *to_p = weights[(r + n) / 16] + (r + n) % 16 * 32 + half * 16,
                     *to_d = left[(r + n) / 16] + (r + n) % 16 * 32 + half * 16;
                _mm256_store_si256(reinterpret_cast<__m256i*>(to_p), reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(p[n])));
                _mm256_store_si256(reinterpret_cast<__m256i*>(to_d), reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(d[n])));
              }
              _mm512_store_si512(right[half] + r / 2 * 32, pairs(d[0], d[1]));
            }
          }
          product<true>(sum_v[j].at, weights[0], weights[1], 32, po.pairs_of_tokens[i * 2].at, po.pairs_of_tokens[i * 2 + 1].at);
          product<true>(sum_k[j].at, left[0], left[1], 32, pq.pairs_of_tokens[i * 2].at, pq.pairs_of_tokens[i * 2 + 1].at);
          product<true>(sum_q[i].at, pk.transposed[j * 2].at, pk.transposed[j * 2 + 1].at, 32, right[0], right[1]);
        }
      for (int t = 0; t < tokens; ++t)
        for (int d = 0; d < head_dim; ++d) gq[at + t * qs + d] = to_bf16(sum_q[t / block].at[d * 32 + t % block]);
      if (h % group == group - 1)
        for (int t = 0; t < tokens; ++t)
          for (int d = 0; d < head_dim; ++d) {
            const long to = (static_cast<long>(b) * tokens + t) * ks + g * head_dim + d;
            gk[to] = to_bf16(sum_k[t / block].at[t % block * 32 + d]);
            gv[to] = to_bf16(sum_v[t / block].at[t % block * 32 + d]);
          }
    }
  end_tiles();
}
}
