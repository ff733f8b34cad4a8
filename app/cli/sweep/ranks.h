// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>

namespace kvscope::cli {

/// What the MPI module does for the program: messages between the processes that mpirun has started. It is opened while the program runs,
/// so that nothing else needs MPI's libraries. Errors end the job, as MPI has it.
struct RankFunctions {
  const char* stamp;  // of the build
  void (*start)(int* rank, int* size);
  void (*send)(int to, const char* bytes, int n);
  /// True: a message is there, from whom and how long it is.
  bool (*waits)(int* from, int* n);
  void (*receive)(int from, char* bytes, int n);
  void (*finish)();
};
inline constexpr const char* kRankFunctions = "kvscope_rank_functions";  // const RankFunctions* (*)()

/// One of the processes of a job: rank 0 deals, the others work.
class Ranks {
 public:
  /// Throws UsageError: this build or this machine has no MPI, and what to do.
  Ranks();

  int rank() const { return rank_; }
  int size() const { return size_; }
  void send(int to, const std::string& message) const;
  /// Waits for the next message: from whom, and what. `idle` is called now and then; it may throw.
  std::pair<int, std::string> receive(const std::function<void()>& idle) const;
  /// At the end of all work, by every rank. Where one fails instead, mpirun ends the others.
  void finish() const { functions_->finish(); }

 private:
  const RankFunctions* functions_ = nullptr;
  int rank_ = 0, size_ = 1;
};

}  // namespace kvscope::cli
