// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/compute.h"
#include "app/cli/inputs.h"
#include "app/cli/interrupt.h"
#include "app/run_options.h"
#include "core/error.h"
#include "io/files.h"
#include "io/result_files.h"
#include "policy/text/named_files.h"
#include "runtime/model/run_files.h"
#ifdef KVSCOPE_SHARE
#include "app/lessons/lesson.h"
#include "app/lessons/scene_look.h"
#include "app/share/page.h"
#include "app/share/stored_run.h"
#endif

namespace kvscope::cli {

#ifdef KVSCOPE_SHARE

namespace {

using namespace kvscope::share;

int n_after_prompt(const Snapshot& s) { return static_cast<int>(s.tokens.size()) - s.n_prompt; }

struct Shared {
  Snapshot snapshot;
  PageFacts facts;
};

Shared stored(const std::string& path) {
  StoredRun run = read_stored_run(path);
  if (!run.notice.empty()) note(fmt::format("{}: {}", path, run.notice));
  Shared out{std::move(run.trace.snapshot), {}};
  out.facts.asked = {n_after_prompt(out.snapshot), run.trace.seed};
  out.facts.notes = std::move(run.trace.missing);
  if (!run.notice.empty()) out.facts.notes.push_back(std::move(run.notice));
  out.facts.notes.insert(out.facts.notes.end(), run.trace.warnings.begin(), run.trace.warnings.end());
  return out;
}

Shared computed(const Arguments& a, const CancelToken& cancel) {
  PageFacts facts;
  Runs runs(a, Detail::why, /*history=*/true, MeasureSet::all(), cancel);
  Snapshot snapshot = runs.run(runs.request());
  facts.asked = {n_after_prompt(snapshot), runs.request().seed, !runs.request().prompt_ids.empty()};
  facts.files = model_hashes(runs.model(), snapshot.model_stamp);
  return {std::move(snapshot), std::move(facts)};
}

/// The results of every scene's stage, and what the scene says of them. `results_of` computes or has what is on stage.
struct Told {
  std::vector<PagePart> parts;
  PageLesson lesson;
};

template <class ResultsOf>
Told told(const Lesson& lesson, const ResultsOf& results_of) {
  Told out;
  out.lesson.name = lesson.name;
  for (const Scene& scene : lesson.scenes) {
    const PagePart results = results_of(scene.stage);
    const Snapshot& s = *results.snapshot;
    viz::Selection at = opening_of(s);
    if (const auto wanted = look_of(scene, s, at)) at = *wanted;
    const viz::Facts facts = viz::lecture_facts(s, at);
    if (!scene.has_point(facts)) {
      const bool of_run = at.lane < static_cast<int>(s.lanes.size());  // what another scene shows may be of another one
      out.lesson.left_out.push_back(of_run ? fmt::format("{} ({})", scene.name, s.lanes[static_cast<std::size_t>(at.lane)].title)
                                           : scene.name);
      continue;
    }
    const Caption caption = caption_of(scene, facts);
    const std::size_t part = part_of(out.parts, results.snapshot, results.facts);
    out.lesson.scenes.push_back({scene.name, caption.message, caption.text, scene.notes, part, at, scene.emphasis, scene.compare});
  }
  return out;
}

/// Scenes of a lesson over what it brings, or over what the arguments name.
Told told(const Arguments& a, const Lesson& lesson, const CancelToken& cancel) {
  if (a.results) {
    if (lesson.staged())
      throw UsageError(
          fmt::format("--scenes: {} brings text and runs of its own; expected no RUN beside it, got {}", a.scenes, *a.results));
    Shared shared = stored(*a.results);
    const PagePart results{std::make_shared<const Snapshot>(std::move(shared.snapshot)), shared.facts};
    return told(lesson, [&](const Stage&) { return results; });
  }
  Runs runs(a, Detail::why, /*history=*/true, MeasureSet::all(), cancel);
  PageFacts facts;
  facts.files = model_hashes(runs.model(), {});
  return told(lesson, [&](const Stage& stage) {
    if (!stage.text && runs.request().follow == Follow::file)
      throw UsageError(
          fmt::format("--scenes: {} is about what the model itself goes on with; expected a prompt or RUN, got a text to follow "
                      "after it (--kept, --session)",
                      a.scenes));
    const RunRequest request = staged(runs.request(), stage);
    if (request.prompt.empty() && request.prompt_ids.empty())
      throw UsageError(fmt::format("--scenes: {} is about a text of yours; expected --prompt, --prompt-file or RUN, got none", a.scenes));
    auto snapshot = std::make_shared<const Snapshot>(runs.run(request));
    facts.asked = {n_after_prompt(*snapshot), request.seed, !request.prompt_ids.empty()};
    return PagePart{std::move(snapshot), facts};
  });
}

/// The page does not take the place of what the lesson reads.
void check_lesson_stays(const Arguments& a, const Lesson& lesson) {
  for (const Scene& scene : lesson.scenes) check_not_read("--out", a.out, scene.stage.file);
  const std::vector<LaneSpec> runs = runs_of(lesson);
  if (runs.empty()) return;
  const RunFiles files(model_of(a));
  for (const LaneSpec& run : runs)
    for (const NamedFile& file : files_named_by(run)) check_not_read("--out", a.out, files.path_of(run, file));
}

std::string page_of_scenes(const Arguments& a, const CancelToken& cancel) {
  const Lesson lesson = read_lesson(a.scenes);
  if (!a.results) refuse_beside(a.given, said_by(lesson), a.scenes, kLessonSays);
  if (!a.trust_files) refuse_files_outside(runs_of(lesson), model_of(a), a.scenes);
  check_lesson_stays(a, lesson);
  const Told all = told(a, lesson, cancel);
  if (!all.lesson.left_out.empty()) note(fmt::format("left out, there is nothing of it here: {}", fmt::join(all.lesson.left_out, ", ")));
  std::string page = lesson_page(all.parts, all.lesson);
  note(what_a_lesson_page_tells(all.lesson, a.out));
  return page;
}

std::string page_of_run(const Arguments& a, const CancelToken& cancel) {
  const Shared shared = a.results ? stored(*a.results) : computed(a, cancel);
  std::string page = replay_page(shared.snapshot, shared.facts);
  note(what_a_page_tells(shared.snapshot, a.out));
  return page;
}

}  // namespace

int share(const Arguments& a) {
  check_targets(a, {{"--out", a.out}});
  const Interrupt interrupt;
  const std::string page = a.scenes.empty() ? page_of_run(a, interrupt.token()) : page_of_scenes(a, interrupt.token());
  interrupt.token().check();
  {
    const Interrupt::Critical writing;
    write_atomically(a.out, page);
  }
  if (a.json)
    return print(nlohmann::ordered_json{{"schema", "kvscope.share/1"}, {"file", a.out}, {"bytes", page.size()}}.dump(
                     -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
                 "\n");
  return a.quiet ? 0 : print(fmt::format("{}: {} bytes\n", a.out, page.size()));
}

#else

int share(const Arguments&) {
  throw UsageError("share: expected a kvscope-cli with the views, got one without; build it with -DKVSCOPE_VIZ=ON");
}

#endif

}  // namespace kvscope::cli
