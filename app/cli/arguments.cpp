// SPDX-License-Identifier: Apache-2.0
#include "app/cli/arguments.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <span>
#include <string_view>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "app/cli/evaluation_options.h"
#include "app/cli/help.h"
#include "app/cli/lane_options.h"
#include "app/cli/option_checks.h"
#include "app/run_options.h"
#include "core/byte_size.h"
#include "core/error.h"
#include "policy/catalog.h"
#include "policy/text/params.h"
#include "runtime/model/synthetic_model.h"
#include "trace/trace_writer.h"

namespace kvscope::cli {

namespace {

/// Option values as text, before they are turned into an Arguments.
struct Words {
  std::string precision = "f32", prompt_mode = "prefill", follow, detail = "slots";
  std::vector<std::string> budgets, what_ifs;
  std::string memory, logits;
};

void add_common(CLI::App& app, Arguments& a, Words& w) {
  app.add_option(
         "--model", a.model,
         "model folder (config.json, model.safetensors, tokenizer.json or tokenizer.model) or GGUF file; default: the embedded model")
      ->type_name("FOLDER");
  checked(
      app.add_option("--device", a.device, "auto (default: cuda where there is a device and the model is large, else cpu), cpu or cuda"),
      "DEVICE", one_of({"auto", "cpu", "cuda"}));
  checked(app.add_option("--precision", w.precision,
                         "f32 (default), f64 (cpu only), f16 or bf16 (cuda only); numbers of the computation and the cache"),
          "TYPE", one_of({"f32", "f64", "f16", "bf16"}));
  checked(app.add_option("--threads", a.threads, "threads; default: one per core"), "N", number_in(0, 1024, "0..1024"));
  app.add_flag("--json", a.json, "machine-readable result on stdout");
  app.add_flag("--quiet", a.quiet, "no progress line, no summary");
}

void add_trace(CLI::App& app, Arguments& a, Words& w) {
  app.add_option("--out", a.out, "file to write; - or (with --json) nothing: stdout")->type_name("FILE.json");
  app.add_option("--out-kept", a.out_kept, "write which tokens every run kept (kvscope.kept/1), too")->type_name("FILE.json");
  checked(app.add_option("--detail", w.detail, "summary, events, slots (default) or why: how much the trace holds"), "DETAIL",
          one_of({"summary", "events", "slots", "why"}));
  checked(app.add_option("--logits", w.logits, "so many of the highest logits of every step, or all; default: 5"), "N|all",
          [](std::string& got) { return got == "all" ? std::string() : number_in(1, 1 << 24, "all or a whole number from 1")(got); });
}

void add_share(CLI::App& app, Arguments& a) {
  app.add_option("RUN", a.results, "a trace of kvscope (--detail slots or why), or a session with results; without it a prompt is run")
      ->type_name("FILE");
  app.add_option("--out", a.out, "page to write")->type_name("FILE.html");
  app.add_option(
         "--scenes", a.scenes,
         "a lesson (assets/lessons/WRITING.md) whose scenes lead through the page; those with text and runs of their own need no prompt")
      ->type_name("FILE.json");
}

void add_stored(CLI::App& app, Arguments& a) {
  app.add_option("RUN", a.results, "a trace of kvscope, or a session with results: its texts and figures; without it a prompt is run")
      ->type_name("FILE");
}

void add_chat(CLI::App& app, Arguments& a, const char* what) {
  CLI::Option* chat =
      app.add_flag("--chat", a.chat,
                   fmt::format("the {} is a user's message: it is written as the model's chat template wants; names of special "
                               "tokens in it are text, unless --special-tokens is given, too",
                               what));
  app.add_option("--system", a.system, "with --chat: the system's message before it")->type_name("TEXT")->needs(chat);
  app.add_option(
         "--chat-arg", a.chat_args,
         "with --chat: what else the template asks for, enable_thinking=false; a value is JSON, or else a text; may be given several times")
      ->type_name("NAME=VALUE")
      ->take_all()
      ->allow_extra_args(false)
      ->needs(chat);
}

void add_prompt(CLI::App& app, Arguments& a, Words& w) {
  app.add_option("--prompt", a.prompt, "prompt text")->type_name("TEXT");
  app.add_option("--prompt-file", a.prompt_file, "file with the prompt text")->type_name("FILE");
  app.add_option("--prompt-ids", a.prompt_ids, "prompt as token ids, 1,300,17 (nothing is put before them)")->type_name("IDS");
  app.add_option("--tokens-file", a.tokens_file, "prompt as token ids: a JSON list, or an object with the list under \"tokens\"")
      ->type_name("FILE.json");
  app.add_option("--question", a.question,
                 "what is asked about the prompt: put behind it, and its tokens are the window of policies that look at a question")
      ->type_name("TEXT");
  CLI::Option* special = app.add_flag("--special-tokens", a.special_names,
                                      "names of special tokens (<|end|>) in the prompt are those tokens; default: text like any other");
  app.add_flag("--no-start-token", a.no_start, "with --special-tokens: the prompt begins itself, as a chat template's text does")
      ->needs(special);
  add_chat(app, a, "prompt");
  checked(app.add_option("--generate", a.generate,
                         "tokens after the prompt; default: run and sweep 32, share 8, trace 0, with --follow FILE all of its tokens"),
          "N", number_in(0, 1 << 24, "a whole number from 0"));
  app.add_option(
         "--follow", w.follow,
         "what runs are fed after the prompt: reference (tokens of the full cache; default of trace, share and sweep), self (each its own; "
         "run's default) or FILE (its text; its ids when it ends in .json)")
      ->type_name("WHAT");
  checked(app.add_option("--temperature", a.temperature, "sampling temperature; default 0: the most likely token"), "T",
          number_in(0.0, 100.0, "0..100"));
}

void add_prompt_mode(CLI::App& app, Words& w) {
  checked(app.add_option("--prompt-mode", w.prompt_mode,
                         "prefill (default: the whole prompt, then one compression) or stream (token by token)"),
          "MODE", one_of({"prefill", "stream"}));
}

void add_run(CLI::App& app, Arguments& a, Words& w) {
  add_prompt(app, a, w);
  add_lanes(app, a.lane_texts);
  app.add_option(
         "--budget", w.budgets,
         "budget of single heads of a run, beside its policy: run=1,layers=2,heads=1,slots=40 or factor=0.5; may be given several times")
      ->type_name("EDIT")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--what-if", w.what_ifs,
                 "a fork of a run with tokens changed by hand: run=1,step=12,layers=2,heads=1,evict=17,23 (pin, evict, merge with into=N, "
                 "restore); may be given several times, all of a run make one fork")
      ->type_name("EDIT")
      ->take_all()
      ->allow_extra_args(false);
  add_prompt_mode(app, w);
  add_seed(app, a);
  app.add_flag("--ignore-eos", a.ignore_eos, "go on where the texts of all runs have ended (the model's end tokens)");
  checked(
      app.add_option("--memory", w.memory,
                     "memory for recorded results, 2G or 800M; default: a quarter of the machine's, at least 1G. Past it the oldest steps "
                     "keep only figures; a trace is written while it runs and needs none"),
      "SIZE", [](std::string& got) { return parse_size(got) ? std::string() : expected_got("a size like 2G or 800M", got); });
  app.add_option(
         "--kept", a.kept,
         "tokens that another program kept (kvscope.kept/1): its prompt, the tokens it read then, and its runs beside those of --lane")
      ->type_name("FILE.json");
  app.add_option("--session", a.session,
                 "a session of the window (*.kvscope): its model, prompt, runs, modes, seed and tokens after the prompt")
      ->type_name("FILE.kvscope");
  app.add_flag("--trust-files", a.trust_files, "read files that the runs of the session, or of a lesson, name, wherever they lie");
}

void add_heads(CLI::App& app, Arguments& a) {
  app.add_option("--out-retrieval", a.out_retrieval,
                 "write the retrieval scores [layers][heads]; as retrieval_heads.json in a model's folder they are its default")
      ->type_name("FILE.json");
  app.add_option(
         "--out-distant", a.out_distant,
         "write the attention outside sinks and recent [layers][KV heads]; as distant_heads.json in a model's folder they are its default")
      ->type_name("FILE.json");
  app.add_option(
         "--out-characters", a.out_characters,
         "write what the query heads look at in prose: sinks, neighbours, the token before, copies; as heads.json in a model's folder the window shows it")
      ->type_name("FILE.json");
  app.add_option("--out-texts", a.out_texts, "write the texts that were asked, and their token ids")->type_name("FILE.json");
  app.add_option("--text", a.text, "file with the prose in which a number is hidden; default: a page of a novel")->type_name("FILE");
  checked(app.add_option("--context", a.context, "tokens of prose at most, whole sentences; default 256"), "N",
          number_in(1, 1 << 24, "a whole number from 1"));
  checked(app.add_option("--depths", a.depths, "where the number is hidden, 0 (start) to 1 (end); default 0,0.25,0.5,0.75,1"), "D,...",
          number_in(0.0, 1.0, "0..1"))
      ->delimiter(',')
      ->expected(1, 1000);
  checked(app.add_option("--samples", a.samples, "texts per depth; default 4"), "N", number_in(1, 100000, "1..100000"));
  checked(app.add_option("--sinks", a.sinks, "distant: first tokens that do not count; default 4"), "N",
          number_in(0, 1 << 24, "a whole number from 0"));
  checked(app.add_option("--recent", a.recent, "distant: newest tokens that do not count; default 64"), "N",
          number_in(0, 1 << 24, "a whole number from 0"));
  add_seed(app, a);
}

void add_tokens(CLI::App& app, Arguments& a) {
  app.add_option("--model", a.model, "folder with tokenizer.json or tokenizer.model; default: the embedded model")->type_name("FOLDER");
  app.add_option("--prompt,--text", a.prompt, "the text")->type_name("TEXT");
  app.add_option("--prompt-file,--text-file", a.prompt_file, "file with the text")->type_name("FILE");
  add_chat(app, a, "text");
  app.add_flag("--special-tokens", a.special_names,
               "names of special tokens (<|end|>) in the text are those tokens; default: text like any other");
  app.add_flag("--json", a.json, "machine-readable result on stdout");
}

void add_models(CLI::App& app, Arguments& a, Words& w) {
  app.add_option("--dir", a.folders, "look into this folder, too; may be given several times")
      ->type_name("DIR")
      ->take_all()
      ->allow_extra_args(false);
  checked(app.add_option("--precision", w.precision, "f32 (default), f64, f16 or bf16: numbers of the cache whose memory is said"), "TYPE",
          one_of({"f32", "f64", "f16", "bf16"}));
  app.add_flag("--json", a.json, "machine-readable result on stdout");
  app.add_flag("--quiet", a.quiet, "no progress line");
}

/// In any case, as quantised types are written both ways.
std::string read_weights(const std::string& got, std::optional<DType>& out) {
  std::vector<std::string_view> names;
  for (const DType type : kSyntheticWeights) {
    const std::string_view name = names.emplace_back(name_of(type));
    if (std::ranges::equal(name, got, [](char x, char y) {
          return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
        }))
      out = type;
  }
  return out ? "" : expected_got(fmt::format("{}", fmt::join(names, " or ")), got);
}

void add_bench(CLI::App& app, Arguments& a) {
  checked(app.add_option("--shape", a.shape, "measure a published model's shape with synthetic weights instead of --model"), "SHAPE",
          one_of(known_shapes()));
  checked(app.add_option("--weights", "type of the shape's weights: f32, f16, bf16 (default), Q8_0, Q6_K or Q4_K"), "TYPE",
          [&a](std::string& got) { return read_weights(got, a.weights); });
  checked(app.add_option("--context", a.cache_sizes, "tokens in the cache; default 128,4096,32768 as far as the model goes"), "N,...",
          number_in(1, 1 << 24, "a whole number from 1"))
      ->delimiter(',')
      ->expected(1, 100);
  checked(app.add_option("--batch", a.batch, "rows of a step, each with its own cache; default 1"), "N", number_in(1, 1024, "1..1024"));
  add_lanes(app, a.lane_texts);
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* o : app.get_options()) names.push_back(o->get_name());
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* s : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(s->get_name());
  return names;
}

