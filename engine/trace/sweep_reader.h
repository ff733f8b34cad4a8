// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trace/sweep_contents.h"
#include "trace/sweep_item.h"

namespace kvscope {

/// A store of a sweep, read while others fill it. It changes nothing in the folder.
class SweepReader {
 public:
  /// Whether a sweep has said in this folder what it consists of.
  static bool is_store(const std::string& folder);

  /// Of several sweeps in one folder the one that began last. Throws Error: none, or damaged.
  explicit SweepReader(std::string folder);

  const std::string& folder() const { return folder_; }
  std::size_t n_sweeps() const { return n_sweeps_; }  // in the folder
  const SweepContents& contents() const { return contents_; }
  const std::vector<std::optional<SweepResult>>& results() const { return results_; }
  std::size_t n_there() const { return n_there_; }
  /// By item: why what stands in its place is of no use. It counts as not there.
  const std::map<std::size_t, std::string>& problems() const { return problems_; }

  /// Takes what has come since, at most so many files at a time. changed: there is something new; more: there is more to take.
  struct Taken {
    bool changed = false, more = false;
  };
  Taken take(std::size_t most);

 private:
  std::string folder_;
  std::size_t n_sweeps_ = 0, n_there_ = 0;
  SweepContents contents_;
  std::vector<std::optional<SweepResult>> results_;
  std::map<std::size_t, std::string> problems_;
  std::map<std::size_t, std::string> stamps_;  // of a file with a problem: it is read again once it is another one
};

}  // namespace kvscope
