// SPDX-License-Identifier: Apache-2.0
// What a lane specification may look like, and what is refused, in words that help.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/error.h"
#include "policy/catalog.h"
#include "policy/policy.h"
#include "policy/refusal.h"
#include "policy/run_title.h"
#include "policy/text/params.h"
#include "policy/tiny_lane.h"

namespace kvscope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

TEST(SplitPolicies, KeepsAPolicysOwnCommas) {
  using ::testing::ElementsAre;
  EXPECT_THAT(split_policies("h2o, snapkv:window=8,kernel=5,knorm"), ElementsAre("h2o", "snapkv:window=8,kernel=5", "knorm"));
  EXPECT_THAT(split_policies("custom:stat=score,score=\"max(mean, last) * wo_norm\",sinks=2,tova"),
              ElementsAre("custom:stat=score,score=\"max(mean, last) * wo_norm\",sinks=2", "tova"));
  EXPECT_THAT(split_policies("AdaKVPress(SnapKVPress(window_size=8, kernel_size=5), alpha_safeguard=0.5),h2o"),
              ElementsAre("AdaKVPress(SnapKVPress(window_size=8, kernel_size=5), alpha_safeguard=0.5)", "h2o"));
  EXPECT_THAT(split_policies(" , "), ElementsAre());
}

TEST(Spec, NameAndKeysInTheOrderOfTheText) {
  const LaneSpec spec = parse_lane_spec("keepkv:ratio=0.2,threshold=0.8,form=zip");
  EXPECT_EQ(spec.name, "keepkv");
  EXPECT_THAT(spec.given, ElementsAre(Pair("ratio", "0.2"), Pair("threshold", "0.8"), Pair("form", "zip")));
}

TEST(Spec, WhatTheReferenceTakesIsTaken) {
  for (const char* spec :
       {"full", "full:", "full:group=max", "local:slots=10,sinks=2", "streaming:slots=10,positions=original",
        "h2o:ratio=0.4,group=max,sinks=1", "h2o:ratio=1.5,recent=0.25", "snapkv:slots=10,window=8,kernel=5,pool=avg,refresh=2,group=sum",
        "snapkv:slots=10,window=0,refresh=0", "weightedkv:slots=10,sinks=2,merge=off",
        "keepkv:slots=10,sinks=2,threshold=-1,predict=current,form=zip", "keepkv:slots=10,threshold=0.2,form=code,predict=window,window=6",
        "keepkv:base=window,slots=1,alpha=0", "keepkv:slots=5,alpha=9e-1"})
    EXPECT_EQ(refusal(spec), "") << spec;
}

TEST(Spec, AnUnknownNameListsTheKnownOnes) {
  EXPECT_THAT(refusal("h20:slots=4"),
              AllOf(HasSubstr("unknown policy 'h20'"), HasSubstr("known: full local random "), HasSubstr(" h2o "), HasSubstr(" keepkv")));
  EXPECT_THAT(refusal("window:slots=4"), HasSubstr("unknown policy")) << "a base of others is no policy of its own";
  EXPECT_THAT(refusal("H2O:slots=4"), HasSubstr("unknown policy 'H2O', did you mean h2o?"));
  EXPECT_THAT(refusal("snapvk:slots=4"), HasSubstr("did you mean snapkv?"));
  EXPECT_THAT(refusal("nonsense:slots=4"), Not(HasSubstr("did you mean")));
  EXPECT_THAT(refusal("givn:slots=4"), HasSubstr("did you mean given?"));
}

TEST(Spec, AnUnknownKeyListsTheKnownOnes) {
  EXPECT_THAT(refusal("h2o:slots=4,windw=3"), AllOf(HasSubstr("unknown key 'windw'"), HasSubstr("slots ratio bytes sinks recent group")));
  EXPECT_THAT(refusal("full:slots=4"), HasSubstr("unknown key 'slots'"));
  EXPECT_THAT(refusal("keepkv:slots=4,kernel=3"), HasSubstr("unknown key 'kernel'"));
}

TEST(Spec, ExactlyOneOfSlotsAndRatio) {
  EXPECT_THAT(refusal("h2o"), HasSubstr("exactly one of slots=N, ratio=r and bytes=r, got none"));
  EXPECT_THAT(refusal("h2o:slots=4,ratio=0.5"), HasSubstr("got slots and ratio"));
}