void check_prompt(const Arguments& a) {
  const int given = a.prompt.has_value() + a.prompt_file.has_value() + a.prompt_ids.has_value() + a.tokens_file.has_value() +
                    a.session.has_value() + a.kept.has_value() + a.results.has_value() + !a.texts.empty() + a.hidden_numbers;
  if (given == 0 && !a.scenes.empty()) return;  // a lesson may bring its own
  if (given != 1) {
    const char* const more = a.command == Command::sweep   ? ", --texts, --hidden-numbers"
                             : a.command == Command::trace ? ", --session, --kept"
                                                           : ", --session, --kept, RUN";
    throw UsageError(fmt::format("expected exactly one of --prompt, --prompt-file, --prompt-ids, --tokens-file{}, got {}", more,
                                 given == 0 ? "none" : std::to_string(given)));
  }
}

/// What the file says itself is not said once more beside it.
void check_beside(const CLI::App& command, Arguments& a) {
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0) a.given.push_back(option->get_name());
  if (a.results) refuse_beside(a.given, kSaysAll, *a.results, kStoredRun);
  if (a.session) refuse_beside(a.given, kSaysText | kSaysRuns | kSaysHow, *a.session, kSessionSays);
  if (a.trust_files && !a.session && a.scenes.empty())
    throw UsageError(fmt::format("--trust-files: expected --session{}, got none", a.command == Command::share ? " or --scenes" : ""));
}

