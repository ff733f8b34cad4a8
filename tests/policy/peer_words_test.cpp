// SPDX-License-Identifier: Apache-2.0
// Runs in kvpress's words.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/error.h"
#include "policy/catalog.h"
#include "policy/policy.h"

namespace kvscope {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(PeerWords, TheShareRemovedIsTakenByEveryPolicy) {
  for (const PolicyInfo& policy : policies()) {
    if (!policy.takes_budget) continue;
    SCOPED_TRACE(policy.name);
    LaneSpec plain;
    try {
      plain = parse_lane_spec(policy.name + ":ratio=0.25");
    } catch (const UsageError&) {
      continue;  // asks for more than a budget, or has none
    }
    EXPECT_EQ(parse_lane_spec(policy.name + ":compression_ratio=0.75").text, plain.text + ",round=down");
  }
  EXPECT_EQ(parse_lane_spec("h2o:compression_ratio=0.9").text, "h2o:ratio=0.1,round=down") << "in decimals, not 0.09999999999999998";
  EXPECT_EQ(parse_lane_spec("h2o:recent=4,compression_ratio=0,sinks=1").text, "h2o:recent=4,ratio=1,round=down,sinks=1");
}

TEST(PeerWords, PressesAreReadAsPoliciesWithTheirDefaults) {
  constexpr std::pair<const char*, const char*> cases[] = {
      {"SnapKVPress:compression_ratio=0.5", "snapkv:window=64,kernel=5,pool=padded,whole_window=1,ratio=0.5,round=down"},
      {"SnapKVPress(compression_ratio=0.5, window_size=32):kernel_size=7",
       "snapkv:window=32,kernel=7,pool=padded,whole_window=1,ratio=0.5,round=down"},
      {"StreamingLLMPress:n_sink=2,slots=40", "streaming:positions=original,sinks=2,slots=40"},
      {"streaming_llm:ratio=0.5", "streaming:positions=original,ratio=0.5"},
      {"KeyRerotationPress(StreamingLLMPress):ratio=0.5", "streaming:ratio=0.5"},
      {"observed_attention:ratio=0.5", "custom:stat=mean,sinks=0,recent=0,ratio=0.5"},
      {"LagKVPress:compression_ratio=0.8,lag_size=16,cross_scoring=True", "lagkv:ratio=0.2,round=down,lag=16,cross=1"},
      {"ExpectedAttentionPress:compression_ratio=0.8,use_covariance=False,epsilon=0.01", "expected:ratio=0.2,round=down,cov=0,eps=0.01"},
      {"CompactorPress:compression_ratio=0.8,sketch_dimension=0,blending=0.7", "compactor:ratio=0.2,round=down,sketch=0,blend=0.7"},
      {"AdaKVPress(SnapKVPress):ratio=0.5", "adakv:window=64,kernel=5,pool=padded,whole_window=1,alpha=0.2,safeguard=floor,ratio=0.5"},
      {"adakv_expected_attention:compression_ratio=0.8,alpha_safeguard=0.3",
       "custom:stat=expected,alloc=ada,ada_alpha=0.3,safeguard=floor,ratio=0.2,round=down"},
      {"AdaKVPress(CompactorPress(sink_size_start=8, compression_ratio=0.5), alpha_safeguard=0.1)",
       "custom:stat=compactor,sinks=8,ratio=0.5,round=down,alloc=ada,ada_alpha=0.1,safeguard=floor"},
      {"critical_expected_attention:ratio=0.5",
       "custom:stat=expected,vnorm=0,reweight=critical,critical_alpha=0.5,eps=1e-4,first_of=all,ratio=0.5"},
      {"ChunkKVPress(KnormPress):compression_ratio=0.8,chunk_length=8",
       "custom:stat=knorm,sinks=0,recent=0,select=chunks,ratio=0.2,round=down,chunk=8"},
      {"KVzipPress:compression_ratio=0.5,chunk_size=512,kvzip_plus_normalization=True,n_sink=2",
       "kvzip:plus=1,ratio=0.5,round=down,repeat=512,sinks=2"},
      {"kvzip_plus:compression_ratio=0.5,layerwise=True", "kvzip:plus=1,ratio=0.5,round=down,layerwise=1"},
      {"DMSPress(KnormPress):threshold=-3,sliding_window_size=64", "dms:threshold=-3,recent=64"},
      {"DMSPress(KeyDiffPress, threshold=-0.5)", "custom:stat=keydiff,sinks=0,recent=128,select=threshold,score_threshold=-0.5"},
      {"DuoAttentionPress(on_the_fly_scoring=True, head_compression_ratio=0.5):ratio=0.5",
       "duo:fly=1,sinks=128,recent=256,sparsity=0.5,ratio=0.5"},
      {"QFilterPress:compression_ratio=0.5,file=f.safetensors", "qfilter:ratio=0.5,round=down,file=f.safetensors"},
      {"KVzapPress(compression_ratio=0.5)", "kvzap:ratio=0.5,round=down"},
      {"DMSPress(KVzapPress(file=f.safetensors), threshold=-6)",
       "custom:stat=kvzap,kvzap_file=f.safetensors,select=threshold,recent=128,score_threshold=-6"},
      {"FastKVzipPress:compression_ratio=0.5,n_sink=2,window_ratio=0.1,layerwise=True",
       "fastkvzip:ratio=0.5,round=down,sinks=2,local=0.1,layerwise=1"},
      {"LUKVPress:compression_ratio=0.5,sink=2,window=3", "lukv:ratio=0.5,round=down,sinks=2,recent=3"},
      {"LUKVPress(KeyDiffPress(), compression_ratio=0.5)", "custom:stat=keydiff,sinks=4,recent=1,alloc=curves,ratio=0.5,round=down"},
      {"FinchPress:compression_ratio=0.5,window_size=9,normalize_scores=False", "finch:ratio=0.5,round=down,window=9,norm=0"},
      {"DropKVPress:compression_ratio=0.5,window_size=16,epsilon=0.001", "dropkv:ratio=0.5,round=down,window=16,eps=0.001"},
      {"DecodingPress(LagKVPress):compression_interval=16,target_size=40,lag_size=8",
       "custom:stat=lagkv,lag=8,cadence=every,every=16,after_prompt=0,slots=40"},
      {"PrefillDecodingPress(prefilling_press=ExpectedAttentionPress(compression_ratio=0.5), decoding_press=DecodingPress(KnormPress(), "
       "compression_interval=8, target_size=40))",
       "prefill_decode:prefill=\"expected:ratio=0.5,round=down\",decode=\"custom:stat=knorm,sinks=0,recent=0,cadence=every,every=8,"
       "after_prompt=0,slots=40\""},
      {"KnormPress:compression_ratio=0.5@pin=3,step=0", "knorm:ratio=0.5,round=down@pin=3,step=0"},
  };
  for (const auto& [theirs, ours] : cases) {
    SCOPED_TRACE(theirs);
    EXPECT_EQ(in_own_words(theirs), ours);
    EXPECT_EQ(in_own_words(ours), std::nullopt);
    EXPECT_EQ(parse_lane_spec(theirs), parse_lane_spec(ours));
  }
}

TEST(PeerWords, WhatIsComposedByHandDecidesAsThePress) {
  constexpr std::pair<const char*, const char*> cases[] = {{"ExpectedAttentionPress", "expected"},
                                                           {"CURPress", "cur"},
                                                           {"LagKVPress", "lagkv"},
                                                           {"LeverageScorePress", "leverage"},
                                                           {"NonCausalAttnPress", "noncausal"},
                                                           {"CompactorPress", "compactor"}};
  for (const auto& [press, stat] : cases) {
    SCOPED_TRACE(press);
    const LaneSpec theirs = parse_lane_spec(fmt::format("AdaKVPress({}):slots=9", press));
    const LaneSpec by_hand = parse_lane_spec(fmt::format("custom:stat={},alloc=ada,slots=9", stat));
    std::map<std::string, std::string> ours;
    for (const ParamInfo& param : params_of(by_hand)) ours[param.key] = param.default_text;
    for (const auto& [key, value] : by_hand.given) ours[key] = value;
    for (const auto& [key, value] : theirs.given) {
      EXPECT_EQ(ours[key], value) << key;
    }
    EXPECT_EQ(params_of(by_hand), params_of(theirs)) << "and what the press does not say";
  }
  const auto names_theirs = [](const LaneSpec& spec) {
    const std::vector<ParamInfo> keys = params_of(spec);
    return std::ranges::find(keys, "safeguard", &ParamInfo::key)->default_text;
  };
  EXPECT_EQ(names_theirs(parse_lane_spec("adakv:slots=9")), "blend") << "the policy of this name follows its authors";
  EXPECT_EQ(names_theirs(parse_lane_spec("criticalkv:base=adakv,slots=9")), "blend");
}

TEST(PeerWords, EveryPressMakesARunThatIsTaken) {
  for (const char* press : {"KnormPress",
                            "KeyDiffPress",
                            "RandomPress",
                            "StreamingLLMPress",
                            "KeyRerotationPress(StreamingLLMPress)",
                            "SnapKVPress",
                            "PyramidKVPress",
                            "AdaKVPress(SnapKVPress)",
                            "CriticalKVPress(SnapKVPress)",
                            "CriticalAdaKVPress(SnapKVPress)",
                            "TOVAPress",
                            "ObservedAttentionPress",
                            "DuoAttentionPress",
                            "LagKVPress",
                            "LeverageScorePress",
                            "NonCausalAttnPress",
                            "CompactorPress",
                            "CURPress",
                            "ExpectedAttentionPress",
                            "AdaKVPress(ExpectedAttentionPress)",
                            "ChunkKVPress(SnapKVPress)",
                            "ChunkKVPress(KnormPress)",
                            "ChunkKVPress(KeyDiffPress)",
                            "KVzipPress",
                            "KVzipPress(kvzip_plus_normalization)",
                            "DMSPress(KnormPress)",
                            "DMSPress(KeyDiffPress)",
                            "DMSPress(ExpectedAttentionPress)",
                            "DuoAttentionPress(on_the_fly_scoring)",
                            "KVzapPress",
                            "AdaKVPress(KVzapPress)",
                            "DMSPress(KVzapPress)",
                            "FastKVzipPress",
                            "LUKVPress",
                            "LUKVPress(KVzapPress)",
                            "kvzip_plus",
                            "duo_attention_on_the_fly",
                            "adakv_snapkv",
                            "critical_snapkv",
                            "critical_adakv_snapkv",
                            "expected_attention",
                            "duo_attention"})
    EXPECT_NO_THROW(parse_lane_spec(std::string(press) + ":compression_ratio=0.5")) << press;
}

// Names that kvpress 0.5.5 exports and no policy here answers to.
TEST(PeerWords, EveryPressThatIsNotHereSaysWhyAndWhatToTake) {
  for (const char* press :
       {"BlockPress(KnormPress(compression_ratio=0.5), block_size=64)", "ChunkPress(SnapKVPress(0.5))", "CapPress:compression_ratio=0.5",
        "CAMPress(base_press=StreamingLLMPress())", "CompressionRatioDecodingPress(KnormPress(), target_compression_ratio=0.5)",
        "ComposedPress([SnapKVPress(compression_ratio=0.3), ThinKPress(0.2)])", "EntropyGatedChunkKVPress(KnormPress):ratio=0.5",
        "ExpectedAttentionStatsPress", "KVComposePress(structured=False)", "KVgradPress", "MergingPress(KnormPress)",
        "PerLayerCompressionPress(KnormPress(), compression_ratios=[0.1, 0.2])", "RestoreKVPress", "SimLayerKVPress(lazy_threshold=0.9)",
        "AdaKVPress(ChunkPress(KnormPress))"}) {
    SCOPED_TRACE(press);
    try {
      parse_lane_spec(press);
      ADD_FAILURE() << "is taken";
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), AllOf(HasSubstr(" is not here: it "), HasSubstr("; ")));
    }
  }
}

