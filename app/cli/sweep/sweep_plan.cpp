// SPDX-License-Identifier: Apache-2.0
#include "app/cli/sweep/sweep_plan.h"

#include <algorithm>
#include <array>

#include <fmt/ranges.h>

#include "arch/model_parts.h"
#include "core/error.h"
#include "io/file_hash.h"
#include "io/shell_line.h"
#include "policy/catalog.h"
#include "policy/text/named_files.h"
#include "policy/text/params.h"
#include "runtime/model/run_files.h"

namespace kvscope::cli {

namespace {

std::vector<SweepPlan::Run> runs_of(const Arguments& a) {
  std::vector<SweepPlan::Run> out = {{.lane = parse_lane_spec(reference_policy()), .files = "", .beside = 0}};
  const std::vector<double>& shares = a.bytes.empty() ? a.ratios : a.bytes;
  const char* option = a.bytes.empty() ? "--ratios" : "--bytes";
  for (const std::string& policy : split_policies(fmt::format("{}", fmt::join(a.policies, ",")))) {  // the option was split at every comma
    for (const auto& [given, value] : split_lane_spec(in_own_words(policy).value_or(policy)).given)
      if (is_budget_key(given))
        throw UsageError(fmt::format("--policies {}: expected no budget, got {}; the budgets are those of {}", policy, given, option));
    const PolicyInfo& info = find_policy(policy.substr(0, policy.find_first_of(":@")));
    if (!info.takes_budget && (a.bytes.empty() || !info.takes_bytes))
      throw UsageError(fmt::format("{}: expected policies with such a budget, got {}, which {}", option, info.name,
                                   info.takes_bytes ? "takes --bytes alone" : "takes none"));
    for (std::size_t i = 0; i < shares.size(); ++i)
      out.push_back({.lane = parse_lane_spec(with_param(policy, a.bytes.empty() ? "ratio" : "bytes", fmt::format("{:g}", shares[i]))),
                     .ratio = shares[i],
                     .files = "",
                     .beside = i + 1});
  }
  for (auto run = out.begin(); run != out.end(); ++run)
    if (std::any_of(out.begin(), run, [&](const SweepPlan::Run& before) { return before.lane.text == run->lane.text; }))
      throw UsageError(fmt::format("--policies, {}: expected every run once, got {} twice", option, run->lane.text));
  return out;
}

/// Hashes of the files that a run names: their names stand in its text, their contents do not.
std::string files_of(const LaneSpec& lane, const std::string& folder) {
  const RunFiles files(folder);
  std::string out;
  for (const NamedFile& file : files_named_by(lane)) {
    const std::string path = files.path_of(lane, file);
    if (!path.empty()) out += fmt::format("; {} {}", file.key, hash_of_file(path).sha256);
  }
  return out;
}

std::string settings_of(const Arguments& a, const RunRequest& r) {
  std::string out = fmt::format("kvscope " KVSCOPE_VERSION "; {} on {}; {}; follow {}; {} tokens after the prompt", name_of(a.precision),
                                a.device, r.mode == PromptMode::stream ? "stream" : "prefill", name_of(r.follow), r.n_generate);
  if (r.temperature > 0) out += fmt::format("; temperature {}", r.temperature);
  return out;
}

/// For readers of the store; all that fill it say the same.
std::string how_of(const Arguments& a, const RunRequest& r) {
  const bool stream = r.mode == PromptMode::stream;
  std::string out = fmt::format("{} on {}; prompts {}", name_of(a.precision), a.device,
                                stream ? "streamed token by token" : "policies act once they are read");
  if (!r.given_ids.empty())
    out += fmt::format("; the question comes {}", stream ? "after the prompt" : "after that, so that it is not known before");
  out += fmt::format("; then runs follow {}", r.follow == Follow::self ? "their own text" : "the text of the reference");
  if (r.temperature > 0) out += fmt::format("; temperature {:g}", r.temperature);
  return out;
}

/// Without what says only who computes which part of it, and what becomes of the results.
std::string command_of(const Arguments& a) {
  constexpr std::array<std::string_view, 7> kAside = {"--shard", "--threads", "--store", "--out", "--quiet", "--table", "--json"};
  constexpr std::size_t kWithValue = 4;  // of them the first
  std::vector<std::string> words = {"kvscope-cli"};
  for (std::size_t i = 1; i < a.words.size(); ++i) {
    const std::string_view word = a.words[i];
    const auto aside = std::ranges::find(kAside, word.substr(0, word.find('=')));
    if (aside == kAside.end()) words.emplace_back(word);
    if (aside < kAside.begin() + kWithValue && word.find('=') == std::string_view::npos) ++i;
  }
  return shell_line(words);
}

}  // namespace

SweepPlan::SweepPlan(const Arguments& a, const ModelFiles& model, bool with_keys) : runs_(runs_of(a)), texts_(sweep_texts(a, model)) {
  for (int i = 0; i < a.seeds; ++i) seeds_.push_back(a.seed + static_cast<std::uint64_t>(i));
  if (const int n = texts_[0].n_question; n > 0)
    for (Run& run : runs_)
      if (const auto asked = with_question(run.lane, n)) run.lane = *asked;
  if (with_keys)
    for (Run& run : runs_) run.files = files_of(run.lane, model.folder);
  const std::string model_hash = with_keys ? hash_of_model(model.folder) : "";
  for (const SweepText& text : texts_) {
    const std::string text_hash = with_keys ? text.hash(model) : "", settings = settings_of(a, text.request);
    for (const std::uint64_t seed : seeds_)
      for (const Run& run : runs_)
        items_.push_back({.model_hash = model_hash,
                          .text_hash = text_hash,
                          .run = run.lane.text,
                          .seed = seed,
                          .settings = settings + run.files,
                          .model = model.config.name,
                          .policy = run.lane.name,
                          .text = text.number,
                          .ratio = run.ratio});
  }
}

SweepContents SweepPlan::contents(const Arguments& a) const {
  SweepContents out{.model = items_.front().model,
                    .how = how_of(a, texts_[0].request),
                    .command = command_of(a),
                    .runs = {},
                    .texts = {},
                    .seeds = seeds_,
                    .keys = {}};
  for (const Run& run : runs_) out.runs.push_back({run.lane.name, run.lane.text, run.ratio, run.beside});
  for (const SweepText& text : texts_) out.texts.push_back({text.number, text.depth});
  for (const SweepItem& item : items_) out.keys.push_back(item.key());
  return out;
}

}  // namespace kvscope::cli
