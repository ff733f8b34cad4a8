// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/preset.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.h"
#include "policy/catalog/custom.h"
#include "policy/text/params.h"

namespace kvscope {
namespace {

/// One word of `keys`: "beta<pyramid_beta", "sinks=0", "window".
struct Word {
  std::string_view name, part_name, value;
};

std::vector<Word> words_of(std::string_view keys) {
  std::vector<Word> out;
  while (!keys.empty()) {
    const std::size_t end = std::min(keys.find(' '), keys.size());
    const std::string_view word = keys.substr(0, end);
    const std::size_t equals = word.find('='), renames = word.find('<');
    const std::string_view name = word.substr(0, std::min(equals, renames));
    out.push_back(
        {name, renames == word.npos ? name : word.substr(renames + 1), equals == word.npos ? std::string_view{} : word.substr(equals + 1)});
    keys.remove_prefix(std::min(end + 1, keys.size()));
  }
  return out;
}

ParamInfo key_of(const Word& word, const std::vector<ParamInfo>& of_parts, const std::vector<ParamInfo>& own) {
  if (const auto found = std::ranges::find(own, word.name, &ParamInfo::key); found != own.end()) return *found;
  const auto found = std::ranges::find(of_parts, word.part_name, &ParamInfo::key);
  KVSCOPE_ASSERT(found != of_parts.end());
  ParamInfo key = *found;
  key.key = word.name;
  if (!word.value.empty()) key.default_text = word.value;
  return key;
}

void take_if_empty(std::string& words, std::string& of_parts) {
  if (words.empty()) words = std::move(of_parts);
}

}  // namespace

PolicyRow preset(PolicyInfo words, std::string_view parts, std::string_view keys, std::vector<ParamInfo> own) {
  const std::string where = "preset " + words.name;
  const LaneSpec given = split_lane_spec(words.name + ":" + std::string(parts));
  PolicyRow row = compose(given, where);
  row.parts = parts;
  row.keys = keys;
  take_if_empty(words.ranking, row.info.ranking);
  take_if_empty(words.merging, row.info.merging);
  take_if_empty(words.statistic, row.info.statistic);
  words.sees_question_in_prefill = row.info.sees_question_in_prefill;
  for (const Word& word : words_of(keys)) words.params.push_back(key_of(word, row.info.params, own));
  row.info = std::move(words);
  // with one decision for a layer, or hits, the heads' rows are reduced in one way only
  row.takes_group = !row.whole_layer && !Composition(given).is("stat", "count");
  return row;
}

void set_key(LaneSpec& spec, std::string_view key, std::string_view value) {
  const auto same = std::ranges::find(spec.given, key, [](const auto& g) { return std::string_view(g.first); });
  if (same == spec.given.end())
    spec.given.emplace_back(key, value);
  else
    same->second = value;
}

std::optional<LaneSpec> in_parts(const LaneSpec& spec) {
  const PolicyRow& row = find_row(spec.name);
  if (row.compose) return spec;
  if (row.parts.empty() || !row.bases.empty() || !row.has_budget) return std::nullopt;
  LaneSpec out = split_lane_spec("custom:" + row.parts);
  const std::vector<ParamInfo> of_parts = compose(out, spec.name).info.params;
  const std::vector<Word> words = words_of(row.keys);
  for (const Word& word : words) {  // defaults that are the preset's own
    const auto own = std::ranges::find(row.info.params, word.name, &ParamInfo::key);
    const auto part = std::ranges::find(of_parts, word.part_name, &ParamInfo::key);
    if (part == of_parts.end() || own->default_text != part->default_text) set_key(out, word.part_name, own->default_text);
  }
  for (const auto& [key, value] : spec.given) {
    const auto word = std::ranges::find(words, std::string_view(key), &Word::name);
    set_key(out, word == words.end() ? std::string_view(key) : word->part_name, value);
  }
  out.edits = spec.edits;
  out.text = join_lane_spec(out);
  return out;
}

}  // namespace kvscope
