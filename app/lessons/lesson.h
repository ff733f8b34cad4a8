// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "snapshot/fates.h"
#include "viz/reduce/characters.h"
#include "viz/reduce/lecture.h"

namespace kvscope {

struct LaneSpec;
struct RunRequest;

/// What is on stage while a scene is shown: the text and the runs over it. What is not given stays as it is.
struct Stage {
  std::optional<std::string> text;  // of the prompt
  std::vector<std::string> runs;    // beside the full cache, as on the command line; empty: those that are there
  std::optional<bool> streamed;     // a text or runs without it: not
  std::optional<int> n_generate;
  std::string file;  // that the text was read from; empty: it stands in the lesson
  bool empty() const { return !text && runs.empty() && !streamed && !n_generate; }
};

/// `from` with this on stage. Greedy, every run on the full cache's text: what captions say holds for that.
RunRequest staged(const RunRequest& from, const Stage& stage);

/// One thought of the lecture: what is on stage, what is emphasised, where to look, and what is said.
struct Scene {
  /// Which head and token. loss: where the run misses most; changed: what explains the first answer that differs; differs: that answer
  /// alone; merging: the head that merged most; sink: the head that pays most to the first tokens, and those where they are emphasised;
  /// reads: the head that pays most to a word far back which it has; habit: the head in which `habit` is strongest.
  enum class Look { stay, loss, changed, differs, merging, sink, reads, habit };
  /// The part of the screen that is marked: where the numbers of the caption stand.
  enum class Part { budget, text, heads, attention, next };
  struct Variant {
    std::vector<std::string> conditions;  // names of facts that must hold; empty: always
    std::string message, text;            // the first words, and the rest; {names} stand for facts
  };

  std::string id, name;
  Stage stage;
  std::optional<int> run;      // that is looked at, 0: the full cache
  std::optional<int> against;  // the other run of the comparison's difference
  std::optional<int> answer;   // the step shown predicts this token of the answer, counted from 1
  std::optional<double> read;  // or it is the first by which this share of the text has been read
  std::optional<Category> emphasis;
  Look look = Look::stay;
  viz::Habit habit = viz::Habit::sink;
  std::optional<Part> mark;
  bool compare = false;            // on the page of the comparison
  bool memory = false;             // what a cache takes in models that people know, in place of the panels of the run
  std::vector<std::string> needs;  // facts without which there is nothing to show: paging leaves the scene out
  std::vector<Variant> variants;
  std::string notes;  // for the speaker

  bool has_point(const viz::Facts& facts) const;
};

/// Scenes that belong together. Read from a file, so that a teacher can write others (assets/lessons/WRITING.md).
struct Lesson {
  std::string path, name, about;
  std::vector<Scene> scenes;
  /// It brings text or runs of its own. Others are about whatever is on screen.
  bool staged() const;
};

/// What every scene says itself, so that options which say it are not used (Says of app/run_options.h).
unsigned said_by(const Lesson& lesson);
/// All runs that its scenes bring.
std::vector<LaneSpec> runs_of(const Lesson& lesson);

/// A file { "kvscope": "scenes", "version": 1, "name": …, "scenes": […] } of at most 1 MiB. Throws Error (what, where, expected).
Lesson read_lesson(const std::string& path);
/// Files of those that come with the program, in the order in which they are taught; the first one is about whatever is on screen.
const std::vector<std::string>& built_in_lessons();

struct Caption {
  std::string message, text;
};
/// The first variant whose conditions hold, with the numbers put in.
Caption caption_of(const Scene& scene, const viz::Facts& facts);

}  // namespace kvscope
