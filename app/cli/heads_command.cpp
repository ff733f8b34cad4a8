// SPDX-License-Identifier: Apache-2.0
// Measures on the loaded model which heads look back, for the policies that want to know it in advance.
#include <algorithm>
#include <random>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/inputs.h"
#include "app/cli/interrupt.h"
#include "app/cli/needle_texts.h"
#include "app/cli/progress.h"
#include "app/cli/table.h"
#include "app/run_options.h"
#include "core/error.h"
#include "io/files.h"
#include "runtime/model/head_characters.h"
#include "runtime/model/head_scores.h"

namespace kvscope::cli {

namespace {

/// Sentences from the start of the text that fit into so many tokens.
std::vector<std::string> haystack(const Arguments& a, const ModelFiles& model) {
  const std::string path = a.text.empty() ? embedded_prose() : a.text;
  std::vector<std::string> out;
  std::size_t tokens = 0;
  bool ended = true;
  for (std::string& sentence : sentences_of(read_text_in_utf8(path, kMaxProseBytes))) {
    tokens += model.tokenizer->encode(sentence).size();
    ended = tokens <= static_cast<std::size_t>(a.context);
    if (!ended) break;
    out.push_back(std::move(sentence));
  }
  if (out.empty()) throw UsageError(fmt::format("{}: expected sentences of prose that fit into {} tokens, got none", path, a.context));
  const bool asked = is_given(a.given, "--context");
  if (asked && ended && static_cast<double>(tokens) < 0.95 * a.context)
    throw UsageError(
        fmt::format("heads: --context {}: expected prose of so many tokens, got {} in {}; give a longer --text or a smaller --context",
                    a.context, tokens, path));
  return out;
}

/// The probe of one text; without copies where the answer's tokens are not those of the fact.
HeadProbe probe_of(const ModelFiles& model, const NeedleText& needle) {
  const std::string before = needle.context + needle.question;
  HeadProbe probe{.ids = encode(model, before + needle.answer), .copies = {}};
  const auto begin = probe.ids.begin();
  const int n = static_cast<int>(probe.ids.size());
  const std::vector<int> without = encode(model, before);
  const int first = static_cast<int>(std::mismatch(begin, probe.ids.end(), without.begin(), without.end()).first - begin);
  const auto found = std::search(begin, begin + first, begin + first, probe.ids.end());
  if (first < 1 || first == n || found == begin + first) return probe;
  for (int i = first; i < n; ++i) probe.copies.emplace_back(i - 1, static_cast<int>(found - begin) + i - first);
  return probe;
}

struct Probes {
  std::vector<HeadProbe> probes;
  std::vector<AskedText> texts;  // of them
};

Probes probes_of(const Arguments& a, const ModelFiles& model, const CancelToken& cancel) {
  if (!model.has_tokenizer)
    throw UsageError(fmt::format("heads: {} has no tokenizer.json or tokenizer.model, so text cannot become tokens", model.folder));
  const std::vector<std::string> sentences = haystack(a, model);
  Probes out;
  Progress making(a.quiet);
  for (int sample = 0; sample < a.samples; ++sample) {
    for (const double depth : a.depths) {
      making.show(kMakingTexts, static_cast<double>(sample) / a.samples);
      cancel.check();
      const std::uint64_t seed = a.seed + out.probes.size();
      NeedleText text = hide_number(sentences, depth, seed);
      HeadProbe probe = probe_of(model, text);
      if (probe.copies.empty()) continue;
      out.texts.push_back({.text = std::move(text),
                           .depth = depth,
                           .seed = seed,
                           .prompt_ids = probe.ids,
                           .n_answer = static_cast<int>(probe.copies.size())});
      out.probes.push_back(std::move(probe));
    }
  }
  if (out.probes.empty())
    throw Error(
        fmt::format("heads: {}'s tokenizer writes an answer in other tokens than the fact; nothing can be measured", model.config.name));
  return out;
}

using Rows = std::vector<std::vector<double>>;

Rows rows_of(const std::vector<double>& values, int columns) {
  Rows rows;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % static_cast<std::size_t>(columns) == 0) rows.emplace_back();
    rows.back().push_back(std::stod(fmt::format("{:.6g}", values[i])));  // more digits are the machine's, not the model's
  }
  return rows;
}