TEST(Spec, NumbersOutsideTheirRangeAreRefusedWithTheRange) {
  for (const char* spec : {"h2o:slots=-3",
                           "h2o:slots=1e3",
                           "h2o:slots=4.0",
                           "h2o:slots=99999999999999999999",
                           "h2o:slots= 4",
                           "h2o:slots=4 ",
                           "h2o:slots=+4",
                           "h2o:slots=0x10",
                           "h2o:ratio=-0.5",
                           "h2o:ratio=nan",
                           "h2o:ratio=inf",
                           "h2o:ratio=1e999",
                           "h2o:ratio=1e-999",
                           "h2o:ratio=0,5",
                           "h2o:slots=4,sinks=-1",
                           "h2o:slots=4,sinks=1.5",
                           "h2o:slots=4,sinks=.",
                           "h2o:slots=4,recent=-0.5",
                           "h2o:slots=4,recent=nan.",
                           "snapkv:slots=4,kernel=4",
                           "snapkv:slots=4,kernel=0",
                           "snapkv:slots=4,kernel=3.0",
                           "snapkv:slots=4,refresh=-1",
                           "snapkv:slots=4,window=1000000",
                           "keepkv:slots=4,alpha=1",
                           "keepkv:slots=4,alpha=-0.1",
                           "keepkv:slots=4,threshold=nan",
                           "keepkv:slots=4,threshold=3",
                           "keepkv:slots=4,window=0",
                           "dropkv:slots=4,window=0",
                           "rkv:slots=4,window=0",
                           "think:pruned=1"}) {
    EXPECT_NE(refusal(spec), "") << spec;
  }
  EXPECT_THAT(refusal("think:pruned=1"), AllOf(HasSubstr("pruned"), HasSubstr("from 0 to 0.999999"), HasSubstr("got '1'")));
  EXPECT_THAT(refusal("keepkv:slots=4,alpha=1.5"), AllOf(HasSubstr("alpha"), HasSubstr("from 0 to 0.999999"), HasSubstr("got '1.5'")));
  EXPECT_THAT(refusal("snapkv:slots=4,kernel=4"), HasSubstr("an odd count"));
}

TEST(Spec, AChoiceThatIsNoneListsThem) {
  EXPECT_THAT(refusal("keepkv:slots=4,form=zap"), AllOf(HasSubstr("form"), HasSubstr("bias, zip, code"), HasSubstr("'zap'")));
  EXPECT_THAT(refusal("keepkv:slots=4,base=nothing"), AllOf(HasSubstr("base"), HasSubstr("window")));
  EXPECT_NE(refusal("streaming:slots=4,positions=ceiling"), "");
}

TEST(Spec, HitsAreCountedOverTheMeanOfTheGroupOnly) {
  EXPECT_EQ(refusal("scissorhands:slots=4,group=mean"), "");
  for (const char* group : {"max", "sum"})
    EXPECT_THAT(refusal(std::string("scissorhands:slots=4,group=") + group),
                AllOf(HasSubstr("group: expected one of mean"), HasSubstr("a share of at least 1/n"), HasSubstr("leave the key out")));
}

TEST(Spec, TheKeyNormTakesAGroupThatChangesNothing) {
  for (const char* group : {"mean", "max", "sum"}) EXPECT_EQ(refusal(std::string("knorm:slots=4,group=") + group), "");
  for (const ParamInfo& p : find_policy("knorm").params) EXPECT_NE(p.key, "group") << "nobody is asked for what has no effect";
}

TEST(Spec, AKeyThatComesTwiceIsRefused) { EXPECT_THAT(refusal("h2o:slots=4,sinks=1,sinks=2"), HasSubstr("'sinks' comes twice")); }

