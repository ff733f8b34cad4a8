// SPDX-License-Identifier: Apache-2.0
#include "app/window/shell/options.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <sstream>

#include <CLI/CLI.hpp>

#include <QApplication>
#include <QFileInfo>

#include "app/lessons/lesson.h"
#include "app/run_options.h"
#include "app/window/canvas/gl_device.h"
#include "app/window/diagnostics/bench_ui.h"
#include "app/window/diagnostics/latency.h"
#include "app/window/diagnostics/script.h"
#include "app/window/files/file_kind.h"
#include "app/window/files/prompt_file.h"
#include "app/window/look/style.h"
#include "app/window/session/page_names.h"
#include "app/window/session/session_file.h"
#include "app/window/session/session_journal.h"
#include "app/window/shell/application.h"
#include "app/window/shell/end_from_outside.h"
#include "app/window/shell/main_window.h"
#include "core/assets.h"
#include "core/byte_size.h"
#include "core/error.h"
#include "core/from_chars.h"
#include "io/files.h"
#include "io/print.h"
#include "io/result_files.h"
#include "io/terminal_text.h"
#include "policy/catalog.h"
#include "remote/address.h"
#include "trace/json_text.h"

namespace kvscope {

namespace {

const char* const kPlainPrompt = "The house number of Helen is 482. What is the house number of Helen? The house number of Helen is";
constexpr std::size_t kPromptLimit = 16u << 20;
constexpr int kMostWhole = std::numeric_limits<int>::max(), kMostSteps = 1 << 20;

const char* const kHelp =
    "A run is --lane NAME[:key=value,...]: slots=N (per head) or ratio=R (of the prompt, the share kept) is its budget, the other keys\n"
    "belong to the policy (kvscope-cli info --policies). Edits by hand follow it, each after an '@': slots=20,layers=0-1 or factor=0.5;\n"
    "evict=17,20-23, pin=40, merge=17,into=20 or restore=5, with step=N; layers= and heads= choose where.\n"
    "\nKeys in the window (F1 lists all of them and changes them; Esc leaves the text):\n"
    "  Alt+1 ... Alt+5     inspect, one head, compare, budget sweep, lecture\n"
    "  Space, Left, Right  play, a step back or forward; with Shift ten; Home and End the first and the latest\n"
    "                      (after a click into the atlas: its cursor, token by token)\n"
    "  P, E, M, R          pin, evict, merge, restore the selected tokens, in a copy of the run\n"
    "  F5, F6, Ctrl+.      generate, one token more, stop\n"
    "  Ctrl+R, Ctrl+F      add runs; find tokens, heads and events\n"
    "  Ctrl+S, Ctrl+E      save the session; export the view\n"
    "  Ctrl+Shift+P        all commands";

std::optional<int> number(std::string_view text) {
  const auto value = number_from<int>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

/// A whole number from 0, in words like those of other options: the library's own write limits to their last digit.
CLI::Validator wholeUpTo(int most) {
  return {[most](std::string& got) {
            const std::optional<int> value = number(got);
            if (value && *value <= most) return std::string();
            const bool above = !got.empty() && std::ranges::all_of(got, [](char c) { return c >= '0' && c <= '9'; });
            const std::string expected = above || most < kMostWhole ? fmt::format("from 0 to {}", most) : std::string("0 or more");
            return fmt::format("expected a whole number, {}, got \"{}\"", expected, got);
          },
          ""};
}

CLI::Validator realFrom(double least, double most) {
  return {[=](std::string& got) {
            const auto value = number_from<double>(got);
            if (value && *value >= least && *value <= most) return std::string();
            return fmt::format("expected a number from {} to {}, got {}", least, most, got);
          },
          ""};
}

std::vector<std::string> shippedLanes() {
  std::vector<std::string> lanes;
  std::istringstream lines(read_text(asset("lanes/default.txt")));
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line[0] != '#') lanes.push_back(line);
  return lanes;
}

/// What --view may name.
std::vector<std::string> viewNames() {
  std::vector<std::string> names;
  for (const QString& name : pageNames()) names.push_back(name.toStdString());
  names.emplace_back("welcome");
  return names;
}

/// A file's ending says what is written; one that says something else is a mistake. Without any, it is the first.
void checkEnding(const std::string& option, const std::string& path, const std::vector<std::string>& known) {
  if (path == "-") throw UsageError(option + ": expected a file, got -: ./- is a file of this name");
  const QString ending = QFileInfo(QString::fromStdString(path)).suffix().toLower();
  std::string words;
  for (const std::string& one : known) {
    if (ending.isEmpty() || "." + ending.toStdString() == one) return;
    words += (words.empty() ? "" : ", ") + one;
  }
  throw UsageError(option + ": expected a file that ends in " + words + ", got \"" + path + "\"");
}

/// A picture or a report in the place of what it is made of would leave neither.
void checkNothingRead(const std::string& option, const std::string& path, const Options& options) {
  for (const std::string* read : {&options.session, &options.prompt_file, &options.scenes, &options.model, &options.bench_ui})
    check_not_read(option, path, *read);
}

}  // namespace

QString Options::journalFolder() const {
  if (!journal.empty()) return QString::fromStdString(journal);
  return scripted() || synthetic_size ? QString() : SessionJournal::defaultFolder();
}

QString Options::pageOf(const QString& path, const QString& saved) const {
  const bool asked = view_given && QFileInfo(QString::fromStdString(session)) == QFileInfo(path);
  return asked ? QString::fromStdString(view) : saved;
}

bool Options::atStartOnly() const {
  return !scripted() && !synthetic_size && report.empty() && file.empty() && model.empty() && !prompt && prompt_file.empty() &&
         session.empty() && store.empty() && lanes.empty() && !view_given && !layer && !tokens && !step;
}

std::string sampleLecture() { return asset("lessons/cat.kvscope"); }

std::string builtInModel() { return asset("models/kvmini"); }

void parseSelect(const std::string& text, Options& options) {
  const auto bad = [&text] { return UsageError("--select: expected L<layer> or L<layer>.H<kv head>, got \"" + text + "\""); };
  if (text.empty() || (text[0] != 'L' && text[0] != 'l')) throw bad();
  const std::size_t dot = text.find('.');
  options.layer = number(std::string_view(text).substr(1, dot == std::string::npos ? dot : dot - 1));
  if (!options.layer) throw bad();
  if (dot == std::string::npos) return;
  if (dot + 1 >= text.size() || (text[dot + 1] != 'H' && text[dot + 1] != 'h')) throw bad();
  options.kv_head = number(std::string_view(text).substr(dot + 2));
  if (!options.kv_head) throw bad();
}

viz::TokenRange parseTokens(const std::string& text) { return parseRange("--tokens", text); }

viz::TokenRange parseRange(const std::string& option, const std::string& text) {
  const std::size_t dash = text.find('-');
  const auto first = number(std::string_view(text).substr(0, dash));
  const auto last = dash == std::string::npos ? first : number(std::string_view(text).substr(dash + 1));
  if (!first || !last || *last < *first) throw UsageError(option + ": expected <first>-<last> or one number, got \"" + text + "\"");
  return {*first, *last};
}

SyntheticSize parseSynthetic(const std::string& text) {
  std::istringstream words(text);
  std::vector<int> sizes;
  for (std::string word; std::getline(words, word, 'x');) sizes.push_back(number(word).value_or(0));
  const bool good =
      sizes.size() == 3 && sizes[0] >= 1 && sizes[0] <= 256 && sizes[1] >= 1 && sizes[1] <= 256 && sizes[2] >= 128 && sizes[2] <= 1 << 20;
  if (!good || text.back() == 'x')
    throw UsageError("--synthetic: expected <layers>x<KV heads>x<tokens>, up to 256 x 256 and 128 to 1048576 tokens, got \"" + text + "\"");
  return {.n_layers = sizes[0], .n_kv_heads = sizes[1], .n_prompt = sizes[2]};
}

QSize parseSize(const std::string& text) {
  const std::size_t x = text.find('x');
  const auto width = x == std::string::npos ? std::nullopt : number(std::string_view(text).substr(0, x));
  const auto height = x == std::string::npos ? std::nullopt : number(std::string_view(text).substr(x + 1));
  if (!width || !height || *width < kLeastWindow.width() || *height < kLeastWindow.height() || *width > 16384 || *height > 16384)
    throw UsageError("--size: expected <width>x<height> from " + std::to_string(kLeastWindow.width()) + "x" +
                     std::to_string(kLeastWindow.height()) + " to 16384x16384, got \"" + text + "\"");
  return {*width, *height};
}

StartState startState(const Options& options) {
  StartState state;
  state.model_folder = options.model.empty() ? builtInModel() : options.model;
  RunRequest& request = state.request;
  if (options.prompt) {
    request.prompt = *options.prompt;
  } else if (!options.prompt_file.empty()) {
    request.prompt = readPromptFile(QString::fromStdString(options.prompt_file)).toStdString();
  } else {
    const std::string sample = asset("prompts/needle.txt");
    request.prompt = std::filesystem::exists(sample) ? read_text(sample, kPromptLimit) : kPlainPrompt;
  }
  if (options.scripted() && options.session.empty() && request.prompt.empty())
    throw UsageError((options.prompt ? std::string("--prompt") : options.prompt_file) + ": expected a text, got an empty one");
  std::vector<std::string> lanes = options.lanes.empty() ? shippedLanes() : options.lanes;
  if (lanes.empty() || lanes.front() != policies().front().name) lanes.insert(lanes.begin(), policies().front().name);
  request.lanes = parse_lane_specs(lanes);
  request.mode = options.prompt_mode == "stream" ? PromptMode::stream : PromptMode::prefill;
  request.n_generate = options.generate;
  return state;
}

namespace {

/// Options of more than one value, as they were written.
struct Written {
  std::string select, tokens, steps, size, memory;
};

void addOptions(CLI::App& cli, Options& options, Written& written) {
  cli.footer(kHelp);
  cli.set_version_flag("--version", "kvscope " KVSCOPE_VERSION);
  cli.add_option("FILE", options.file, "what to open: a session, a trace, kept tokens, a lesson, a text, a model folder or a GGUF file");
  cli.add_option("--model", options.model, "model folder (config.json, model.safetensors, tokenizer.model) or GGUF file")
      ->type_name("PATH")
      ->check([](const std::string& got) { return std::string(got.empty() ? "expected a name, got an empty text" : ""); });
  cli.add_option("--engine", options.engine,
                 "where runs are computed: here (default), exec:PATH, a kvscope-cli of this machine, or ssh:HOST[:PATH], one of another; "
                 "--model is then a folder there")
      ->type_name("WHERE");
  cli.add_option("--prompt", options.prompt, "prompt text")->type_name("TEXT");
  cli.add_option("--prompt-file", options.prompt_file, "file with the prompt")->type_name("FILE")->excludes("--prompt");
  cli.add_option("--lane", options.lanes, "policy with its budget, name:key=value,...; repeat for more runs")->type_name("SPEC");
  cli.add_option("--generate", options.generate, "tokens after the prompt")->check(wholeUpTo(kMostSteps))->capture_default_str();
  cli.add_option("--prompt-mode", options.prompt_mode, "prefill or stream")
      ->check(CLI::IsMember({"prefill", "stream"}))
      ->capture_default_str();
  cli.add_option("--view", options.view, (pageNames().join(", ") + " or welcome").toStdString())
      ->check(CLI::IsMember(viewNames()))
      ->capture_default_str();
  cli.add_option("--scene", options.scene, "scene of the lecture to begin with, e.g. sink")->type_name("NAME");
  cli.add_option("--store", options.store, "folder that kvscope-cli sweep --store fills: its curves on the page of sweeps")
      ->type_name("DIR");
  cli.add_option("--scenes", options.scenes, "file with other scenes for the lecture")->type_name("FILE");
  cli.add_option("--ghosts", options.ghosts, "hatch what leaves within so many steps")->check(wholeUpTo(kMostSteps))->type_name("STEPS");
  cli.add_option("--theme", options.theme, "dark or light")->check(CLI::IsMember({"dark", "light"}));
  cli.add_option("--size", written.size, "size of the window, 1600x1000")->type_name("WxH");
  cli.add_option("--select", written.select, "head to look at, L4.H1")->type_name("HEAD");
  cli.add_option("--tokens", written.tokens, "tokens to look at, 85-88")->type_name("RANGE");
  cli.add_option("--steps", written.steps, "steps that statistics count, 10-40; all by default")->type_name("RANGE");
  cli.add_option("--step", options.step, "step to look at")->check(wholeUpTo(kMostWhole));
  cli.add_option("--show", options.lane, "run to look at, 0: the full cache; default: the last one")->check(wholeUpTo(kMostWhole));
  cli.add_option("--session", options.session, "session to open (*.kvscope)")->type_name("FILE");
  cli.add_option("--memory", written.memory,
                 "memory for recorded results, 2G or 800M, and remembered; a quarter of the machine's by default")
      ->type_name("SIZE");
  cli.add_option("--journal", options.journal, "folder where unsaved work is kept")->type_name("DIR");
  cli.add_option(
         "--picture", options.picture,
         "compute, write a picture to this file and exit: .png the window, .svg its canvases, .csv the numbers of one, .json what the "
         "canvases show, as marks and hashes; .gif and .mp4 a film of all steps, by ffmpeg")
      ->type_name("FILE");
  cli.add_flag("--report-sheets", options.report_sheets, "a .pdf report on A4 sheets for a printer, instead of one page for the screen");
  cli.add_option("--report", options.report,
                 "compute, write a report (.html or .pdf) and exit: prompt, settings, numbers, pictures, versions")
      ->type_name("FILE")
      ->excludes("--picture");
  cli.add_option("--canvas", options.canvas, "with --picture: only atlas, head_grid, head_strip, inspector, timeline or compare")
      ->type_name("NAME");
  cli.add_option("--scale", options.scale, "with --canvas and a .png: pixels per point")->check(realFrom(0.5, 8))->capture_default_str();
  cli.add_option("--synthetic", options.synthetic,
                 "show a made-up cache of this size, 32x32x32768: layers x KV heads x tokens; no model runs")
      ->type_name("LxHxT");
  cli.add_option("--bench-ui", options.bench_ui,
                 "play a script of inputs, print how long each took and exit, with status 1 if a limit is exceeded")
      ->type_name("FILE");
  cli.add_flag("--bench-draw", options.bench_draw, "measure drawing, print the medians and exit");
}

/// The file that stands by itself, as the option that reads it. Throws UsageError.
void takeFile(Options& options) {
  if (options.file.empty()) return;
  const QString path = QString::fromStdString(options.file);
  if (!QFileInfo::exists(path)) throw UsageError(options.file + ": there is no such file or folder");
  const auto take = [&](std::string& option, const char* name) {
    if (!option.empty()) throw UsageError(options.file + ": " + name + " is given already; open one of both");
    option = options.file;
  };
  switch (kindOfFile(path)) {
    case FileKind::model:
      options.file = modelAt(path).toStdString();
      return take(options.model, "--model");
    case FileKind::session:
    case FileKind::trace:
    case FileKind::kept:
      return take(options.session, "--session");
    case FileKind::store:
      take(options.store, "--store");
      if (!options.view_given) options.view = "sweep";
      return;
    case FileKind::lesson:
      take(options.scenes, "--scenes");
      if (!options.view_given) options.view = "lecture";
      return;
    case FileKind::prompt:
      if (options.prompt) throw UsageError(options.file + ": --prompt is given already; open one of both");
      return take(options.prompt_file, "--prompt-file");
  }
}

/// What the file to open says itself is not said once more beside it.
void checkBeside(const Options& options) {
  if (options.session.empty() || !QFileInfo::exists(QString::fromStdString(options.session))) return;
  const FileKind kind = kindOfFile(QString::fromStdString(options.session));
  if (kind == FileKind::kept) return refuse_beside(options.given, kSaysPrompt, options.session, kKeptSays, "--session");
  constexpr unsigned kSaid = kSaysPrompt | kSaysRuns | kSaysMode | kSaysLength | kSaysModel;
  refuse_beside(options.given, kSaid, options.session, kind == FileKind::trace ? kStoredRun : kSessionSays, "--session");
}

/// Throws UsageError.
void readWritten(const CLI::App& cli, const Written& written, Options& options) {
  if (!written.select.empty()) parseSelect(written.select, options);
  if (!written.tokens.empty()) options.tokens = parseTokens(written.tokens);
  if (!written.steps.empty()) {
    const viz::TokenRange range = parseRange("--steps", written.steps);
    options.steps = viz::StepRange{range.first, range.last};
  }
  if (!written.memory.empty()) {
    const std::optional<std::size_t> bytes = parse_size(written.memory);
    if (!bytes) throw UsageError("--memory: expected a size like 2G or 800M, got \"" + written.memory + "\"");
    options.memory = *bytes;
  }
  for (const CLI::Option* o : cli.get_options())  // a variable of the shell that is not set is no option that was not given
    if (o->count() > 0 && o->get_items_expected_max() > 0 && o->get_name() != "--prompt" && std::ranges::count(o->results(), "") > 0)
      throw UsageError(fmt::format("{}: expected a value, got an empty one", o->get_name()));
  // Qt has no such names: it would open and write others.
  for (const CLI::Option* o : cli.get_options())
    for (const std::string& got : o->results()) {
      if (is_utf8(got)) continue;
      if (o->get_name() == "--prompt") throw UsageError("--prompt: expected text in UTF-8, got other bytes");
      throw UsageError(
          fmt::format("{}: expected a name in UTF-8, got \"{}\": the window opens and writes no other; rename it, or take "
                      "kvscope-cli, which does",
                      o->get_name(), got));
    }
  if (options.engine == "here") options.engine.clear();
  if (!options.engine.empty()) remote::parse_address(options.engine);  // says what is wrong before there is a window
  options.view_given = cli.count("--view") > 0;
  for (const CLI::Option* o : cli.get_options())
    if (o->count() > 0) options.given.push_back(o->get_name());
  takeFile(options);
  checkBeside(options);
  options.size_given = !written.size.empty();
  if (options.size_given) options.size = parseSize(written.size);
  if (!options.synthetic.empty()) options.synthetic_size = parseSynthetic(options.synthetic);
  // What would be left out without a word.
  if (!options.canvas.empty() && options.picture.empty()) throw UsageError("--canvas: expected --picture FILE with it, got none");
  if (cli.count("--scale") > 0 && options.canvas.empty()) throw UsageError("--scale: expected --canvas NAME with it, got none");
  if (options.report_sheets && options.report.empty()) throw UsageError("--report-sheets: expected --report FILE.pdf with it, got none");
  if (!options.scene.empty() && options.view != "lecture") {
    if (options.view_given) throw UsageError("--scene: expected --view lecture with it, got --view " + options.view);
    options.view = "lecture";
    options.view_given = true;
  }
  checkEnding("--picture", options.picture, {".png", ".svg", ".csv", ".json", ".gif", ".mp4"});
  checkEnding("--report", options.report, {".html", ".pdf"});
  checkNothingRead("--picture", options.picture, options);
  checkNothingRead("--report", options.report, options);
}

/// Another scene would pass for the one that was asked for.
void checkScene(const Options& options) {
  const Lesson lesson = read_lesson(options.scenes.empty() ? built_in_lessons().front() : options.scenes);
  std::string ids;
  for (const Scene& scene : lesson.scenes) {
    if (scene.id == options.scene) return;
    ids += (ids.empty() ? "" : ", ") + scene.id;
  }
  throw UsageError("--scene: expected one of " + ids + ", got \"" + options.scene + "\"");
}

}  // namespace

/// What its scenes say themselves. A script can be asked nothing.
static unsigned checkLesson(const Options& options) {
  const Lesson lesson = read_lesson(options.scenes);
  if (!options.scripted()) return said_by(lesson);
  const QString path = QString::fromStdString(options.scenes);
  const QStringList outside =
      filesOutside(runs_of(lesson), path, QString::fromStdString(options.model.empty() ? builtInModel() : options.model));
  if (!outside.isEmpty()) throw Error(whyNotUnasked(path, outside).toStdString());
  return said_by(lesson);
}

/// A manager of files shows nobody what goes to the terminal.
StartState beginning(Options& options) {
  unsigned said = 0;  // by the lesson
  try {
    if (!options.scenes.empty()) said = checkLesson(options);
  } catch (const Error& error) {
    if (options.scripted()) throw;
    options.not_opened = error.what();
    options.scenes.clear();
  }
  if (!options.scene.empty()) checkScene(options);
  if (!options.scenes.empty() && options.view == "lecture") refuse_beside(options.given, said, options.scenes, kLessonSays);
  try {
    return startState(options);
  } catch (const Error& error) {
    if (options.scripted() || options.file.empty() || options.prompt_file != options.file) throw;
    options.not_opened = error.what();
    options.prompt_file.clear();
    return startState(options);
  }
}

/// A display that does not answer ends Qt with advice to install it again.
void sayNoDisplay(QtMsgType type, const QMessageLogContext&, const QString& words) {
  if (type == QtInfoMsg || words.contains("Could not load the Qt platform plugin") || words.contains("could not connect to display"))
    return;
  if (type != QtFatalMsg) {
    std::cerr << for_terminal(words.toStdString()) << "\n";
    return;
  }
  std::cerr << "kvscope: the display " << for_terminal(qgetenv("DISPLAY").toStdString())
            << " cannot be opened: set DISPLAY to one that is there or start under xvfb-run; kvscope-cli works without one\n";
  std::_Exit(1);
}

/// Prints the rest of a result. Returns the exit status: 1 if any of it did not get there, which is said.
static int printed(std::string_view rest, int status) {
  try {
    print(rest);
    return status;
  } catch (const Error& not_written) {
    std::cerr << "kvscope: " << for_terminal(not_written.what()) << "\n";
    return 1;
  }
}

/// What --help and --version ask for, or what is wrong with an option. Returns the exit status.
static int endOf(CLI::App& cli, const CLI::ParseError& error) {
  std::ostringstream asked;
  return cli.exit(error, asked, std::cerr) != 0 ? 2 : printed(asked.str(), 0);
}

int runProgram(int argc, char** argv) {
  prepare_for_files();
  Options options;
  CLI::App cli{"Explorer of KV-cache compression in language models.", "kvscope"};
  Written written;
  addOptions(cli, options, written);
  try {
    cli.parse(argc, argv);
    readWritten(cli, written, options);
  } catch (const CLI::ParseError& error) {
    return endOf(cli, error);
  } catch (const UsageError& error) {
    std::cerr << "kvscope: " << for_terminal(error.what()) << "\n";
    return 2;
  }

  StartState start;
  BenchScript bench;
  try {
    start = beginning(options);
    if (!options.bench_ui.empty()) bench = readBenchScript(options.bench_ui);
  } catch (const UsageError& error) {
    std::cerr << "kvscope: " << for_terminal(error.what()) << "\n";
    return 2;
  } catch (const Error& error) {
    std::cerr << "kvscope: " << for_terminal(error.what()) << "\n";
    return 1;
  }
  if (qEnvironmentVariableIsEmpty("DISPLAY") && qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY") &&
      qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) {
    std::cerr << "kvscope: no display: set DISPLAY or start under xvfb-run; kvscope-cli works without one\n";
    return 1;
  }
  spareShaderCache();
  int qt_argc = 1;  // the words are ours, not Qt's
  const QtMessageHandler as_usual = qInstallMessageHandler(sayNoDisplay);
  Application app(qt_argc, argv);
  qInstallMessageHandler(as_usual);
  QApplication::setApplicationName("kvscope");
  QApplication::setOrganizationName("kvscope");
  QApplication::setApplicationVersion(KVSCOPE_VERSION);
  QApplication::setDesktopFileName("kvscope");  // whose icon a desktop shows
  MainWindow window(options, start);
  QObject::connect(&app, &Application::eventDone, &window.timing().latency(), &Latency::eventDone);
  if (!options.bench_ui.empty()) return printed({}, runBenchUi(window, bench));
  if (options.scripted()) return printed({}, runScript(window, options));
  const EndFromOutside end;
  QObject::connect(&end, &EndFromOutside::asked, &window, [&window](int signal) {
    for (const QString& lost : window.document().leave()) std::cerr << "kvscope: " << for_terminal(lost.toStdString()) << "\n";
    QApplication::exit(128 + signal);  // as a shell tells it
  });
  window.show();
  return QApplication::exec();
}

}  // namespace kvscope
