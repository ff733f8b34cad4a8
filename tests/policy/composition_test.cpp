// SPDX-License-Identifier: Apache-2.0
// Policies of a user's own: which parts go together, and that whatever goes together keeps the promises of every policy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "core/error.h"
#include "policy/catalog.h"
#include "policy/contract.h"
#include "policy/refusal.h"

namespace kvscope {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// The policies whose keys choose the parts; their keys that do are the first choices, up to the first key of another kind.
const PolicyInfo& custom() {
  for (const PolicyInfo& info : policies())
    if (info.keys_follow_choices) return info;
  throw std::logic_error("no policy of a user's own");
}
std::vector<ParamInfo> part_keys() {
  std::vector<ParamInfo> out;
  for (const ParamInfo& p : custom().params) {
    if (p.described.empty() || p.kind != ParamInfo::Kind::choice) break;
    out.push_back(p);
  }
  return out;
}

constexpr const char* kScores[] = {"sum / age",    "ema * vnorm / age",           "max(mean, last) * wo_norm",
                                   "-similarity",  "log(sum) - 0.1 * knorm",      "(age < 6) * 100 + mean ^ 0.5",
                                   "votes * last", "position / 0 - position / 0", "7"};

class Lots {
 public:
  explicit Lots(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t n) { return random_() % n; }
  template <class T>
  const auto& one_of(const T& all) {
    return all[below(std::size(all))];
  }

  /// Some parts by lot, the others by default.
  std::string parts() {
    std::string spec = custom().name + (below(2) == 0 ? ":slots=9" : ":ratio=0.45");
    for (const ParamInfo& key : part_keys())
      if (below(3) == 0) spec += ',' + key.key + '=' + one_of(key.choices);
    if (below(6) == 0 && spec.find("stat=") == std::string::npos) spec += std::string(",score=\"") + one_of(kScores) + '"';
    return spec;
  }
  /// Some of the other keys that these parts take.
  std::string with_keys(std::string spec) {
    constexpr const char* kSmall[] = {
        "sinks=1",          "sinks=0",         "recent=0",       "recent=3",       "recent=0.2",    "window=3",
        "window=8",         "kernel=3",        "pool=avg",       "threshold=-1",   "threshold=0.3", "drop=3",
        "sparsity=0.3",     "residual=3",      "heavy=2",        "heavy=0",        "m=2",           "seed=5",
        "spread=2",         "lambda=0.5",      "form=code",      "fit=budget",     "group=max",     "group=sum",
        "ema_alpha=0.5",    "decay=0.7",       "refresh=2",      "bias_alpha=1",   "d2o_beta=1",    "eps=0.1",
        "critical_alpha=0", "predict=current", "predict=window", "pyramid_beta=3", "every=2",       "after_prompt=0"};
    for (const ParamInfo& p : params_of(parse_lane_spec(spec))) {
      if (p.key == "scores" || p.key == "file" || (p.key == "heads" && below(2) == 0)) spec += ',' + p.key + "=heads.json";
      if (p.key == "every") spec += ",every=3";
    }
    for (int i = 0; i < 4; ++i) {
      const std::string more = spec + ',' + one_of(kSmall);
      if (refusal(more).empty()) spec = more;
    }
    return spec;
  }