TEST(Spec, AValueInQuotesMayHoldCommas) {
  const LaneSpec spec = parse_lane_spec(R"(headkv:scores="a, b=1.json",slots=4)");
  EXPECT_THAT(spec.given, ElementsAre(Pair("scores", "a, b=1.json"), Pair("slots", "4")));
  EXPECT_EQ(parse_lane_spec(R"(h2o:slots="4")").given, parse_lane_spec("h2o:slots=4").given) << "quotes that are not needed";
  EXPECT_EQ(with_param("headkv:slots=4", "scores", "a,b.json"), R"(headkv:slots=4,scores="a,b.json")");
  EXPECT_EQ(with_param(R"(headkv:scores="a,b.json",slots=4)", "slots", "5"), R"(headkv:scores="a,b.json",slots=5)");
  EXPECT_THAT(refusal(R"(headkv:scores="a,slots=4)"), HasSubstr(R"(expected a closing quote after 'scores="', got none)"));
  EXPECT_THAT(refusal(R"(headkv:scores="a"b,slots=4)"), HasSubstr("after the closing quote, got 'b,slots=4'"));
  EXPECT_THAT(refusal(R"(headkv:scores="",slots=4)"), HasSubstr("expected a value between the quotes"));
  EXPECT_THAT(refusal(R"(headkv:slots=4,scores=")"), HasSubstr("closing quote"));
  EXPECT_THAT(refusal(R"(headkv:scores="a",)"), HasSubstr("expected key=value behind the last comma"));
  EXPECT_THROW(with_param("headkv:slots=4", "scores", "a\"b"), UsageError);
}

TEST(Spec, ACommaOfAFormulaWithoutQuotesIsRefusedWithTheRunAsItCanBePasted) {
  EXPECT_EQ(
      refusal("custom:score=max(sum, mean),ratio=0.5@slots=20,layers=0-1"),
      "run 'custom:score=max(sum, mean),ratio=0.5': 'score': expected a value with commas in double quotes, got 'max(sum, mean)'; write "
      "'custom:score=\"max(sum, mean)\",ratio=0.5@slots=20,layers=0-1', on a command line in such single quotes");
  EXPECT_EQ(refusal("custom:score=\"max(sum, mean)\",ratio=0.5"), "");
  EXPECT_THAT(refusal("custom:ratio=0.5,score=min(max(sum,1),2) * age"), HasSubstr("'custom:ratio=0.5,score=\"min(max(sum,1),2) * age\"'"));
  EXPECT_THAT(refusal("prefill_decode:prefill=SnapKVPress(window_size=8, kernel_size=5),decode=h2o:ratio=0.5"),
              HasSubstr("'prefill_decode:prefill=\"SnapKVPress(window_size=8, kernel_size=5)\",decode=h2o:ratio=0.5'"));
  EXPECT_THAT(refusal("custom:name=it's,score=max(sum,mean),ratio=0.5"), HasSubstr("write 'score=\"max(sum,mean)\"', on"))
      << "nothing that a shell would end at its second single quote";
  EXPECT_THAT(refusal("custom:ratio=0.5,score=max(sum,mean"), HasSubstr("expected key=value between commas, got 'mean'"));
  EXPECT_EQ(refusal("custom:ratio=0.5,score=exp(sum),sinks=2"), "") << "no comma stands in its brackets";
}

TEST(Spec, ARunOfAFileIsCalledAsTheFileCallsIt) {
  for (const std::string name : {"my method", "a, b", "h2o:slots=6@evict=9,step=1"}) {
    const LaneSpec spec = parse_lane_spec(given_spec("/a, b/k@pin=1.json", name));
    EXPECT_EQ(spec.given, (std::vector<std::pair<std::string, std::string>>{{"file", "/a, b/k@pin=1.json"}, {"run", name}}));
    EXPECT_EQ(spec.edits, LaneEdits{});
    EXPECT_EQ(title_of(spec), name);
  }
  EXPECT_EQ(title_of(parse_lane_spec(given_spec("k.json", std::string(39, 'a') + "ä"))), std::string(39, 'a') + "…") << "whole characters";
  EXPECT_EQ(title_of(parse_lane_spec(given_spec("k.json", ""))), given_policy().title);
  EXPECT_EQ(title_of(parse_lane_spec("snapkv:slots=4")), find_policy("snapkv").title);
}

TEST(Spec, ARunOfOnesOwnPartsIsCalledAsItIsNamed) {
  EXPECT_EQ(title_of(parse_lane_spec("custom:stat=mean,name=Mean attention,slots=4")), "Mean attention");
  EXPECT_EQ(title_of(parse_lane_spec(R"(custom:stat=mean,name="a, b",slots=4)")), "a, b");
  EXPECT_EQ(title_of(parse_lane_spec("custom:stat=mean,slots=4")), find_policy("custom").title);
  EXPECT_THAT(refusal("h2o:name=mine,slots=4"), HasSubstr("name")) << "what has a name already";
}

TEST(Spec, BrokenTextsAreRefused) {
  using namespace std::string_view_literals;
  for (const std::string_view spec : {""sv,
                                      ":"sv,
                                      ":slots=4"sv,
                                      "="sv,
                                      "h2o:="sv,
                                      "h2o:slots"sv,
                                      "h2o:slots="sv,
                                      "h2o:=4"sv,
                                      "h2o:slots=4,"sv,
                                      "h2o:,slots=4"sv,
                                      "h2o:slots=4,,sinks=1"sv,
                                      "h2o:slots==4"sv,
                                      "h2o:slots=4:sinks=1"sv,
                                      "h2o slots=4"sv,
                                      "h2o\0:slots=4"sv,
                                      "h2o:slots=4\0"sv,
                                      "h2o:sl\0ts=4"sv,
                                      "\xff\xfe:slots=4"sv,
                                      "h2o:slots=4;sinks=1"sv,
                                      "h2o:slots=\xc3\xa9"sv})
    EXPECT_NE(refusal(spec), "") << spec;
}

TEST(Spec, AMegabyteIsRefusedInOneShortLineWithoutControlCharacters) {
  const std::string big(1 << 20, 'x');
  std::string keys = "h2o:slots=4";
  for (int i = 0; i < 100000; ++i) keys += ",k" + std::to_string(i) + "=1";
  std::vector<std::string> specs = {big, keys, std::string(1 << 20, ','), std::string(1 << 20, '\n'), "h2o:slots=\x1b[31m4"};
  for (const char* start : {"h2o:", "h2o:slots=", "h2o:slots=4,", "h2o:slots=4,sinks="}) {
    for (const char c : {'x', '9', '=', ','}) specs.push_back(std::string(start).append(1 << 20, c));
  }
  for (const std::string& spec : specs) {
    const std::string words = refusal(spec);
    EXPECT_NE(words, "");
    EXPECT_LT(words.size(), 600u);
    EXPECT_THAT(words, Not(testing::ContainsRegex("[\n\r\x1b]")));
  }
}

TEST(Spec, RandomBytesNeverDoMoreThanBeRefused) {
  std::mt19937 random(11);
  constexpr std::string_view alphabet = "h2okeepv:=,.-+e0159 slotsratiosinkswindow\0\n\xc3";
  const std::string seed = "keepkv:slots=12,sinks=2,threshold=0.5,window=4,form=zip";
  const ModelConfig model = test::tiny_model(1, 1, 1);
  int taken = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    std::string spec = seed;
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits) {
      const std::size_t place = random() % spec.size();
      const char c = alphabet[random() % alphabet.size()];
      switch (random() % 3) {
        case 0:
          spec[place] = c;
          break;
        case 1:
          spec.insert(place, 1, c);
          break;
        default:
          spec.erase(place, 1 + random() % 3);
          break;
      }
      if (spec.empty()) spec.assign(1, 'x');
    }
    try {
      Policy::make({.spec = parse_lane_spec(spec), .model = &model, .n_prompt = 20});  // what the parser takes, a policy can be made of
      ++taken;
    } catch (const UsageError&) {
    }
  }
  EXPECT_GT(taken, 20);
  EXPECT_LT(taken, 3900);
}

