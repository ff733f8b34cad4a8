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

/// A thread for four numbers of a row.
template <class T, DType kType>
__global__ void decode(BlockParts<kType> from, long row_chunks, long first_row, const int* ids, int rows, int first, int width, T* to) {
  const int at = (static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x)) * 4;
  if (at >= width) return;
  const int column = first + at, g = column % kBlockChunk / 32, e = column % 32 / 16, t = column % 16 / 4;
  for (long row = blockIdx.y; row < rows; row += gridDim.y) {
    float numbers[4];
    decode_four(from, (ids ? ids[row] : first_row + row) * row_chunks + column / kBlockChunk, g, e, t, numbers);
    Pack<T, 4> out;
#pragma unroll
    for (int i = 0; i < 4; ++i) out.x[i] = from_float<T>(numbers[i]);
    *reinterpret_cast<Pack<T, 4>*>(to + row * width + at) = out;
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
      const dim3 grid(blocks_for(r.width / 4, kThreads), min(static_cast<unsigned>(r.rows), kMostRows));
      launch("decoding weights", decode<T, kType>, grid, kThreads, 0, work, BlockParts<kType>(m.data, chunks_of(m)),
             static_cast<long>(m.in / kBlockChunk), r.first_row, r.ids, r.rows, r.first, r.width, static_cast<T*>(to));
    });
  });
}

void synthesize_blocks(Work& work, DType type, long blocks, std::uint64_t seed, void* to) {
  launch("synthetic weights", make_blocks, blocks_for(blocks, kThreads), kThreads, 0, work, type, blocks, seed,
         static_cast<unsigned char*>(to));
}

}  // namespace kvscope::cuda