/// The words that need a look at each other or at the catalog.
void resolve(const CLI::App& command, Arguments& a, const Words& w) {
  check_beside(command, a);
  for (const DType precision : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    if (name_of(precision) == w.precision) a.precision = precision;
  }
  if (a.command == Command::bench) {
    if (!a.shape.empty() && !a.model.empty()) throw UsageError("bench: expected --shape or --model, got both");
    if (a.shape.empty() && a.weights) throw UsageError("bench: --weights: expected --shape, too; a model's weights are those of its files");
    a.lanes = parse_lane_specs(a.lane_texts);
  }
  if (a.command == Command::tokens && a.prompt.has_value() == a.prompt_file.has_value())
    throw UsageError(fmt::format("tokens: expected exactly one of --prompt, --prompt-file, got {}", a.prompt ? "both" : "none"));
  if (a.command == Command::serve && !a.stdio)
    throw UsageError("serve: expected --stdio, got nothing; there is no other way to talk to it");
  a.prompt_mode = w.prompt_mode == "stream" ? PromptMode::stream : PromptMode::prefill;
  if (a.command == Command::sweep || a.command == Command::needle || a.command == Command::ppl) {
    a.lanes = parse_lane_specs(a.lane_texts);
    check_evaluation(a);
  }
  const bool one_run = a.command == Command::run || a.command == Command::trace || a.command == Command::share;
  if (!one_run && a.command != Command::sweep) return;
  a.memory = parse_size(w.memory).value_or(0);
  if (!w.logits.empty()) a.logits = w.logits == "all" ? std::numeric_limits<int>::max() : std::stoi(w.logits);
  check_prompt(a);
  if ((!a.texts.empty() || a.hidden_numbers) && (!w.follow.empty() || a.chat || a.special_names))
    throw UsageError(fmt::format("{}: every run goes on by itself after the question, as it stands there; expected no {}",
                                 a.hidden_numbers ? "--hidden-numbers" : "--texts",
                                 !w.follow.empty() ? "--follow"
                                 : a.chat          ? "--chat"
                                                   : "--special-tokens"));
  if ((!a.texts.empty() || a.hidden_numbers) && !a.question.empty())
    throw UsageError(
        fmt::format("{}: every text is asked its own question, once its context is compressed; expected no --question beside it{}",
                    a.hidden_numbers ? "--hidden-numbers" : "--texts", a.hidden_numbers ? "" : ", write it into the lines of the file"));
  const std::string follow = !w.follow.empty() ? w.follow : a.command == Command::run ? "self" : "reference";
  a.follow = follow_of(follow).value_or(Follow::file);
  if (a.follow == Follow::file) a.follow_file = follow;
  if (std::error_code error; a.follow == Follow::file && !std::filesystem::exists(follow, error))
    throw Error(fmt::format("--follow: expected reference, self, or a file with a text or ids, got {}, and no such file is there",
                            kvscope::quoted(follow)));
  if (a.kept && w.follow.empty()) a.follow = Follow::file;
  for (const Detail d : {Detail::summary, Detail::events, Detail::slots, Detail::why}) {
    if (name_of(d) == w.detail) a.detail = d;
  }
  if (!one_run) return;
  a.lanes = lanes_of(a.lane_texts, w.budgets, w.what_ifs);  // says what is wrong before a model is opened
  if (!a.out_kept.empty() && a.detail < Detail::slots)
    throw UsageError(fmt::format("--out-kept: expected --detail slots or why, got {}; the others hold no slots", name_of(a.detail)));
  if (!a.out_kept.empty() && a.follow == Follow::self)
    throw UsageError(
        "--out-kept: expected --follow reference or a file, got self: the file holds one text, and each run would read its own");
  if (a.command == Command::share && (a.out.empty() || a.out == "-")) throw UsageError("share: expected --out FILE.html, got none");
  if (a.command == Command::trace && a.out.empty() && !a.json)
    throw UsageError("trace: expected --out FILE (or --json: the trace on stdout), got neither");
}

