// SPDX-License-Identifier: Apache-2.0
#include "app/cli/sweep/ranks.h"

#include <dlfcn.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/module_files.h"

namespace kvscope::cli {

namespace {

#if defined(KVSCOPE_MPI_MODULE)
const RankFunctions* open_module() {
  const std::vector<std::string> files = module_files(KVSCOPE_MPI_MODULE);
  for (const std::string& file : files) {
    std::error_code error;
    if (!std::filesystem::exists(file, error)) continue;
    // global: MPI's own plug-ins look for its symbols; never closed: it has exit handlers
    void* const module = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!module)
      throw UsageError(fmt::format("--mpi: the MPI module cannot be opened: {}; MPI's libraries have to be installed", dlerror()));
    const auto function = reinterpret_cast<const RankFunctions* (*)()>(dlsym(module, kRankFunctions));
    const RankFunctions* const found = function ? function() : nullptr;
    if (!found || std::strcmp(found->stamp, KVSCOPE_VERSION) != 0)
      throw UsageError(fmt::format("--mpi: {} is of another build than the program; build both again", file));
    return found;
  }
  throw UsageError(fmt::format("--mpi: the MPI module is missing (looked for {})", fmt::join(files, ", ")));
}
#else
const RankFunctions* open_module() {
  throw UsageError("--mpi: this build has no MPI; install libopenmpi-dev and build again, or use --shard");
}
#endif

}  // namespace

Ranks::Ranks() : functions_(open_module()) { functions_->start(&rank_, &size_); }

void Ranks::send(int to, const std::string& message) const { functions_->send(to, message.data(), static_cast<int>(message.size())); }

std::pair<int, std::string> Ranks::receive(const std::function<void()>& idle) const {
  int from = 0, n = 0;
  while (!functions_->waits(&from, &n)) {  // MPI's own wait would keep a core busy
    idle();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::string message(static_cast<std::size_t>(n), '\0');
  functions_->receive(from, message.data(), n);
  return {from, std::move(message)};
}

}  // namespace kvscope::cli