 private:
  std::mt19937 random_;
};

TEST(Composition, WhateverGoesTogetherKeepsThePromises) {
  constexpr int kCases = 800;
  Lots lots(1);
  std::map<std::string, int> tried;  // by key=value
  int taken = 0;
  for (int tries = 0; taken < kCases; ++tries) {
    ASSERT_LT(tries, 100 * kCases) << "hardly anything goes together";
    std::string spec = lots.parts();
    if (!refusal(spec).empty()) continue;
    spec = lots.with_keys(spec);
    const PromptMode mode = lots.below(2) == 0 && test::works_in_stream(spec) ? PromptMode::stream : PromptMode::prefill;
    const int group = lots.below(2) == 0 ? 1 : 3;
    test::expect_promises({spec, group, mode}, static_cast<unsigned>(taken));
    if (HasFailure()) return;
    ++taken;
    const std::unique_ptr<Policy> policy = test::make_policy(spec, test::tiny_model(2, 2, group), 24);
    for (const ResolvedParam& p : policy->params())
      if (p.is_text) ++tried[p.key + '=' + p.text];
  }
  for (const ParamInfo& key : part_keys())
    for (const std::string& choice : key.choices)
      EXPECT_GE(tried[key.key + '=' + choice], 3) << key.key << '=' << choice << " was hardly tried";
}

TEST(Composition, WhatIsRefusedIsRefusedForTheReasonThatIsSaid) {
  Lots lots(2);
  std::map<std::string, int> reasons;
  for (int i = 0; i < 3000; ++i) {
    const std::string spec = lots.parts(), words = refusal(spec);
    if (words.empty()) continue;
    // "lane '...': unit=layer and alloc=ada: reason; remedy": these parts alone are refused in the same words
    const std::size_t reason = words.rfind(": ", words.rfind("; ")), keys = words.rfind(": ", reason - 1);
    ASSERT_TRUE(reason != std::string::npos && keys != std::string::npos) << words;
    std::string named = words.substr(keys + 2, reason - keys - 2);
    for (std::size_t place; (place = named.find(" and ")) != std::string::npos;) named.replace(place, 5, 1, ',');
    EXPECT_THAT(refusal(custom().name + ":slots=9," + named), HasSubstr(words.substr(reason))) << spec << ": " << words;
    ++reasons[words.substr(reason)];
  }
  EXPECT_GE(reasons.size(), 20u);
}

TEST(Composition, SensibleOnesAreTaken) {
  for (const char* parts : {"",
                            "stat=none",
                            "score=age",
                            "score=\"max(sum, mean)\"",
                            "stat=score",
                            "stat=decayed,merge=weightedkv",
                            "stat=decayed,lambda=0.5,merge=zeromerge",
                            "merge=zeromerge",
                            "select=context",
                            "select=heavy",
                            "stat=mean,spread=2",
                            "unit=layer,alloc=decay",
                            "stat=last,unit=layer,merge=keepkv",
                            "stat=pooled,alloc=ada,reweight=critical",
                            "stat=pooled,merge=keepkv,cadence=every_step",
                            "alloc=duo",
                            "alloc=duo,merge=cam",
                            "select=random,merge=d2o",
                            "stat=none,merge=keepkv",
                            "stat=none,positions=cache,merge=cam",
                            "positions=ceiling",
                            "stat=knorm,merge=d2o,bias=votes",
                            "merge=weightedkv,bias=scaled,bias_alpha=0.3",
                            "merge=keepkv,bias=none",
                            "alloc=variance,stat=ema_exp",
                            "stat=count,group=mean",
                            "stat=count,unit=layer",
                            "merge=kvmerger,cadence=every_step,alloc=pyramid",
                            "stat=score,score=knorm,merge=keepkv",
                            "merge=refit",
                            "stat=reference",
                            "stat=pooled,alloc=ada,merge=refit",
                            "stat=none,merge=refit,limit=0",
                            "stat=probe,alloc=flat,merge=refit,queries=whole",
                            "stat=reference,reweight=critical,strength=max"})
    EXPECT_EQ(refusal(std::string("custom:slots=9,") + (*parts ? parts : "stat=sum")), "") << parts;
}

TEST(Composition, SenselessOnesAreRefusedWithReasonAndRemedy) {
  const auto refused = [](const std::string& parts, const char* reason, const char* remedy) {
    EXPECT_THAT(refusal("custom:slots=9," + parts), AllOf(HasSubstr(reason), HasSubstr(remedy))) << parts;
  };
  refused("stat=sum,score=age", "stat=sum and score=age: a score of your own ranks by itself", "leave out stat or score");
  refused("merge=zeromerge,select=top", "merge=zeromerge and select=top", "take merge=zeromerge with select=context");
  refused("select=heavy,merge=d2o", "merge=d2o and select=heavy", "take merge=kvmerger with select=heavy");
  refused("unit=layer,alloc=ada", "unit=layer and alloc=ada: one decision for all heads", "leave out unit or alloc");
  refused("unit=layer,stat=mean,spread=2", "unit=layer and stat=mean and spread=2", "leave out unit or spread");
  refused("bias=votes", "bias=votes and merge=none: every slot stands for one token", "choose a merge");
  refused("stat=knorm,reweight=critical", "this one may be negative", "choose another statistic");
  refused("stat=sum,positions=ceiling", "positions=ceiling and stat=sum", "leave stat out");
  refused("positions=cache,merge=keepkv", "keys are averaged as they were rotated", "positions=original");
  refused("select=random,stat=sum", "random draws look at no statistic", "leave stat out");
  refused("cadence=once,merge=zeromerge", "in every step", "leave cadence out");
  refused("merge=refit,bias=none", "the fitted weights are the bias", "leave bias out");
  refused("merge=refit,positions=cache", "what fits keys at their places in the text", "leave positions or merge out");
  refused("stat=tri,merge=refit", "cadence=every: it is fitted to the queries of the whole prompt", "take cadence=once");
  refused("merge=refit,refresh=2", "it is fitted to the queries of the whole prompt", "leave refresh out");
  refused("stat=reference,cadence=every_step", "it looks at the queries of the whole prompt", "leave cadence out");
}

TEST(Composition, KeysOfPartsThatAreNotChosenSayWhereTheyGo) {
  EXPECT_THAT(refusal("custom:slots=9,lambda=0.5"),
              AllOf(HasSubstr("key 'lambda' goes with other parts, with stat=decayed"), HasSubstr("these know: slots ratio bytes stat")));
  EXPECT_THAT(refusal("custom:slots=9,windw=5"),
              AllOf(HasSubstr("unknown key 'windw'"), HasSubstr("custom knows: slots ratio bytes stat")));
  EXPECT_THAT(refusal("custom:slots=9,stat=none,recent=3"), HasSubstr("key 'recent' goes with other parts"));
  EXPECT_THAT(refusal("custom:slots=9,unit=layer,group=max"), HasSubstr("key 'group' goes with other parts"));
  EXPECT_THAT(refusal("custom:slots=9,stat=count,group=max"), HasSubstr("a share of at least 1/n"));
  EXPECT_THAT(refusal("custom:slots=9,stat=nothing"), HasSubstr("one of sum, none, decayed"));
}

TEST(Composition, AWrongScoreIsPointedAt) {
  EXPECT_THAT(refusal(R"(custom:slots=9,score="ema * vnrom / age")"),
              AllOf(HasSubstr("score: expected one of the quantities sum mean last"),
                    HasSubstr("got 'vnrom' at column 7: 'ema * \u2038vnrom / age'")));
  EXPECT_THAT(refusal("custom:slots=9,score=" + std::string(5000, '(')), HasSubstr("at most 400 characters, got 5000"));
  EXPECT_THAT(refusal("custom:slots=9,score=sum,age"), HasSubstr("expected key=value")) << "a comma ends a value without quotes";
}

TEST(Composition, WhatIsNotGivenFollowsFromTheOthers) {
  const auto value = [](const char* spec, const char* key) {
    for (const ParamInfo& p : params_of(parse_lane_spec(spec)))
      if (p.key == key) return p.default_text;
    return std::string("no key");
  };
  EXPECT_EQ(value("custom:slots=9", "stat"), "sum");
  EXPECT_EQ(value("custom:slots=9,score=age", "stat"), "score");
  EXPECT_EQ(value("custom:slots=9,merge=keepkv", "bias"), "votes");
  EXPECT_EQ(value("custom:slots=9,merge=weightedkv", "select"), "in_turn");
  EXPECT_EQ(value("custom:slots=9,stat=pooled", "cadence"), "once");
  EXPECT_EQ(value("custom:slots=9,merge=refit", "cadence"), "once");
  EXPECT_EQ(value("custom:slots=9,merge=refit", "bias"), "votes");
  EXPECT_EQ(value("custom:slots=9,stat=pooled", "recent"), "no key");
  EXPECT_EQ(value("custom:slots=9,stat=knorm", "group"), "no key");
  EXPECT_EQ(value("custom:slots=9,stat=knorm,merge=cam", "group"), "mean") << "the merge reads attention";
}

TEST(Composition, AnotherChoiceTakesTheKeysOfTheFirstAway) {
  EXPECT_EQ(with_param("custom:slots=9,stat=decayed,lambda=0.5,sinks=1", "stat", "mean"), "custom:slots=9,stat=mean,sinks=1");
  EXPECT_EQ(with_param("custom:slots=9,stat=decayed,lambda=0.5", "stat", ""), "custom:slots=9");
  EXPECT_EQ(with_param("custom:slots=9", "score", "max(sum, age)"), "custom:slots=9,score=\"max(sum, age)\"");
  EXPECT_THROW(with_param("custom:slots=9", "lambda", "0.5"), UsageError);
  EXPECT_THROW(with_param("custom:slots=9,unit=layer", "alloc", "ada"), UsageError);
}

TEST(Composition, TheWordsAreThoseOfTheChosenParts) {
  const PolicyInfo info = info_of(parse_lane_spec("custom:slots=9,stat=decayed,merge=weightedkv"));
  EXPECT_EQ(info.ranking, "attention so far, older queries count less");
  EXPECT_THAT(info.merging, HasSubstr("value into the next token"));
  EXPECT_EQ(info.statistic, "decayed attention");
  EXPECT_FALSE(info.sees_question_in_prefill);
  const PolicyInfo own = info_of(parse_lane_spec("custom:slots=9,score=\"last * vnorm\""));
  EXPECT_EQ(own.ranking, "your own score: last * vnorm");
  EXPECT_TRUE(own.sees_question_in_prefill);
  EXPECT_EQ(own.statistic, "") << "it takes more than the slots to compute it";
  EXPECT_EQ(info_of(parse_lane_spec("h2o:slots=9")).ranking, find_policy("h2o").ranking);
}

TEST(Composition, AUsersScoreReadsOnlyWhatItNames) {
  const ModelConfig model = test::tiny_model(2, 2, 1);
  const auto needs = [&](const char* score) {
    const std::string spec = std::string("custom:slots=9,score=\"") + score + '"';
    return Policy::make({.spec = parse_lane_spec(spec), .model = &model, .n_prompt = 24})->needs();
  };
  const StatNeeds none = needs("age * votes + position - similarity + wo_norm * vnorm");
  EXPECT_FALSE(none.reads_a() || none.reads_z() || none.key_norm);
  const StatNeeds mean = needs("mean");
  EXPECT_TRUE(mean.sum);
  EXPECT_FALSE(mean.reads_z() || mean.key_norm || mean.rows > 0);
  EXPECT_TRUE(needs("ema").ema);
  EXPECT_FALSE(needs("ema").reads_a());
  EXPECT_TRUE(needs("knorm").key_norm);
  EXPECT_EQ(needs("last").rows, 1);
}

}  // namespace
}  // namespace kvscope
