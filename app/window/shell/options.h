// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <QSize>
#include <QString>

#include "app/window/diagnostics/synthetic_source.h"
#include "runtime/session/run_request.h"
#include "viz/selection.h"

namespace kvscope {

/// A window is made no smaller: 1366 x 768 at 150 %, less the frame and a bar of the desktop.
inline constexpr QSize kLeastWindow{860, 460};

/// What the command line asks for.
struct Options {
  std::string model;                  // folder; the embedded model by default
  std::string engine;                 // "exec:…" or "ssh:…": computes elsewhere; empty: here
  std::optional<std::string> prompt;  // text; the sample by default
  std::string prompt_file;
  std::vector<std::string> lanes;  // specifications; the shipped list by default
  int generate = 12;
  std::string prompt_mode = "prefill";
  std::string view = "inspect";  // inspect | inspector | compare | sweep | lecture | welcome
  bool view_given = false, size_given = false;
  std::vector<std::string> given;    // names of all that were
  std::string scene;                 // of the lecture, by its id
  std::string scenes;                // file with other scenes
  int ghosts = 0;                    // steps that pictures look ahead; 0: they do not
  std::optional<std::string> theme;  // dark | light
  QSize size{1600, 1000};
  std::optional<int> layer, kv_head;  // --select
  std::optional<viz::TokenRange> tokens;
  std::optional<int> step;
  std::optional<viz::StepRange> steps;
  std::optional<int> lane;     // shown; the last one by default
  std::string file;            // to open at the start, whatever it is: it becomes one of the others
  std::string not_opened;      // why it did not: the window says so
  std::string session;         // file to open at the start
  std::string store;           // folder of a sweep to open at the start
  std::size_t memory = 0;      // bytes of recorded results; 0: what is set, else a quarter of the machine's
  std::string journal;         // folder of unsaved sessions; the user's by default
  std::string picture;         // file to write, then leave: .png, .svg, .csv or .json
  std::string report;          // file to write, then leave: .html or .pdf
  bool report_sheets = false;  // a .pdf on A4 sheets instead of one page
  std::string canvas;          // --canvas: only this one; empty: the page
  double scale = 1;            // of a PNG of one canvas
  bool bench_draw = false;
  std::string bench_ui;   // script to play, then leave
  std::string synthetic;  // --synthetic LxHxT
  std::optional<SyntheticSize> synthetic_size;
  std::chrono::steady_clock::time_point program_start = std::chrono::steady_clock::now();

  /// Pictures and figures must not depend on what a user has set.
  QString journalFolder() const;  // empty: nothing is kept
  /// The page on which a session opens that was saved with another: the one asked for beside its name goes before that.
  QString pageOf(const QString& path, const QString& saved) const;
  bool scripted() const { return !picture.empty() || !report.empty() || bench_draw || !bench_ui.empty(); }
  /// A script that names a session must not report on anything else.
  bool ofSession() const { return scripted() && !session.empty(); }
  /// Nothing was asked for: a start as from a menu of programs.
  bool atStartOnly() const;
};

/// Model, prompt and lanes of the options or of the shipped defaults. Throws Error (files).
struct StartState {
  std::string model_folder;
  RunRequest request;
};
StartState startState(const Options& options);
/// The same; a lesson, or a text that stands by itself, that cannot be read is no failure where a window can say so (Options::not_opened).
StartState beginning(Options& options);
/// Session of the sample lecture that comes with the program.
std::string sampleLecture();
/// Folder of the model that comes with the program.
std::string builtInModel();

/// "L4.H1" or "L4". Throws UsageError.
void parseSelect(const std::string& text, Options& options);
/// "85-88" or "85". Throws UsageError.
viz::TokenRange parseTokens(const std::string& text);
viz::TokenRange parseRange(const std::string& option, const std::string& text);
/// "32x32x32768": layers, KV heads, tokens. Throws UsageError.
SyntheticSize parseSynthetic(const std::string& text);
/// "1600x1000". Throws UsageError.
QSize parseSize(const std::string& text);

/// The whole program: 0, 1 (failed, a sentence on stderr) or 2 (bad words on the command line).
int runProgram(int argc, char** argv);

}  // namespace kvscope
