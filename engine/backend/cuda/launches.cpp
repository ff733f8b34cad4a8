// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/launches.h"

#include <cstring>
#include <string_view>
#include <type_traits>

#include "backend/cuda/check.h"
#include "backend/cuda/memory.h"

namespace kvscope::cuda {

namespace {

template <class T>
std::string_view bytes_of(const std::vector<T>& v) {
  static_assert(std::has_unique_object_representations_v<T>);
  return {reinterpret_cast<const char*>(v.data()), v.size() * sizeof(T)};
}

}  // namespace

void Launches::add(const char* what, const void* kernel, dim3 grid, dim3 block, std::size_t shared_bytes,
                   std::span<const Argument> arguments) {
  launches_.push_back({what, kernel, grid, block, static_cast<unsigned>(shared_bytes), static_cast<unsigned>(places_.size())});
  for (const Argument& a : arguments) {
    const std::size_t place = round_up(arguments_.size(), 16);  // the gap is zeros: it is compared too
    arguments_.resize(place + a.bytes);
    std::memcpy(arguments_.data() + place, a.data, a.bytes);
    places_.push_back(static_cast<std::uint32_t>(place));
  }
}

void Launches::clear() {
  launches_.clear();
  arguments_.clear();
  places_.clear();
}

std::vector<void*> Launches::parameters() const {
  std::vector<void*> out;
  for (const std::uint32_t place : places_) out.push_back(const_cast<std::byte*>(arguments_.data()) + place);
  out.push_back(nullptr);  // kernels without arguments have an address too
  return out;
}

void Launches::start(cudaStream_t stream) const {
  std::vector<void*> p = parameters();
  for (const Launch& l : launches_)
    check(cudaLaunchKernel(l.kernel, l.grid, l.block, p.data() + l.first_place, l.shared_bytes, stream), l.what);
}

cudaGraphExec_t Launches::graph() const {
  std::vector<void*> p = parameters();
  cudaGraph_t graph = nullptr;
  check(cudaGraphCreate(&graph, 0), "making a graph");
  cudaGraphExec_t out = nullptr;
  cudaGraphNode_t last = nullptr;
  cudaError_t status = cudaSuccess;
  const char* what = "making a graph";
  for (const Launch& l : launches_) {
    cudaKernelNodeParams node = {};
    node.func = const_cast<void*>(l.kernel);
    node.gridDim = l.grid;
    node.blockDim = l.block;
    node.sharedMemBytes = l.shared_bytes;
    node.kernelParams = p.data() + l.first_place;
    const cudaGraphNode_t before = last;
    status = cudaGraphAddKernelNode(&last, graph, &before, before ? 1 : 0, &node);
    what = l.what;
    if (status != cudaSuccess) break;
  }
  if (status == cudaSuccess) {
    status = cudaGraphInstantiateWithFlags(&out, graph, 0);
    what = launches_.front().what;
  }
  cudaGraphDestroy(graph);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // it is not to be found again by a later call
    return nullptr;
  }
  check(status, what);
  return out;
}

bool Launches::operator==(const Launches& other) const {
  return bytes_of(launches_) == bytes_of(other.launches_) && arguments_ == other.arguments_;
}

std::uint64_t Launches::hash() const {
  const std::hash<std::string_view> hash;
  return hash(bytes_of(launches_)) * 31 + hash(bytes_of(arguments_));
}

}  // namespace kvscope::cuda
