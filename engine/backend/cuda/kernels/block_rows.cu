// SPDX-License-Identifier: Apache-2.0
// Quantised weights to the order that a device has them in, and to numbers.
#include "backend/cuda/kernels/blocks.h"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"
#include "backend/device_blocks.h"
#include "backend/synthetic.h"

namespace kvscope::cuda {

namespace {

constexpr int kThreads = 256;
constexpr unsigned kMostRows = 32768;  // of a grid; more rows are taken in turns

/// A thread for two bytes: blocks begin at even addresses.
template <DType kType>
__global__ void arrange(const std::uint16_t* from, long chunks, void* to) {
  using Shape = BlockShape<kType>;
  const long i = static_cast<long>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= chunks * (Shape::kBytes / 2)) return;
  const long chunk = i / (Shape::kBytes / 2);
  const int byte = static_cast<int>(i % (Shape::kBytes / 2)) * 2;
  const BlockParts<kType> parts(to, chunks);
  const auto put = [&](const void* part, int bytes, int at) {
    const_cast<std::uint16_t*>(static_cast<const std::uint16_t*>(part))[(chunk * bytes + at) / 2] = from[i];
  };
  const auto place = [](int code_byte) {
    const int word = code_byte / 4;
    return code_place(word / 8, word / 4 % 2, word % 4) * 4 + code_byte % 4;
  };
  if constexpr (kType == DType::q8_0) {
    const int block = byte / 34, at = byte % 34;
    at == 0 ? put(parts.scales, 16, block * 2) : put(parts.codes, 256, place(block * 32 + at - 2));
  } else if constexpr (kType == DType::q4_k) {
    byte < 16 ? put(parts.scales, 16, byte) : put(parts.codes, 128, place(byte - 16));
  } else {
    if (byte < 128) return put(parts.codes, 128, place(byte));
    if (byte < 192) return put(parts.bits, 64, place(byte - 128));
    byte < 208 ? put(parts.scales, 16, byte - 192) : put(parts.factors, 2, 0);
  }
}

/// A thread for 16 bytes of the codes of a row. first_chunk, chunks: those that the columns [first, first + width) are in.
template <class T, DType kType>
__global__ void decode(BlockParts<kType> from, long row_chunks, int first_chunk, int chunks, BlockRows r, T* to) {
  constexpr int kParts = 4 * kLaneLoads<kType>;
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x), part = i % kParts;
  if (i >= chunks * kParts) return;
  const int chunk = first_chunk + i / kParts, load = part / 4, t = part % 4;
  for (long row = blockIdx.y; row < r.rows; row += gridDim.y) {
    decode_part(from, (r.ids ? r.ids[row] : r.first_row + row) * row_chunks + chunk, load, t, [&](int g, int e, const float(&numbers)[4]) {
      const int at = chunk * kBlockChunk + 32 * g + 16 * e + 4 * t - r.first;
      if (at < 0 || at >= r.width) return;
      Pack<T, 4> out;
#pragma unroll
      for (int k = 0; k < 4; ++k) out.x[k] = from_float<T>(numbers[k]);
      *reinterpret_cast<Pack<T, 4>*>(to + row * r.width + at) = out;
    });
  }
}

__global__ void make_blocks(DType type, long blocks, std::uint64_t seed, unsigned char* to) {
  const long i = static_cast<long>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < blocks) synthetic_block(type, seed, static_cast<std::uint64_t>(i), to + i * static_cast<long>(block_of(type).bytes));
}

long chunks_of(const BlockMatrix& m) { return static_cast<long>(m.out) * (m.in / kBlockChunk); }

}  // namespace

void arrange_blocks(Work& work, const BlockMatrix& m, const void* from, void* to) {
  with_block_type(m.type, [&](auto type) {
    constexpr DType kType = decltype(type)::value;
    launch("arranging weights", arrange<kType>, blocks_for(chunks_of(m) * (BlockShape<kType>::kBytes / 2), kThreads), kThreads, 0, work,
           static_cast<const std::uint16_t*>(from), chunks_of(m), to);
  });
}

void decode_blocks(Work& work, const BlockMatrix& m, const BlockRows& r, DType to_type, void* to) {
  KVSCOPE_ASSERT(r.first % 4 == 0 && r.width % 4 == 0 && r.first + r.width <= m.in);
  with_type(to_type, [&](auto t) {
    with_block_type(m.type, [&](auto type) {
      using T = decltype(t);
      constexpr DType kType = decltype(type)::value;
      const int first_chunk = r.first / kBlockChunk, chunks = (r.first + r.width + kBlockChunk - 1) / kBlockChunk - first_chunk;
      const dim3 grid(blocks_for(chunks * 4 * kLaneLoads<kType>, kThreads), min(static_cast<unsigned>(r.rows), kMostRows));
      launch("decoding weights", decode<T, kType>, grid, kThreads, 0, work, BlockParts<kType>(m.data, chunks_of(m)),
             static_cast<long>(m.in / kBlockChunk), first_chunk, chunks, r, static_cast<T*>(to));
    });
  });
}

void synthesize_blocks(Work& work, DType type, long blocks, std::uint64_t seed, void* to) {
  launch("synthetic weights", make_blocks, blocks_for(blocks, kThreads), kThreads, 0, work, type, blocks, seed,
         static_cast<unsigned char*>(to));
}

}  // namespace kvscope::cuda
