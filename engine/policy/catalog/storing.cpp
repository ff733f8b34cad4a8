// SPDX-License-Identifier: Apache-2.0
// What lets no slot go: fewer bits, fewer channels, fewer slots read.
#include "policy/catalog/keys.h"
#include "policy/catalog/parts.h"
#include "policy/catalog/preset.h"
#include "policy/catalog/rows.h"
#include "policy/catalog/storing_parts.h"
#include "policy/storage/grouped_storage.h"
#include "policy/storage/pruned_storage.h"
#include "policy/storage/rotated_storage.h"

namespace kvscope {
namespace {

int full_tokens(const PartSetup& s) { return static_cast<int>(s.params.first_number({"full_tokens", "residual"})); }
int bits(const PartSetup& s) { return s.params.count("bits", 0); }

std::unique_ptr<Storage> in_groups(const PartSetup& s) {
  return std::make_unique<GroupedStorage>(bits(s), s.params.count("group_size", 0), full_tokens(s));
}
std::unique_ptr<Storage> rotated(const PartSetup& s) {
  return std::make_unique<RotatedStorage>(bits(s), full_tokens(s), s.model.head_dim, s.seed);
}
std::unique_ptr<Storage> pruned(const PartSetup& s) {
  return std::make_unique<PrunedStorage>(s.params.number("pruned"), static_cast<int>(s.params.first_number({"channel_window", "window"})));
}

ParamInfo bits_key(std::vector<std::string> choices) {
  ParamInfo key = choice("bits", std::move(choices), "bits of a number that is stored");
  key.default_text = std::string("4");  // assigning the characters makes GCC 12 warn
  return key;
}
ParamInfo tokens(std::string key, std::string default_text, int min, std::string help) {
  return {.key = std::move(key),
          .kind = ParamInfo::Kind::count,
          .default_text = std::move(default_text),
          .min = 1.0 * min,
          .max = 65536,
          .help = std::move(help)};
}

std::unique_ptr<PageReading> by_pages(const PartSetup& s) {
  return std::make_unique<PageReading>(s.params.count("page", 0), s.params.count("pages", 0), s.params.count("whole", 0));
}

constexpr const char* kSimulated = "as if stored: on the host, whatever the device; bytes are counted, not taken";

/// A row that lets no slot go. key_of_bytes: what says how much of it is stored in less.
PolicyRow storing_row(PolicyInfo words, std::string_view parts, std::string_view keys, std::string_view key_of_bytes = {}) {
  if (words.computed.empty()) words.computed = kSimulated;
  words.ranking = "none: every token stays";
  words.merging = "none: nothing is removed";
  PolicyRow row = preset(std::move(words), parts, keys);
  row.allocation = unlimited;
  row.has_budget = row.takes_group = false;
  row.key_of_bytes = key_of_bytes;
  return row;
}

}  // namespace

PartKey storages() {
  return {
      "storage",
      "in which form keys and values stand in the cache (computed as if stored)",
      {{"full", "as they are"},
       {"grouped",
        "keys per channel in groups of tokens, values per token in groups of channels: lowest number, scale, bits",
        [](PolicyRow& r) { r.storage = in_groups; },
        {bits_key({"2", "4", "8"}),
         tokens("group_size", "32", 1, "tokens of a group of keys, channels of a group of values, which have a scale together"),
         tokens("full_tokens", "128", 0, "newest tokens in full precision, a multiple of group_size; keys leave it so many at a time")}},
       {"rotated",
        "every key and value turned by one random rotation, its length, and the nearest of fixed levels for each number",
        [](PolicyRow& r) { r.storage = rotated; },
        {bits_key({"1", "2", "3", "4"}), tokens("full_tokens", "0", 0, "newest tokens in full precision"), seed()}},
       {"pruned",
        "keys without the channels that matter least to the last queries of the prompt (prefill only)",
        [](PolicyRow& r) { r.storage = pruned; },
        {number("pruned", "0.5", 0, 0.999999, "share of the channels of keys that go (below 1: one stays)"),
         tokens("channel_window", "32", 1, "last queries of the prompt that say which channels matter")}}}};
}

std::vector<PolicyRow> storing_rows() {
  std::vector<PolicyRow> rows;
  rows.push_back(storing_row({.name = "kivi",
                              .title = "KIVI",
                              .paper = "KIVI: A Tuning-Free Asymmetric 2bit Quantization for KV Cache, arXiv:2402.02750",
                              .idea = "Every token in few bits, the newest in full."},
                             "stat=none,storage=grouped", "bits group_size residual<full_tokens", "residual"));
  rows.push_back(storing_row({.name = "turboquant",
                              .title = "TurboQuant",
                              .paper = "TurboQuant: Online Vector Quantization with Near-optimal Distortion Rate, arXiv:2504.19874",
                              .idea = "Every token in few bits, after a random rotation."},
                             "stat=none,storage=rotated", "bits residual<full_tokens seed", "residual"));
  rows.push_back(storing_row({.name = "think",
                              .title = "ThinK",
                              .paper = "ThinK: Thinner Key Cache by Query-Driven Pruning, arXiv:2407.21018",
                              .idea = "Keys without the channels that queries use least."},
                             "stat=none,storage=pruned", "pruned window<channel_window", "pruned"));
  rows.back().info.sees_question_in_prefill = true;
  rows.push_back(
      storing_row({.name = "quest",
                   .title = "Quest",
                   .paper = "Quest: Query-Aware Sparsity for Efficient Long-Context LLM Inference, arXiv:2406.10774",
                   .idea = "Every token stays; a query reads few pages.",
                   .computed = "as if pages were left out: the host chooses them, whatever the device, and reads all; bytes are counted"},
                  "stat=none", ""));
  rows.back().reading = by_pages;
  rows.back().info.params = {tokens("page", "16", 1, "tokens of a page"),
                             tokens("pages", "8", 1, "pages that a query reads in a head, the one it stands in among them"),
                             tokens("whole", "2", 0, "first layers in which everything is read")};
  return rows;
}

}  // namespace kvscope