TEST(PeerWords, WhatHasNoCounterpartIsRefusedWithWhatHas) {
  const auto refusal = [](const char* spec) -> std::string {
    try {
      parse_lane_spec(spec);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("SnapKVPress:ratio=0.5,hidden=3"), AllOf(HasSubstr("window_size, kernel_size"), HasSubstr("'hidden'")));
  EXPECT_THAT(refusal("SnapKVPress:compression_ratio=0.5,ratio=0.5"),
              HasSubstr("expected one of compression_ratio, ratio, slots and bytes"));
  for (const char* share : {"1", "-0.1", "1.5", "nan", "x", "0.5x"})
    EXPECT_THAT(refusal((std::string("h2o:compression_ratio=") + share).c_str()), HasSubstr("expected the share that is removed")) << share;
  EXPECT_THAT(refusal("KVzapPress(model_type=linear):compression_ratio=0.5"), HasSubstr("counterpart here (compression_ratio, file)"));
  EXPECT_THAT(refusal("AdaKVPress(KVgradPress):compression_ratio=0.5"), HasSubstr("gradients"));
  for (const char* without_budget : {"SnapKVPress", "SnapKVPress()"})
    EXPECT_EQ(refusal(without_budget),
              fmt::format("run '{}', read as 'snapkv:window=64,kernel=5,pool=padded,whole_window=1': expected exactly one "
                          "of slots=N, ratio=r and bytes=r, got none",
                          without_budget));
  EXPECT_THAT(refusal("SnapKVPress(window_size=x, ratio=0.5)"),
              StartsWith("run 'SnapKVPress(window_size=x, ratio=0.5)', read as 'snapkv:window=x,"));
  EXPECT_THAT(refusal("SnapKVPress(window_size=, ratio=0.5)"),
              StartsWith("run 'SnapKVPress(window_size=, ratio=0.5)', read as 'snapkv:window=,"));
  EXPECT_THAT(refusal("AdaKVPress:compression_ratio=0.5"), HasSubstr("around one press, as in AdaKVPress(SnapKVPress), got 'AdaKVPress'"));
  EXPECT_THAT(refusal("AdaKVPress(TOVAPress):compression_ratio=0.5"), HasSubstr("unit")) << "as custom says what does not go together";
  EXPECT_THAT(refusal("AdaKVPress(DuoAttentionPress):ratio=0.5"), HasSubstr("alloc"));
  EXPECT_THAT(refusal("UnheardOfPress:compression_ratio=0.5"),
              AllOf(HasSubstr("KnormPress"), HasSubstr("ThinKPress"), HasSubstr("AdaKVPress(...)")));
  EXPECT_THAT(refusal("LagKVPress(lag_size=16, ratio=0.5"), HasSubstr("expected ')'"));
  EXPECT_THAT(refusal("LagKVPress(lag_size=16"), HasSubstr("')'"));
  EXPECT_THAT(refusal("LagKVPress(ratio=0.5)x"), HasSubstr("expected ':' and arguments"));
  EXPECT_THAT(
      refusal("AdaKVPress(AdaKVPress(AdaKVPress(AdaKVPress(AdaKVPress(AdaKVPress(AdaKVPress(AdaKVPress(AdaKVPress(AdaKVPress(KnormPress"),
      HasSubstr("expected"));
  EXPECT_THAT(refusal("h2o:slots=9,round=down"), HasSubstr("round: expected ratio=r"));
}

/// The share removed as kvpress counts it: int(n (1 - c)) in doubles.
TEST(PeerWords, ASharesSlotsAreCountedAsTheyCount) {
  const ModelConfig model{.n_layers = 1, .n_heads = 2, .n_kv_heads = 1, .head_dim = 8};
  for (int n = 20; n < 400; n += 7)
    for (const double c : {0.1, 0.2, 0.3, 0.5, 0.6, 0.75, 0.8, 0.9}) {
      const std::string spec = "KnormPress:compression_ratio=" + std::to_string(c);
      const int theirs = std::max(1, static_cast<int>(n * (1 - c)));
      EXPECT_EQ(*Policy::make({.spec = parse_lane_spec(spec), .model = &model, .n_prompt = n})->budget(0, 0), theirs) << n << ' ' << c;
    }
}

}  // namespace
}  // namespace kvscope
