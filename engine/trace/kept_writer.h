// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/session/record_sink.h"
#include "snapshot/snapshot.h"

namespace kvscope {

/// Which tokens the runs of a snapshot kept, as kvscope.kept/1 (TRACE.md section 6): what io/kept_file_reader.h reads and the policy that
/// comes with a file repeats. Steps in which nothing left are left out.
class KeptWriter final : public RecordSink {
 public:
  /// Throws Error: the record says only how many slots there are.
  void take(int lane, const StepRecord& step) override;
  /// Of the run whose records were all taken. The full cache is not in it.
  std::string text(const Snapshot& snapshot) const;
  /// Names of the runs in it that merged tokens, which whoever reads the file does not repeat.
  std::vector<std::string> merging(const Snapshot& snapshot) const;
  /// Of a snapshot that has its records.
  static std::string text_of(const Snapshot& snapshot);

 private:
  struct Head {
    std::vector<int> kept;
    std::vector<double> scores;  // of kept; empty: none
    std::vector<std::pair<int, int>> merged;
  };
  struct Step {
    int step = 0;
    std::vector<Head> heads;
  };
  std::vector<std::vector<Step>> lanes_;
};

}  // namespace kvscope
