// SPDX-License-Identifier: Apache-2.0
// What every policy promises (POLICIES.md section 7), for every row of the catalog with every choice of its keys. Where the keys choose the
// parts, composition_test.cpp tries combinations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "policy/catalog.h"
#include "policy/contract.h"

namespace kvscope {
namespace {

using test::expect_promises;
using test::works_in_stream;

void add_variants(std::string start, std::vector<std::string>& out) {
  const std::vector<ParamInfo> params = params_of(parse_lane_spec(start));
  const std::string without_files = start;
  for (const ParamInfo& p : params) {
    if (p.key != "scores" && p.key != "heads" && p.key != "file") continue;
    if (!p.default_text.empty()) out.push_back(start);
    start += ',' + p.key + "=heads.json";
  }
  if (std::ranges::find(params, "every", &ParamInfo::key) != params.end()) start += ",every=3";
  out.push_back(start);
  for (const ParamInfo& p : params)
    if (p.key != "base")
      for (const std::string& choice : p.choices)
        out.push_back((p.key == "fly" ? without_files : start) + ',' + p.key + '=' + choice);  // one source of head scores
  for (const char* more : {"sinks=2", "recent=0", "window=3", "threshold=-1", "refresh=2", "drop=3", "sparsity=0.3", "residual=3",
                           "heavy=0", "m=2", "sigma=0"}) {
    const std::string key(more, std::string_view(more).find('='));
    if (std::ranges::find(params, key, &ParamInfo::key) != params.end()) out.push_back(start + ',' + more);
  }
}

/// Every row with its defaults, with every base, with every choice of every key, and with small numbers, at two budgets.
std::vector<std::string> specs() {
  std::vector<std::string> out;
  for (const PolicyInfo& info : policies()) {
    if (info.keys_follow_choices) continue;
    const bool unlimited = !info.takes_budget;
    for (const char* budget : {"slots=9", "ratio=0.45"}) {
      const std::string name = info.name + ':' + (unlimited ? "" : budget);
      if (unlimited) {
        out.push_back(name);
        break;
      }
      const auto base = std::ranges::find(info.params, "base", &ParamInfo::key);
      for (const std::string& choice : base == info.params.end() ? std::vector<std::string>{""} : base->choices)
        add_variants(choice.empty() ? name : name + ",base=" + choice, out);
    }
  }
  return out;
}

class Contract : public testing::TestWithParam<std::string> {};

TEST_P(Contract, HoldsAfterEveryStep) {
  for (const int group : {1, 3})
    for (const PromptMode mode : {PromptMode::prefill, PromptMode::stream}) {
      if (mode == PromptMode::stream && !works_in_stream(GetParam())) continue;
      for (unsigned seed = 1; seed <= 3; ++seed) expect_promises({GetParam(), group, mode}, seed);
    }
}

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  std::string name;
  for (const char c : info.param) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(EveryRow, Contract, testing::ValuesIn(specs()), name_of);

TEST(ContractSuite, CoversEveryRowOfTheCatalog) {
  std::set<std::string> rows, covered;
  for (const PolicyInfo& info : policies())
    if (!info.keys_follow_choices) rows.insert(info.name);
  for (const std::string& spec : specs()) covered.insert(spec.substr(0, spec.find(':')));
  EXPECT_EQ(rows, covered);
  EXPECT_GE(rows.size(), 20u);
}

}  // namespace
}  // namespace kvscope
