// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/share/how_made.h"
#include "snapshot/snapshot.h"

namespace kvscope::share {

/// What a replay page says beside the runs themselves.
struct PageFacts {
  Asked asked;
  Rows files;                      // of the model, with their hashes; empty: not known
  std::vector<std::string> notes;  // what is not in the results, a sentence each
};

/// A page in the format kvscope.page/1 (engine/trace/TRACE.md section 7): one HTML file that shows the runs as the window does and asks
/// nobody for anything. No byte of a text stands in it but compressed. Throws Error: no steps, no heads in them, or too many of them.
std::string replay_page(const Snapshot& snapshot, const PageFacts& facts);

/// Said before a page is written: "run.html will hold the text of the prompt (167 tokens) ...: whoever has the file can read it".
std::string what_a_page_tells(const Snapshot& snapshot, const std::string& file);

}  // namespace kvscope::share
