// SPDX-License-Identifier: Apache-2.0
#include "app/share/how_made.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "io/sha256.h"
#include "runtime/session/run_request.h"
#include "snapshot/number_text.h"

namespace kvscope::share {

namespace {

namespace fs = std::filesystem;
constexpr std::uintmax_t kWhole = std::uintmax_t(256) << 20, kPart = std::uintmax_t(16) << 20;

std::string hash_of(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) return "not readable";
  Sha256 hash;
  std::string piece(std::size_t(1) << 20, '\0');
  for (std::uintmax_t left = size <= kWhole ? size : kPart; left > 0;) {
    file.read(piece.data(), static_cast<std::streamsize>(std::min<std::uintmax_t>(left, piece.size())));
    const auto n = static_cast<std::size_t>(file.gcount());
    if (n == 0) return "not readable";
    hash.add(std::string_view(piece).substr(0, n));
    left -= n;
  }
  if (size <= kWhole) return "SHA-256 " + hexadecimal(hash.digest());
  hash.add(std::to_string(size));
  return fmt::format("SHA-256 {} (of the first 16 MiB and the size, {})", hexadecimal(hash.digest()),
                     format_bytes(static_cast<double>(size)));
}

bool is_of_model(const std::string& name) {
  return name.ends_with(".safetensors") || name == "config.json" || name == "tokenizer.model" || name == "tokenizer.json" ||
         name.ends_with("_heads.json");
}

}  // namespace

Rows settings(const Snapshot& s, const Asked& asked) {
  const ModelConfig& m = s.model;
  Rows out;
  out.emplace_back("model", fmt::format("{}: {} layers, {} query heads, {} KV heads, head size {}{}", m.name, m.n_layers, m.n_heads,
                                        m.n_kv_heads, m.head_dim, s.weight_bytes > 0 ? ", weights " + format_bytes(s.weight_bytes) : ""));
  out.emplace_back("prompt", fmt::format("{} tokens, {}", format_count(s.n_prompt),
                                         s.prefill_mode ? "compressed once after the prefill" : "streamed token by token"));
  out.emplace_back("steps", fmt::format("{} tokens generated after the prompt; runs follow {}", std::max(0, asked.n_generate),
                                        s.follow == "self"   ? "their own text"
                                        : s.follow == "file" ? "a given text"
                                                             : "the text of the reference"));
  out.emplace_back("sampling", !asked.temperature       ? fmt::format("not known, seed {}", asked.seed)
                               : *asked.temperature > 0 ? fmt::format("temperature {:g}, seed {}", *asked.temperature, asked.seed)
                                                        : fmt::format("greedy, seed {} (of policies that draw lots)", asked.seed));
  if (!s.shadow) out.emplace_back("history", "the uncompressed history is not kept: local figures are not available");
  if (!s.notice.empty()) out.emplace_back("notice", s.notice);
  return out;
}

std::string command_line(const Snapshot& s, const Asked& asked, std::string_view command) {
  std::string out = fmt::format("kvscope-cli {} --prompt-file PROMPT --generate {} --follow {}", command, std::max(0, asked.n_generate),
                                s.follow == "file" ? "TEXT" : s.follow);
  if (const PromptText text = prompt_text_of(s); text != PromptText::plain)
    out += text == PromptText::names ? " --special-tokens" : " --special-tokens --no-start-token";
  if (!s.prefill_mode) out += " --prompt-mode stream";
  if (asked.temperature.value_or(0) > 0) out += fmt::format(" --temperature {:g}", *asked.temperature);
  if (asked.seed != 0) out += fmt::format(" --seed {}", asked.seed);
  for (std::size_t i = 1; i < s.lanes.size(); ++i) out += fmt::format(" --lane '{}'", s.lanes[i].spec);
  return out;
}

Rows model_hashes(const std::string& model) {
  std::error_code error;
  std::vector<fs::path> files;
  if (fs::is_regular_file(model, error)) files.emplace_back(model);
  for (fs::directory_iterator entry(model, error), last; !error && entry != last; entry.increment(error))
    if (is_of_model(entry->path().filename().string()) && entry->is_regular_file()) files.push_back(entry->path());
  std::sort(files.begin(), files.end());
  Rows out;
  for (const fs::path& file : files) out.emplace_back(file.filename().string(), hash_of(file));
  return out;
}

}  // namespace kvscope::share