/// Lists are split at their commas, and what is empty between two is dropped: it may be a variable of the shell that is not set.
void check_lists(const CLI::App& command, std::span<const char* const> words) {
  const CLI::Option* list = nullptr;
  for (std::string_view word : words) {
    if (word.starts_with("--")) {
      const std::size_t end = std::min(word.find('='), word.size());
      list = command.get_option_no_throw(std::string(word.substr(0, end)));
      if (list != nullptr && list->get_delimiter() != ',') list = nullptr;
      word.remove_prefix(std::min(end + 1, word.size()));
    }
    if (list != nullptr && !word.empty() && (word.front() == ',' || word.back() == ',' || word.find(",,") != std::string_view::npos))
      throw UsageError(
          fmt::format("{}: expected a value beside every comma, got {}", list->get_name(), kvscope::quoted(std::string(word))));
  }
}

/// False: there is nothing to do but to print the message (help, version). Throws UsageError.
bool parse_words(CLI::App& app, int argc, const char* const* argv, std::string& message) {
  const auto known_commands = [&] { return fmt::format("{}", fmt::join(command_names(app), ", ")); };
  if (argc < 2) throw UsageError(fmt::format("expected a command ({}), got nothing; kvscope-cli --help explains", known_commands()));
  const std::string first = argv[1];
  if (first.empty() || first[0] != '-') {
    const auto names = command_names(app);
    if (std::find(names.begin(), names.end(), first) == names.end()) {
      throw UsageError(fmt::format("unknown command '{}' (known: {})", first, known_commands()));
    }
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    message = chosen.empty() ? app.help() : chosen.front()->help("kvscope-cli");
    return false;
  } catch (const CLI::CallForVersion&) {
    message = app.version() + "\n";
    return false;
  } catch (const CLI::ExtrasError& e) {
    const auto chosen = app.get_subcommands();
    const CLI::App& at = chosen.empty() ? app : *chosen.front();
    const auto extra = app.remaining(true);
    throw UsageError(fmt::format("{}unexpected '{}' (known: {})", chosen.empty() ? "" : at.get_name() + ": ",
                                 extra.empty() ? "" : extra.front(), fmt::join(option_names(at), ", ")));
  } catch (const CLI::ParseError& e) {
    throw UsageError(e.what());
  }
  if (app.get_subcommands().empty()) throw UsageError(fmt::format("expected a command ({}), got options only", known_commands()));
  check_lists(*app.get_subcommands().front(), std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  // A variable of the shell that is not set is no option that was not given. An empty text has words of its own.
  for (const CLI::Option* o : app.get_subcommands().front()->get_options())
    if (o->count() > 0 && o->get_items_expected_max() > 0 && o->get_name() != "--prompt" && std::ranges::count(o->results(), "") > 0)
      throw UsageError(fmt::format("{}: expected a value, got an empty one", o->get_name()));
  return true;
}

}  // namespace