/// A row a line.
std::string file_text(const Rows& rows) {
  std::vector<std::string> lines;
  for (const std::vector<double>& row : rows) lines.push_back(fmt::format(" {}", nlohmann::json(row).dump()));
  return fmt::format("[\n{}\n]\n", fmt::join(lines, ",\n"));
}

std::string table_text(const std::string& title, const char* head, const Rows& rows) {
  std::vector<std::vector<std::string>> cells = {{"layer"}};
  for (std::size_t h = 0; h < rows.front().size(); ++h) cells.front().push_back(fmt::format("{} {}", head, h));
  for (std::size_t l = 0; l < rows.size(); ++l) {
    cells.push_back({std::to_string(l)});
    for (const double x : rows[l]) cells.back().push_back(fmt::format("{:.3f}", x));
  }
  return title + "\n" + aligned(cells, 2);
}

constexpr int kProseTexts = 4, kProseTokens = 512, kRepeatedTexts = 4, kRepeatedTokens = 128;

/// Stretches of the novel as prose, and shuffled tokens of it that come twice.
struct CharacterTexts {
  std::vector<std::vector<int>> prose;
  std::vector<RepeatedText> repeated;
};

CharacterTexts character_texts(const Arguments& a, const ModelFiles& model) {
  const std::vector<int> all = model.tokenizer->encode(read_text_in_utf8(a.text.empty() ? embedded_novel() : a.text, kMaxProseBytes));
  const std::vector<int> start = encode(model, "");
  const int most = model.config.max_positions > 0 ? model.config.max_positions : kProseTokens;
  const auto length = static_cast<std::size_t>(std::min(kProseTokens, most)) - start.size();
  if (all.size() < kProseTexts * length)
    throw UsageError(
        fmt::format("--out-characters: expected prose of {} tokens, got {}; give a longer --text", kProseTexts * length, all.size()));
  const auto stretch = [&](std::size_t i, std::size_t n) {
    std::vector<int> ids = start;
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(i * (all.size() / kProseTexts));
    ids.insert(ids.end(), from, from + static_cast<std::ptrdiff_t>(n));
    return ids;
  };
  CharacterTexts out;
  for (std::size_t i = 0; i < kProseTexts; ++i) out.prose.push_back(stretch(i, length));
  for (std::size_t i = 0; i < kRepeatedTexts; ++i) {
    RepeatedText text{
        .ids = stretch(i, std::min<std::size_t>(kRepeatedTokens, length / 2)), .first = static_cast<int>(start.size()), .length = 0};
    std::mt19937_64 random(a.seed + i);
    for (std::size_t k = text.ids.size(); k > start.size() + 1; --k)
      std::swap(text.ids[k - 1], text.ids[start.size() + random() % (k - start.size())]);
    text.length = static_cast<int>(text.ids.size() - start.size());
    const std::vector<int> block(text.ids.begin() + static_cast<std::ptrdiff_t>(start.size()), text.ids.end());
    text.ids.insert(text.ids.end(), block.begin(), block.end());
    out.repeated.push_back(std::move(text));
  }
  return out;
}

