// SPDX-License-Identifier: Apache-2.0
// Everything with CUDA in it is a module that is opened at run time, so that the program starts where driver, device or cuBLAS are missing.
#include <dlfcn.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <vector>

#include "backend/cuda_module.h"
#include "core/error.h"
#include "core/module_files.h"

namespace kvscope {

namespace {

struct Loaded {
  const CudaModule* module = nullptr;
  std::string why_not;
};

#if defined(KVSCOPE_CUDA_MODULE)
std::vector<std::string> candidates() {
  if (const char* wanted = std::getenv("KVSCOPE_CUDA_MODULE_FILE")) return {wanted};
  return module_files(KVSCOPE_CUDA_MODULE);
}

Loaded open_module() {
  std::vector<std::string> looked;
  for (const std::string& file : candidates()) {
    looked.push_back(file);
    std::error_code error;
    if (!std::filesystem::exists(file, error)) continue;
    // never closed: buffers and the CUDA runtime's own exit handlers live as long as the program
    void* const module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!module)
      return {nullptr, fmt::format("the CUDA module cannot be opened: {}; CUDA's runtime libraries have to be installed", dlerror())};
    const auto function = reinterpret_cast<const CudaModule* (*)()>(dlsym(module, kCudaModuleFunction));
    const CudaModule* const found = function ? function() : nullptr;
    if (!found || std::strcmp(found->stamp, kCudaModuleStamp) != 0)
      return {nullptr, fmt::format("{} is of another build than the program; build both again", file)};
    return {found, ""};
  }
  return {nullptr, fmt::format("the CUDA module is missing (looked for {})", fmt::join(looked, ", "))};
}
#else
Loaded open_module() { return {nullptr, "this build has no CUDA backend"}; }
#endif

const Loaded& loaded() {
  static const Loaded once = open_module();  // also the only state of this file; made by one thread
  return once;
}

}  // namespace

CudaStatus cuda_status() {
  if (!loaded().module) {
    CudaStatus none;
    none.why_not = loaded().why_not;
    return none;
  }
  return loaded().module->status();
}

std::unique_ptr<Backend> make_cuda_backend(DType dtype, const ModelConfig& config, const CudaOptions& options) {
  if (!loaded().module) throw Error(fmt::format("device cuda: {}; use --device cpu", loaded().why_not));
  return loaded().module->make(dtype, config, options);
}

}  // namespace kvscope