TEST(Spec, WithParamKeepsTheOtherKeysAndTheirOrder) {
  EXPECT_EQ(with_param("keepkv:ratio=0.2,threshold=0.8,form=zip", "threshold", "0.5"), "keepkv:ratio=0.2,threshold=0.5,form=zip");
  EXPECT_EQ(with_param("keepkv:ratio=0.2,form=zip", "sinks", "2"), "keepkv:ratio=0.2,form=zip,sinks=2");
  EXPECT_EQ(with_param("keepkv:ratio=0.2,form=zip", "form", ""), "keepkv:ratio=0.2");
  EXPECT_EQ(with_param("h2o:slots=4", "slots", ""), "h2o");
  EXPECT_EQ(with_param("full", "group", "max"), "full:group=max");
  EXPECT_EQ(with_param("h2o:slots=4", "recent", ""), "h2o:slots=4") << "removing what is not there";
}

TEST(Spec, SlotsAndRatioReplaceEachOther) {
  EXPECT_EQ(with_param("h2o:sinks=1,ratio=0.2,recent=2", "slots", "12"), "h2o:sinks=1,slots=12,recent=2");
  EXPECT_EQ(with_param("h2o:slots=12", "ratio", "0.5"), "h2o:ratio=0.5");
}

TEST(Spec, WithParamRefusesWhatTheParserWould) {
  EXPECT_THROW(with_param("h2o:slots=4", "nonsense", "1"), UsageError);
  EXPECT_THROW(with_param("h2o:slots=4", "sinks", "-1"), UsageError);
  EXPECT_THROW(with_param("nonsense:slots=4", "sinks", "1"), UsageError);
  EXPECT_THROW(with_param("h2o:slots=4", "sinks", "1,recent=2"), UsageError) << "no smuggling of a second key";
}