Arguments parse_arguments(int argc, const char* const* argv) {
  Arguments a;
  a.words.assign(argv, argv + argc);
  Words w;
  CLI::App app("kvscope without a window: runs a language model with compressed KV caches side by side and says what they do.",
               "kvscope-cli");
  app.set_version_flag("--version", "kvscope-cli " KVSCOPE_VERSION, "print the version and exit");
  app.require_subcommand(0, 1);
  app.footer(main_help());
  app.get_formatter()->column_width(26);

  CLI::App* info = app.add_subcommand("info", "facts of a model, or the list of policies");
  add_common(*info, a, w);
  info->add_flag("--policies", a.list_policies, "list the policies of this build with their keys");
  CLI::App* run = app.add_subcommand("run", "print the text of each run and a summary table");
  CLI::App* trace = app.add_subcommand("trace", "the same run as a trace file (JSON, schema kvscope.trace/1)");
  CLI::App* share = app.add_subcommand("share", "the same run, or a stored one, as a web page that needs nothing else");
  for (CLI::App* command : {run, trace, share}) {
    add_run(*command, a, w);
    add_common(*command, a, w);
    command->footer(run_help(command->get_name()));
  }
  add_trace(*trace, a, w);
  add_share(*share, a);
  add_stored(*run, a);

  CLI::App* sweep = app.add_subcommand("sweep", "figures of policies at several budgets, as CSV");
  add_prompt(*sweep, a, w);
  add_sweep(*sweep, a);
  CLI::App* needle = app.add_subcommand("needle", "hide a number in prose, ask for it, count the whole answers");
  add_needle(*needle, a);
  CLI::App* ppl = app.add_subcommand("ppl", "nll and perplexity of a text under each run");
  add_ppl(*ppl, a);
  for (CLI::App* command : {sweep, needle, ppl}) {
    add_prompt_mode(*command, w);
    add_seed(*command, a);
    add_common(*command, a, w);
    command->footer(evaluation_help(command->get_name()));
  }

  CLI::App* heads = app.add_subcommand("heads", "measure which heads of a model look back, for policies that want to know it");
  add_heads(*heads, a);
  add_common(*heads, a, w);
  heads->footer(heads_help());

  CLI::App* bench = app.add_subcommand("bench", "measure how fast a model runs, beside what the machine could do at best");
  add_bench(*bench, a);
  add_common(*bench, a, w);
  bench->footer(bench_help());

  CLI::App* tokens = app.add_subcommand("tokens", "the tokens of a text: ids, names, bytes of the text");
  add_tokens(*tokens, a);

  CLI::App* models = app.add_subcommand("models", "models on this machine: what they take, and whether they open");
  add_models(*models, a, w);
  models->footer(models_help());

  CLI::App* serve = app.add_subcommand("serve", "compute for a window elsewhere: kvscope --engine ssh:HOST starts this");
  serve->add_flag("--stdio", a.stdio, "take requests from stdin and send results to stdout; words go to stderr");
  serve->footer(serve_help());

  if (!parse_words(app, argc, argv, a.message)) return a;
  const auto chosen = app.get_subcommands();
  for (const auto& [app_of, command] : {std::pair{info, Command::info},
                                        {run, Command::run},
                                        {trace, Command::trace},
                                        {share, Command::share},
                                        {sweep, Command::sweep},
                                        {needle, Command::needle},
                                        {ppl, Command::ppl},
                                        {heads, Command::heads},
                                        {bench, Command::bench},
                                        {tokens, Command::tokens},
                                        {models, Command::models},
                                        {serve, Command::serve}}) {
    if (chosen.front() == app_of) a.command = command;
  }
  resolve(*chosen.front(), a, w);
  return a;
}

}  // namespace kvscope::cli
