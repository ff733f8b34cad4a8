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

/// One word of `keys`.
ParamInfo key_of(std::string_view word, const std::vector<ParamInfo>& of_parts, const std::vector<ParamInfo>& own) {
  const std::size_t equals = word.find('='), renames = word.find('<');
  const std::string_view name = word.substr(0, std::min(equals, renames));
  if (const auto found = std::ranges::find(own, name, &ParamInfo::key); found != own.end()) return *found;
  const std::string_view part_name = renames == word.npos ? name : word.substr(renames + 1);
  const auto found = std::ranges::find(of_parts, part_name, &ParamInfo::key);
  KVSCOPE_ASSERT(found != of_parts.end());
  ParamInfo key = *found;
  key.key = name;
  if (equals != word.npos) key.default_text = word.substr(equals + 1);
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
  take_if_empty(words.ranking, row.info.ranking);
  take_if_empty(words.merging, row.info.merging);
  take_if_empty(words.statistic, row.info.statistic);
  words.sees_question_in_prefill = row.info.sees_question_in_prefill;
  while (!keys.empty()) {
    const std::size_t end = std::min(keys.find(' '), keys.size());
    words.params.push_back(key_of(keys.substr(0, end), row.info.params, own));
    keys.remove_prefix(std::min(end + 1, keys.size()));
  }
  row.info = std::move(words);
  // with one decision for a layer, or hits, the heads' rows are reduced in one way only
  row.takes_group = !row.whole_layer && !Composition(given).is("stat", "count");
  return row;
}

}  // namespace kvscope