TEST(Spec, TheCatalogSaysWhatTheParserTakes) {
  for (const PolicyInfo& info : policies()) {
    const std::string budget = !info.takes_budget ? ":" : ":slots=20,";
    const auto base = std::ranges::find(info.params, "base", &ParamInfo::key);
    // the first base, or the first choice of parts, that takes a key
    const auto with_choice = [&](const ParamInfo& p) {
      const auto takes = [&](const LaneSpec& spec) {
        try {
          const std::vector<ParamInfo> taken = params_of(spec);
          return std::ranges::find(taken, p.key, &ParamInfo::key) != taken.end();
        } catch (const UsageError&) {
          return false;  // parts that do not go together
        }
      };
      if ((base == info.params.end() && !info.keys_follow_choices) || p.key == "base" || takes({.text = info.name, .name = info.name}))
        return std::string();
      for (const ParamInfo& chooses : info.params)
        if (chooses.key == "base" || (info.keys_follow_choices && !chooses.described.empty()))
          for (const std::string& choice : chooses.choices)
            if (takes({.text = info.name, .name = info.name, .given = {{chooses.key, choice}}})) return chooses.key + '=' + choice + ',';
      return std::string("nothing takes it");
    };
    // a choice of parts may need another one beside it
    const auto taken_beside_another = [&](const std::string& item) {
      for (const ParamInfo& other : info.params)
        for (const std::string& choice : other.choices)
          if (info.keys_follow_choices && refusal(info.name + budget + other.key + '=' + choice + ',' + item).empty()) return true;
      return false;
    };
    EXPECT_FALSE(info.title.empty() || info.idea.empty() || info.ranking.empty() || info.merging.empty()) << info.name;
    for (const ParamInfo& p : info.params) {
      EXPECT_FALSE(p.help.empty()) << info.name << ' ' << p.key;
      const std::string key = info.name + budget + with_choice(p) + p.key + '=';
      if (!p.default_text.empty()) {
        EXPECT_EQ(refusal(key + p.default_text), "") << "the default of " << p.key;
      }
      for (const std::string& choice : p.choices)
        EXPECT_TRUE(refusal(key + choice).empty() || taken_beside_another(p.key + '=' + choice)) << refusal(key + choice);
      if (p.kind == ParamInfo::Kind::number || p.kind == ParamInfo::Kind::count || p.kind == ParamInfo::Kind::count_or_fraction) {
        EXPECT_NE(refusal(key + std::to_string(static_cast<long>(p.max) + 1)), "") << key;
        EXPECT_NE(refusal(key + std::to_string(static_cast<long>(p.min) - 1)), "") << key;
      }
      if (p.kind == ParamInfo::Kind::count_or_fraction) {
        EXPECT_EQ(refusal(key + "0.5"), "");
      }
    }
    EXPECT_EQ(find_policy(info.name).name, info.name);
  }
  EXPECT_THROW(find_policy("nonsense"), UsageError);
  EXPECT_THROW(find_policy(""), UsageError);
}

TEST(Spec, AModelsOwnScoresAreTheDefaultAndNoNeedToNameThem) {
  const ModelConfig model = test::tiny_model(2, 2, 2);
  const auto make = [&](const std::string& text, GivenFiles files) {
    return Policy::make({.spec = parse_lane_spec(text), .model = &model, .n_prompt = 40, .files = std::move(files)});
  };
  const LaneSpec plain = parse_lane_spec("headkv:slots=10"), named = parse_lane_spec("headkv:slots=10,scores=mine.json");
  const std::string source = "kvscope-cli heads makes one, or name another file";
  EXPECT_EQ(files_named_by(plain),
            (std::vector<NamedFile>{{.key = "scores", .name = "retrieval_heads.json", .of_model = true, .source = source}}));
  EXPECT_EQ(files_named_by(named), (std::vector<NamedFile>{{.key = "scores", .name = "mine.json", .source = source}}));
  EXPECT_EQ(files_named_by(parse_lane_spec("duo")),
            (std::vector<NamedFile>{{.key = "heads", .name = "distant_heads.json", .of_model = true, .may_lack = true, .source = source}}));
  EXPECT_TRUE(files_named_by(parse_lane_spec("duo:heads=auto")).empty());
  EXPECT_TRUE(files_named_by(parse_lane_spec("h2o:slots=10")).empty());
  const GivenFiles scores = test::given_files(plain, model);
  const auto by_default = make("headkv:slots=10,window=2", scores), by_name = make("headkv:slots=10,window=2,scores=heads.json", scores);
  for (int l = 0; l < 2; ++l)
    for (int h = 0; h < 2; ++h) EXPECT_EQ(by_default->budget(l, h), by_name->budget(l, h));
  EXPECT_THROW(make("headkv:slots=10", {}), UsageError);
  EXPECT_NO_THROW(make("duo", {})) << "without a file the prompt's attention decides";
  EXPECT_THROW(make("headkv", scores), UsageError) << "a budget is needed";
}

}  // namespace
}  // namespace kvscope
