// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snapshot/snapshot.h"

namespace kvscope::share {

/// What was asked for, as far as a snapshot does not say it.
struct Asked {
  int n_generate = 0;
  std::uint64_t seed = 0;
  bool by_ids = false;  // the prompt was given as ids: its text may make others
};

using Rows = std::vector<std::pair<std::string, std::string>>;  // name, value

/// Model, prompt, steps, sampling, notices: for people.
Rows settings(const Snapshot& snapshot, const Asked& asked);
/// A command line that computes the same runs again from a file with the prompt, or from its ids where its text is not known or makes
/// others; no names of files are in it: PROMPT, IDS, TEXT and MODEL stand for them. command: "run", "share".
std::string command_line(const Snapshot& snapshot, const Asked& asked, std::string_view command);
/// SHA-256 of a file; of a large one of parts, and it says so (io/file_hash.h), or that it cannot be read.
std::string hash_of(const std::string& path);
/// SHA-256 of the files of a model (arch/model_parts.h) by their names; of large ones of parts, and it says so (io/file_hash.h). stamp: of
/// the files that were read; where they have been changed since, this is said instead.
Rows model_hashes(const std::string& model, const std::string& stamp);

}  // namespace kvscope::share
