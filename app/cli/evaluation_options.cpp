// SPDX-License-Identifier: Apache-2.0
#include "app/cli/evaluation_options.h"

#include <limits>

#include "app/cli/option_checks.h"
#include "core/error.h"
#include "policy/catalog.h"

namespace kvscope::cli {

void add_lanes(CLI::App& app, std::vector<std::string>& lanes) {
  app.add_option("--lane", lanes,
                 "policy and budget, NAME[:key=value[,key=value]...]; may be given several times. the full cache is run 0 in any case")
      ->type_name("SPEC")
      ->take_all()
      ->allow_extra_args(false);
}

void add_seed(CLI::App& app, Arguments& a) {
  checked(app.add_option("--seed", a.seed, "seed of whatever is drawn (sampling, policies, hidden numbers); default 0"), "S",
          number_in<std::uint64_t>(0, std::numeric_limits<std::uint64_t>::max(), "a whole number from 0"));
}

namespace {

std::pair<std::size_t, std::size_t> shard_of(const std::string& text) {
  std::pair<std::size_t, std::size_t> out{0, 0};
  const char* const end = text.data() + text.size();
  const auto [slash, bad] = from_chars(text.data(), end, out.first);
  if (bad == std::errc() && slash != end && *slash == '/') {
    const auto [stop, worse] = from_chars(slash + 1, end, out.second);
    if (worse == std::errc() && stop == end && out.first >= 1 && out.first <= out.second && out.second <= 1000000) return out;
  }
  throw UsageError(fmt::format("--shard: expected I/N, part I of N from 1/N to N/N, got '{}'", text));
}

/// Which texts a number is hidden in.
std::vector<CLI::Option*> add_hidden_numbers(CLI::App& app, Arguments& a) {
  return {checked(app.add_option("--context", a.contexts, "tokens of the prompt, within 5 %; default 256,512,1024"), "N,...",
                  number_in(32, 1 << 24, "a whole number from 32"))
              ->delimiter(',')
              ->expected(1, 1000),
          checked(app.add_option("--depths", a.depths, "where the number is hidden, 0 (start) to 1 (end); default 0,0.25,0.5,0.75,1"),
                  "D,...", number_in(0.0, 1.0, "0..1"))
              ->delimiter(',')
              ->expected(1, 1000),
          checked(app.add_option("--samples", a.samples, "texts per context and depth; default 4"), "N", number_in(1, 100000, "1..100000")),
          app.add_option("--text", a.text, "file with the prose; default: the beginning of a novel")->type_name("FILE")};
}

}  // namespace

void add_sweep(CLI::App& app, Arguments& a) {
  app.add_option("--policies", a.policies, "policies, perhaps with keys other than the budget: NAME[:key=value...]")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->expected(1, 1000);
  const auto budgets = [&app](const char* name, std::vector<double>& shares, const char* help) {
    return checked(app.add_option(name, shares, help), "R,...", number_in(0.0, 1.0, "0..1"))->delimiter(',')->expected(1, 1000);
  };
  CLI::Option* ratios = budgets("--ratios", a.ratios, "budgets, as shares of the prompt's tokens");
  budgets("--bytes", a.bytes, "instead: budgets as shares of the bytes of its keys and values, also for what stores them in less")
      ->excludes(ratios);
  app.add_option(
         "--texts", a.texts,
         "texts with questions instead of a prompt, a JSON object per line in RULER's columns: context, question, answer (a text or "
         "a list), and perhaps answer_prefix, max_new_tokens, task")
      ->type_name("FILE.jsonl");
  CLI::Option* hidden = app.add_flag("--hidden-numbers", a.hidden_numbers,
                                     "texts in whose prose a house number is hidden, and asked for, instead of a file of texts");
  for (CLI::Option* option : add_hidden_numbers(app, a)) option->needs(hidden);
  checked(app.add_option("--seeds", a.seeds, "so many seeds, from --seed on; default 1"), "N", number_in(1, 100000, "1..100000"));
  app.add_option(
         "--store", a.store,
         "folder in which every finished run of a text is a file: what is there is not computed again, so a sweep that was ended goes on")
      ->type_name("DIR");
  app.add_option_function<std::string>(
         "--shard", [&a](const std::string& text) { a.shard = shard_of(text); },
         "with --store: part I of N of the work, from 1/N to N/N; the last one to end prints the result")
      ->type_name("I/N");
  app.add_flag("--mpi", a.mpi, "with --store, started by mpirun: rank 0 deals the work to the others as they become free, and writes");
  app.add_flag("--table", a.table, "a table for people instead of CSV");
  app.add_option("--out", a.out, "file to write; - or nothing: stdout")->type_name("FILE.csv");
}

void add_needle(CLI::App& app, Arguments& a) {
  add_lanes(app, a.lane_texts);
  add_hidden_numbers(app, a);
  checked(app.add_option_function<std::string>(
              "--question", [&a](const std::string& where) { a.question_in_prompt = where == "in-prompt"; },
              "after (default: the prompt is compressed before it is known) or in-prompt (it ends the prompt)"),
          "WHERE", one_of({"after", "in-prompt"}));
  app.add_option("--out-texts", a.out_texts, "write the texts that were asked, and their token ids")->type_name("FILE.json");
}

void add_ppl(CLI::App& app, Arguments& a) {
  add_lanes(app, a.lane_texts);
  app.add_option("--text", a.text, "file to read; default: the beginning of a novel")->type_name("FILE");
  checked(app.add_option("--window", a.window, "tokens that a run sees at a time; default 1024, or what the model was made for"), "N",
          number_in(2, 1 << 24, "a whole number from 2"));
  checked(app.add_option("--stride", a.stride,
                         "of them, those that count: each is fed after the others were compressed; default half a window"),
          "N", number_in(1, 1 << 24, "a whole number from 1"));
  checked(app.add_option("--tokens", a.tokens, "of the text at most; default 0: all"), "N", number_in(0, 1 << 30, "a whole number from 0"));
}

void check_evaluation(const Arguments& a) {
  if (a.command == Command::sweep && (a.policies.empty() || (a.ratios.empty() && a.bytes.empty())))
    throw UsageError(
        fmt::format("sweep: expected --policies, and --ratios or --bytes, got no {}", a.policies.empty() ? "policies" : "ratios"));
  if (a.command == Command::sweep && a.store.empty() && a.shard.second > 1)
    throw UsageError("--shard: expected --store DIR, in which the parts come together, got none");
  if (a.command == Command::sweep && a.mpi && (a.store.empty() || a.shard.second > 1))
    throw UsageError(fmt::format("--mpi: expected {}", a.store.empty() ? "--store DIR, in which the results come together, got none"
                                                                       : "no --shard: the work is dealt, got one"));
  if (a.command == Command::sweep && a.json && a.table) throw UsageError("sweep: expected --json or --table, got both");
  if (a.command == Command::ppl && a.window > 0 && a.stride >= a.window)
    throw UsageError(fmt::format("ppl: expected a stride below the window of {} tokens, got {}", a.window, a.stride));
}

}  // namespace kvscope::cli
