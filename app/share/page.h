// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "app/share/how_made.h"
#include "snapshot/fates.h"
#include "snapshot/snapshot.h"
#include "viz/selection.h"

namespace kvscope::share {

/// What a replay page says beside the runs themselves.
struct PageFacts {
  Asked asked;
  Rows files;                              // of the model, with their hashes; empty: not known
  std::vector<std::string> notes;          // what is not in the results, a sentence each
  std::optional<viz::Selection> opens_at;  // nullopt: opening_of the results
};

/// A page in the format kvscope.page/1 (engine/trace/TRACE.md section 7): one HTML file that shows the runs as the window does and asks
/// nobody for anything. No byte of a text stands in it but compressed. Throws Error: no steps, no heads in them, or too many of them.
std::string replay_page(const Snapshot& snapshot, const PageFacts& facts);

/// Results of a page that shows more than one text or set of runs.
struct PagePart {
  SnapshotPtr snapshot;
  PageFacts facts;
};

/// The place of these results among the parts, which they join where they are new.
std::size_t part_of(std::vector<PagePart>& parts, const SnapshotPtr& snapshot, const PageFacts& facts);

/// A scene of a lesson as a page shows it: what is said, in which results, and where one looks.
struct PageScene {
  std::string name, message, text, notes;
  std::size_t part = 0;
  viz::Selection at;
  std::optional<Category> emphasis;
  bool compare = false;  // the comparison of all runs is what it is about
};

struct PageLesson {
  std::string name;
  std::vector<PageScene> scenes;
  std::vector<std::string> left_out;  // names of scenes that have nothing to show here, and of which run
};

/// The same page, led through by a lesson's scenes: a handout that moves. Throws Error as above, or where there is no scene.
std::string lesson_page(const std::vector<PagePart>& parts, const PageLesson& lesson);

/// Where a page opens: at the first step in which a run's choice is not the full cache's, in the head that explains it.
viz::Selection opening_of(const Snapshot& snapshot);

/// Said before a page is written: "run.html will hold the text of the prompt (167 tokens) ...: anyone with the file can read it".
std::string what_a_page_tells(const Snapshot& snapshot, const std::string& file);
std::string what_a_lesson_page_tells(const PageLesson& lesson, const std::string& file);

}  // namespace kvscope::share
