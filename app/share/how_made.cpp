// SPDX-License-Identifier: Apache-2.0
#include "app/share/how_made.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/model_parts.h"
#include "core/error.h"
#include "io/file_hash.h"
#include "runtime/session/run_request.h"
#include "snapshot/number_text.h"

namespace kvscope::share {

namespace {

constexpr std::string_view kOwnModel = "kvmini";  // what a command computes with that names no model
constexpr std::string_view kOwnPrecision = "f32";
constexpr int kMostIds = 256;  // that stand in a command

/// The option that brings the prompt.
std::string prompt_option(const Snapshot& s, const Asked& asked) {
  const auto n = static_cast<std::size_t>(std::clamp(s.n_prompt, 0, static_cast<int>(s.tokens.size())));
  const bool begun = s.model.bos_id < 0 || n == 0 || s.tokens.front().id == s.model.bos_id;
  const PromptText text = prompt_text_of(s);
  if (!asked.by_ids && !s.prompt.empty() && (begun || text != PromptText::plain))
    return std::string(" --prompt-file PROMPT") + (text == PromptText::plain   ? ""
                                                   : text == PromptText::names ? " --special-tokens"
                                                                               : " --special-tokens --no-start-token");
  if (s.n_prompt > kMostIds) return " --tokens-file IDS";
  std::vector<int> ids;
  for (std::size_t i = 0; i < n; ++i) ids.push_back(s.tokens[i].id);
  return fmt::format(" --prompt-ids {}", fmt::join(ids, ","));
}

/// The texts of all runs had ended, and their last token was read all the same.
bool went_past_the_end(const Snapshot& s) {
  const int n = n_generated(s);
  return s.follow != "file" && !s.lanes.empty() &&
         std::ranges::all_of(s.lanes, [n](const LaneSnapshot& lane) { return lane.text_end >= 0 && lane.text_end <= n; });
}

}  // namespace

std::string hash_of(const std::string& path) try {
  const FileHash hash = hash_of_file(path);
  if (hash.whole) return "SHA-256 " + hash.sha256;
  return fmt::format("SHA-256 {} (of the first 16 MiB, 256 pieces of the rest and the size, {})", hash.sha256,
                     format_bytes(static_cast<double>(hash.size)));
} catch (const Error&) {
  return "not readable";
}

Rows settings(const Snapshot& s, const Asked& asked) {
  const ModelConfig& m = s.model;
  Rows out;
  out.emplace_back("model", fmt::format("{}: {} layers, {} query heads, {} KV heads, head size {}{}", m.name, m.n_layers, m.n_heads,
                                        m.n_kv_heads, m.head_dim, s.weight_bytes > 0 ? ", weights " + format_bytes(s.weight_bytes) : ""));
  out.emplace_back("prompt", fmt::format("{} tokens, {}", format_count(s.n_prompt),
                                         s.prefill_mode ? "policies act once it is read" : "streamed token by token"));
  const int n = n_generated(s);
  const std::string of = n == asked.n_generate || asked.n_generate < 0 ? "" : fmt::format(", of {} asked for", asked.n_generate);
  out.emplace_back("steps", fmt::format("{} tokens generated after the prompt{}; runs follow {}", n, of,
                                        s.follow == "self"   ? "their own text"
                                        : s.follow == "file" ? "a given text"
                                                             : "the text of the reference"));
  out.emplace_back("sampling", std::isnan(s.temperature) ? fmt::format("not known, seed {}", asked.seed)
                               : s.temperature > 0       ? fmt::format("temperature {:g}, seed {}", s.temperature, asked.seed)
                                                         : fmt::format("greedy, seed {} (of policies that draw lots)", asked.seed));
  if (!s.history) out.emplace_back("history", "the uncompressed history is not kept: local figures are not available");
  if (!s.notice.empty()) out.emplace_back("notice", s.notice);
  return out;
}

std::string command_line(const Snapshot& s, const Asked& asked, std::string_view command) {
  std::string out = fmt::format("kvscope-cli {}{}{} --generate {} --follow {}", command, s.model.name == kOwnModel ? "" : " --model MODEL",
                                prompt_option(s, asked), std::max(0, asked.n_generate), s.follow == "file" ? "TEXT" : s.follow);
  if (!s.precision.empty() && s.precision != kOwnPrecision) out += " --precision " + s.precision;
  if (went_past_the_end(s)) out += " --ignore-eos";
  if (!s.prefill_mode) out += " --prompt-mode stream";
  if (s.temperature > 0) out += fmt::format(" --temperature {:g}", s.temperature);
  if (asked.seed != 0) out += fmt::format(" --seed {}", asked.seed);
  for (std::size_t i = 1; i < s.lanes.size(); ++i) out += fmt::format(" --lane '{}'", s.lanes[i].spec);
  return out;
}

Rows model_hashes(const std::string& model, const std::string& stamp) {
  if (!stamp.empty() && stamp != stamp_of_model(model))
    return {{"the model's files", "changed since they were read: what lies there now may not be what computed this"}};
  Rows out;
  for (const std::string& file : parts_of_model(model)) out.emplace_back(std::filesystem::path(file).filename().string(), hash_of(file));
  return out;
}

}  // namespace kvscope::share