std::string characters_text(const HeadCharacters& c, const std::string& model) {
  const auto member = [&](const char* name, const std::vector<double>& values) {
    return fmt::format(" \"{}\": {}", name, nlohmann::json(rows_of(values, c.n_heads)).dump());
  };
  const std::vector<std::string> lines = {R"( "schema": "kvscope.head_characters/1")",
                                          fmt::format(R"( "model": {})", nlohmann::json(model).dump()),
                                          fmt::format(R"( "sink_tokens": {})", c.sink_tokens),
                                          fmt::format(R"( "near_tokens": {})", c.near_tokens),
                                          member("sink", c.sink),
                                          member("near", c.local),
                                          member("previous", c.previous),
                                          member("induction", c.induction),
                                          member("retrieval", c.retrieval),
                                          member("entropy", c.entropy)};
  return fmt::format("{{\n{}\n}}\n", fmt::join(lines, ",\n"));
}

}  // namespace

/// Where no token counts, every head would be called one that looks nowhere.
static void check_distant(const Arguments& a, const std::vector<HeadProbe>& probes) {
  const bool asked = !a.out_distant.empty() || is_given(a.given, "--sinks") || is_given(a.given, "--recent");
  std::size_t longest = 0;
  for (const HeadProbe& probe : probes) longest = std::max(longest, probe.ids.size());
  const auto left_out = static_cast<std::size_t>(a.sinks) + static_cast<std::size_t>(a.recent);
  if (asked && left_out >= longest)
    throw UsageError(
        fmt::format("heads: expected --sinks and --recent below the {} tokens of the texts together, got {} and {}: no token would count",
                    longest, a.sinks, a.recent));
}

int heads(const Arguments& a) {
  check_targets(a, {{"--out-characters", a.out_characters},
                    {"--out-retrieval", a.out_retrieval},
                    {"--out-distant", a.out_distant},
                    {"--out-texts", a.out_texts}});
  const Interrupt interrupt;
  ModelFiles model = open_model_of(a);
  const ModelConfig config = model.config;
  const auto [probes, texts] = probes_of(a, model, interrupt.token());
  check_distant(a, probes);
  HeadScores scores;
  {
    Progress progress(a.quiet);
    scores = score_heads(std::move(model), {.precision = a.precision, .n_threads = a.threads, .device = a.device}, probes,
                         {.sinks = a.sinks, .recent = a.recent}, interrupt.token(),
                         [&](double fraction) { progress.show("texts with a hidden number", fraction); });
  }
  std::string characters;
  if (!a.out_characters.empty()) {
    ModelFiles again = open_model_of(a);
    const CharacterTexts character = character_texts(a, again);
    const HeadCharacterOptions options;
    Progress progress(a.quiet);
    HeadCharacters measured = head_characters(std::move(again), {.precision = a.precision, .n_threads = a.threads, .device = a.device},
                                              character.prose, character.repeated, options, interrupt.token(),
                                              [&](double fraction) { progress.show("prose and repeated texts", fraction); });
    measured.retrieval = scores.retrieval;
    characters = characters_text(measured, config.name);
  }
  const Rows retrieval = rows_of(scores.retrieval, scores.n_heads), distant = rows_of(scores.outside, scores.n_kv_heads);
  interrupt.token().check();
  {
    const Interrupt::Critical writing;
    if (!a.out_retrieval.empty()) write_atomically(a.out_retrieval, file_text(retrieval));
    if (!a.out_distant.empty()) write_atomically(a.out_distant, file_text(distant));
    if (!a.out_characters.empty()) write_atomically(a.out_characters, characters);
    if (!a.out_texts.empty()) write_atomically(a.out_texts, asked_texts_json(config.name, texts));
  }
  if (a.json) {
    const nlohmann::ordered_json document{
        {"schema", "kvscope.heads/1"}, {"model", config.name},   {"texts", probes.size()}, {"sinks", a.sinks},
        {"recent", a.recent},          {"retrieval", retrieval}, {"distant", distant}};
    return print(document.dump() + "\n");
  }
  if (a.quiet) return 0;
  return print(
      table_text(fmt::format("retrieval: attention on the token to be copied, mean over {} texts", probes.size()), "head", retrieval) +
      table_text(fmt::format("distant: attention outside the first {} and the newest {} tokens", a.sinks, a.recent), "KV head", distant));
}

}  // namespace kvscope::cli
