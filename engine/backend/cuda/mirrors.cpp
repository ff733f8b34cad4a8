// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/mirrors.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "backend/cuda/check.h"
#include "backend/cuda/device.h"

namespace kvscope::cuda {

namespace {

constexpr std::size_t kAlignment = 16, kSideBySide = 64;  // bytes

}  // namespace

Mirrors::Mirrors() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream"); }

Mirrors::~Mirrors() {
  if (stream_) cudaStreamSynchronize(stream_);
  transfers_.clear();
  if (stream_) cudaStreamDestroy(stream_);
}

void Mirrors::release(Device& device) {
  cudaStreamSynchronize(stream_);
  places_.clear();
  for (const auto& transfer : transfers_) device.give(transfer->gathered);
  transfers_.clear();
}

void Mirrors::wait(Transfer& transfer) {
  if (!transfer.under_way) return;
  check(cudaEventSynchronize(transfer.done.get()), "waiting for a download");
  transfer.under_way = false;
}

Mirrors::Transfer& Mirrors::unused() {
  const auto free = std::ranges::find(transfers_, 0, &Transfer::n_pieces);
  if (free == transfers_.end()) return *transfers_.emplace_back(std::make_unique<Transfer>());
  wait(**free);  // forgotten before it was read
  return **free;
}

void Mirrors::bring(Device& device, std::vector<Piece> pieces) {
  if (pieces.empty()) return;
  for (const Piece& piece : pieces) forget(piece.data, piece.bytes);
  std::ranges::sort(pieces, {}, [](const Piece& piece) { return address(piece.data); });
  std::vector<CopyJob> jobs;
  std::vector<Place> places;
  Transfer& transfer = unused();
  std::size_t offset = 0;
  for (const Piece& piece : pieces) {
    // rows that lie side by side are one piece, with the little between them
    const std::size_t end = jobs.empty() ? 0 : address(jobs.back().from) + jobs.back().bytes, gap = address(piece.data) - end;
    if (!jobs.empty() && gap < kSideBySide) {
      jobs.back().bytes += gap + piece.bytes;
      offset += gap + piece.bytes;
    } else {
      offset = round_up(offset, kAlignment);
      jobs.push_back({nullptr, piece.data, piece.bytes});
      places.push_back({0, offset, &transfer});
      offset += piece.bytes;
    }
    places.back().bytes = jobs.back().bytes;
  }
  device.reserve(transfer.gathered, offset, "results on their way to the host");
  std::byte* const host = transfer.host.bytes(offset);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].to = transfer.gathered.as<std::byte>() + places[i].offset;
    places_[address(jobs[i].from)] = places[i];
  }
  transfer.n_pieces = static_cast<int>(places.size());
  transfer.under_way = true;
  device.copy_together(jobs);
  check(cudaEventRecord(transfer.ready.get(), device.stream()), "marking results");
  check(cudaStreamWaitEvent(stream_, transfer.ready.get(), 0), "waiting for results");
  check(cudaMemcpyAsync(host, transfer.gathered.data(), offset, cudaMemcpyDeviceToHost, stream_), "a download");
  check(cudaEventRecord(transfer.done.get(), stream_), "marking a download");
}

Mirrors::Coming Mirrors::find(const void* from, std::size_t bytes) {
  auto next = places_.upper_bound(address(from));
  if (next == places_.begin()) return {};
  const auto& [begin, place] = *std::prev(next);
  if (address(from) + bytes > begin + place.bytes) return {};
  return {place.transfer->host.bytes(0) + place.offset + (address(from) - begin), place.transfer};
}

void Mirrors::forget(const void* p, std::size_t bytes) {
  if (places_.empty() || bytes == 0) return;
  auto next = places_.lower_bound(address(p) + bytes);  // the first that begins behind it
  while (next != places_.begin()) {
    const auto last = std::prev(next);
    if (last->first + last->second.bytes <= address(p)) return;
    --last->second.transfer->n_pieces;
    next = places_.erase(last);
  }
}

}  // namespace kvscope::cuda
