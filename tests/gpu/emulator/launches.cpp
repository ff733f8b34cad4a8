// SPDX-License-Identifier: Apache-2.0
// Kernels that are started one by one or as graphs. A graph's nodes run in an order that their dependencies allow and that is as far from
// the one in which they were added as it can be: what should have depended on something shows as a wrong result.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda_runtime.h"

namespace {

constexpr std::size_t kSharedUnasked = 48 * 1024;

struct Kernel {
  emulator::Bind bind = nullptr;
  std::size_t shared = kSharedUnasked;  // bytes that may be asked for
};

std::mutex mutex;
std::map<const void*, Kernel> kernels;
std::atomic<long> n_launches{0}, n_graph_launches{0}, n_graphs{0}, n_graphs_made{0};
std::atomic<bool> room_for_graphs{true};

struct Launch {
  dim3 grid, block;
  std::size_t shared = 0;
  emulator::Call call;
};

void run(const Launch& l, cudaStream_t stream) { emulator::run(l.grid, l.block, l.shared, stream, l.call); }

cudaError_t bind(const void* kernel, dim3 grid, dim3 block, void** parameters, std::size_t shared, Launch& out) {
  const std::lock_guard lock(mutex);
  const auto known = kernels.find(kernel);
  if (known == kernels.end()) return cudaErrorInvalidDeviceFunction;
  if (shared > known->second.shared || grid.x == 0 || grid.y > 65535 || grid.z > 65535) return cudaErrorInvalidValue;
  out = {grid, block, shared, known->second.bind(kernel, parameters)};
  return cudaSuccess;
}

}  // namespace

struct CUgraphNode_st {
  Launch launch;
  std::vector<cudaGraphNode_t> after;
  bool placed = false;
};
struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};
struct CUgraphExec_st {
  std::shared_ptr<const std::vector<Launch>> launches;  // also of launches under way
};

namespace emulator {

void know(const void* kernel, Bind bind) {
  const std::lock_guard lock(mutex);
  kernels[kernel].bind = bind;
}
long launches() { return n_launches; }
long graph_launches() { return n_graph_launches; }
long graphs() { return n_graphs; }
long graphs_made() { return n_graphs_made; }
void set_room_for_graphs(bool room) { room_for_graphs = room; }

}  // namespace emulator

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute, int value) {
  const std::lock_guard lock(mutex);
  const auto known = kernels.find(kernel);
  if (known == kernels.end()) return cudaErrorInvalidDeviceFunction;
  if (value < 0 || static_cast<std::size_t>(value) > emulator::kSharedAtMost) return cudaErrorInvalidValue;
  known->second.shared = static_cast<std::size_t>(value);
  return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** parameters, std::size_t shared, cudaStream_t stream) {
  Launch launch;
  const cudaError_t status = bind(kernel, grid, block, parameters, shared, launch);
  if (status != cudaSuccess) return status;
  ++n_launches;
  run(launch, stream);
  return cudaSuccess;
}

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
  *graph = new CUgraph_st;
  return cudaSuccess;
}
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, std::size_t n,
                                   const cudaKernelNodeParams* p) {
  auto made = std::make_unique<CUgraphNode_st>();
  const cudaError_t status = bind(p->func, p->gridDim, p->blockDim, p->kernelParams, p->sharedMemBytes, made->launch);
  if (status != cudaSuccess) return status;
  made->after.assign(dependencies, dependencies + n);
  *node = made.get();
  graph->nodes.push_back(std::move(made));
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  if (!room_for_graphs) return cudaErrorMemoryAllocation;
  std::vector<Launch> launches;
  const auto ready = [](const auto& node) {
    return !node->placed && std::ranges::all_of(node->after, [](cudaGraphNode_t before) { return before->placed; });
  };
  for (auto& node : graph->nodes) node->placed = false;
  while (launches.size() < graph->nodes.size()) {
    const auto last = std::find_if(graph->nodes.rbegin(), graph->nodes.rend(), ready);
    if (last == graph->nodes.rend()) return cudaErrorInvalidValue;  // they wait for each other
    (*last)->placed = true;
    launches.push_back((*last)->launch);
  }
  *exec = new CUgraphExec_st{std::make_shared<const std::vector<Launch>>(std::move(launches))};
  ++n_graphs;
  ++n_graphs_made;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  ++n_graph_launches;
  for (const Launch& launch : *exec->launches) run(launch, stream);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  --n_graphs;
  return cudaSuccess;
}
