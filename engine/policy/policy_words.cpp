// SPDX-License-Identifier: Apache-2.0
#include "policy/policy_words.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "policy/policy.h"

namespace kvscope {

std::string looks_at(const Policy& policy) {
  const StatNeeds& needs = policy.needs();
  const PolicyInfo& info = policy.info();
  std::vector<std::string> what;
  if (needs.coming_queries > 0) what.emplace_back("coming tokens: the full cache's next queries, which nobody can know");
  if (needs.probe) what.emplace_back("a probe that repeats the prompt over the full cache");
  if (info.sees_question_in_prefill) what.emplace_back("the end of the prompt, and so a question there");
  if (needs.prompt_queries && !policy.storage())
    what.emplace_back("the queries of the whole prompt");
  else if (!info.sees_question_in_prefill && (needs.reads_a() || needs.reads_z()))
    what.emplace_back("the attention so far");
  for (const ResolvedParam& given : policy.params()) {
    const auto key = std::ranges::find(info.params, given.key, &ParamInfo::key);
    if (key == info.params.end() || !given.is_text || given.text.empty()) continue;
    if (key->file_holds == FileHolds::kept)
      what.emplace_back("a file that says what is kept");
    else if (!key->file_of_model.empty() && given.text != key->without_file)
      what.push_back(fmt::format("a file made for this model ({}{})", key->key,
                                 key->file_holds == FileHolds::scorer ? ", which scores hidden states" : ""));
  }
  if (policy.reading()) what.emplace_back("the step's own query and the bounds of each page's keys");
  if (!what.empty()) return fmt::format("{}", fmt::join(what, "; "));
  if (!policy.limits()) return "nothing: no token goes";
  if (policy.ranking().by_position()) return "positions alone";
  return info.ranking.starts_with("none") ? info.ranking : "keys and values alone";
}

std::string score_equation(const Policy& policy) {
  std::string out = policy.ranking().equation();
  if (policy.ranks_whole_layers() && !out.empty()) out += "; mean over the layer's heads";
  if (const std::string second = policy.selection().equation(); !second.empty()) out += (out.empty() ? "" : "; ") + second;
  if (const std::string heads = policy.allocation().equation(); !heads.empty()) out += (out.empty() ? "" : "; ") + heads;
  return out;
}

}  // namespace kvscope
