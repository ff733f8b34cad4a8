// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "core/error.h"
#include "core/from_chars.h"
#include "policy/catalog.h"
#include "policy/text/lane_edits.h"
#include "policy/text/params.h"

namespace kvscope {
namespace {

constexpr std::string_view kRemoved = "compression_ratio";

struct Argument {
  std::string_view theirs, ours;
};
struct Press {
  std::string_view name;        // of the class, and of what it wraps
  std::string_view short_name;  // in kvpress's evaluation; empty where it has none or a policy here is called so
  std::string_view ours;        // the policy with its keys, where defaults differ
  std::span<const Argument> arguments = {};
};

constexpr std::array kObserving = {Argument{"window_size", "window"}, Argument{"kernel_size", "kernel"}};
constexpr std::array kPyramid = {Argument{"window_size", "window"}, Argument{"kernel_size", "kernel"}, Argument{"beta", "beta"}};
constexpr std::array kSharing = {Argument{"alpha_safeguard", "alpha"}, Argument{"window_size", "window"},
                                 Argument{"kernel_size", "kernel"}};
constexpr std::array kTwoStages = {Argument{"first_stage_ratio", "alpha"}, Argument{"epsilon", "eps"}};
constexpr std::array kSinks = {Argument{"n_sink", "sinks"}};
constexpr std::array kHeads = {Argument{"heads", "heads"}};  // a file, for which kvpress has no argument
constexpr std::array kLag = {Argument{"n_sink", "sinks"}, Argument{"lag_size", "lag"}, Argument{"cross_scoring", "cross"}};
constexpr std::array kSketch = {Argument{"sketch_dimension", "sketch"}};
constexpr std::array kChunkSize = {Argument{"chunk_size", "chunk"}};
constexpr std::array kBlend = {Argument{"sink_size_start", "sinks"}, Argument{"sink_size_end", "recent"}, Argument{"chunk_size", "chunk"},
                               Argument{"sketch_dimension", "sketch"}, Argument{"blending", "blend"}};
constexpr std::array kNorms = {Argument{"num_sinks", "sinks"}, Argument{"local_window_size", "window"}};
constexpr std::array kExpected = {Argument{"n_future_positions", "future"}, Argument{"n_sink", "sinks"}, Argument{"use_covariance", "cov"},
                                  Argument{"use_vnorm", "vnorm"}, Argument{"epsilon", "eps"}};
constexpr std::array kSharedExpected = {
    Argument{"alpha_safeguard", "ada_alpha"}, Argument{"n_future_positions", "future"}, Argument{"n_sink", "sinks"},
    Argument{"use_covariance", "cov"},        Argument{"use_vnorm", "vnorm"},           Argument{"epsilon", "expected_eps"}};
constexpr std::array kProbe = {Argument{"layerwise", "layerwise"}, Argument{"n_sink", "sinks"},
                               Argument{"kvzip_plus_normalization", "plus"}, Argument{"chunk_size", "repeat"}};
constexpr std::array kThreshold = {Argument{"threshold", "threshold"}, Argument{"sliding_window_size", "recent"}};
constexpr std::array kOwnThreshold = {Argument{"threshold", "score_threshold"}, Argument{"sliding_window_size", "recent"}};
constexpr std::array kFly = {Argument{"head_compression_ratio", "sparsity"}};
constexpr std::array kChunk = {Argument{"chunk_length", "chunk"}};
constexpr std::array kFilters = {Argument{"file", "file"}};  // kvpress loads them by the model's name
constexpr std::array kQuestion = {Argument{"normalize_scores", "norm"}, Argument{"window_size", "window"}};
constexpr std::array kRemoval = {Argument{"window_size", "window"}, Argument{"kernel_size", "kernel"}, Argument{"epsilon", "eps"}};
constexpr std::array kChannels = {Argument{"key_channel_compression_ratio", "pruned"}, Argument{"window_size", "window"}};
constexpr std::array kEvery = {Argument{"compression_interval", "every"}, Argument{"target_size", "slots"}};
constexpr std::array kEveryLag = {Argument{"compression_interval", "every"}, Argument{"target_size", "slots"}, Argument{"n_sink", "sinks"},
                                  Argument{"lag_size", "lag"}, Argument{"cross_scoring", "cross"}};
constexpr std::array kEveryNorms = {Argument{"compression_interval", "every"}, Argument{"target_size", "slots"},
                                    Argument{"num_sinks", "sinks"}, Argument{"local_window_size", "window"}};

constexpr std::array kPresses = {
    Press{"KnormPress", "", "knorm"},
    Press{"KeyDiffPress", "", "keydiff"},
    Press{"RandomPress", "", "random"},
    Press{"StreamingLLMPress", "streaming_llm", "streaming:positions=original", kSinks},
    Press{"KeyRerotationPress(StreamingLLMPress)", "", "streaming", kSinks},
    Press{"SnapKVPress", "", "snapkv:window=64,kernel=5,pool=avg", kObserving},
    Press{"PyramidKVPress", "", "pyramidkv:window=64,kernel=5,pool=avg", kPyramid},
    Press{"AdaKVPress(SnapKVPress)", "adakv_snapkv", "adakv:window=64,kernel=5,pool=avg,alpha=0.2", kSharing},
    Press{"CriticalKVPress(SnapKVPress)", "critical_snapkv", "criticalkv:window=64,kernel=5,pool=avg", kTwoStages},
    Press{"CriticalAdaKVPress(SnapKVPress)", "critical_adakv_snapkv", "criticalkv:base=adakv,window=64,kernel=5,pool=avg,base_alpha=0.2",
          kTwoStages},
    Press{"TOVAPress", "", "tova:recent=1"},
    Press{"ObservedAttentionPress", "observed_attention", "custom:stat=mean,sinks=0,recent=0"},
    Press{"DuoAttentionPress", "duo_attention", "duo", kHeads},
    Press{"LagKVPress", "", "lagkv", kLag},
    Press{"LeverageScorePress", "", "leverage", kSketch},
    Press{"NonCausalAttnPress", "", "noncausal", kChunkSize},
    Press{"CompactorPress", "", "compactor", kBlend},
    Press{"CURPress", "", "cur", kNorms},
    Press{"ExpectedAttentionPress", "expected_attention", "expected", kExpected},
    Press{"AdaKVPress(ExpectedAttentionPress)", "adakv_expected_attention", "custom:stat=expected,alloc=ada,sinks=4,recent=0,ada_alpha=0.2",
          kSharedExpected},
    Press{"KVzipPress", "", "kvzip", kProbe},
    Press{"KVzipPress(kvzip_plus_normalization)", "kvzip_plus", "kvzip:plus=1", kProbe},
    Press{"DMSPress(KnormPress)", "", "dms", kThreshold},
    Press{"DMSPress(KeyDiffPress)", "", "custom:stat=keydiff,select=threshold,sinks=0,recent=128", kOwnThreshold},
    Press{"DMSPress(ExpectedAttentionPress)", "", "custom:stat=expected,select=threshold,sinks=4,recent=128", kOwnThreshold},
    Press{"DuoAttentionPress(on_the_fly_scoring)", "duo_attention_on_the_fly", "duo:fly=1,sinks=128,recent=256", kFly},
    Press{"QFilterPress", "", "qfilter", kFilters},
    Press{"FinchPress", "", "finch", kQuestion},
    Press{"DropKVPress", "", "dropkv", kRemoval},
    Press{"ThinKPress", "", "think", kChannels},
    Press{"DecodingPress(KnormPress)", "decoding_knorm",
          "custom:stat=knorm,cadence=every,every=512,after_prompt=0,sinks=0,recent=0,slots=2048", kEvery},
    Press{"DecodingPress(KeyDiffPress)", "decoding_keydiff",
          "custom:stat=keydiff,cadence=every,every=512,after_prompt=0,sinks=0,recent=0,slots=2048", kEvery},
    Press{"DecodingPress(LagKVPress)", "", "custom:stat=lagkv,cadence=every,every=512,after_prompt=0,recent=0,slots=2048", kEveryLag},
    Press{"DecodingPress(CURPress)", "", "custom:stat=cur,cadence=every,every=512,after_prompt=0,recent=0,slots=2048", kEveryNorms},
    Press{"ChunkKVPress(SnapKVPress)", "", "chunkkv:window=64,kernel=5,pool=avg", kChunk},
    Press{"ChunkKVPress(KnormPress)", "", "custom:stat=knorm,select=chunks,sinks=0,recent=0", kChunk},
    Press{"ChunkKVPress(KeyDiffPress)", "", "custom:stat=keydiff,select=chunks,sinks=0,recent=0", kChunk},
};

/// 1 - share in decimals: 0.75 -> "0.25".
std::string share_kept(std::string_view removed, const std::string& where) {
  double share = -1;
  const auto [end, error] = from_chars(removed.data(), removed.data() + removed.size(), share);
  if (error != std::errc() || end != removed.data() + removed.size() || !(share >= 0 && share < 1))
    throw UsageError(
        fmt::format("{}: {}: expected the share that is removed, from 0 to below 1, got {}", where, kRemoved, quoted(removed)));
  return fmt::format("{:.12g}", 1 - share);
}

std::string_view value_of(std::string_view theirs) {
  if (theirs == "True" || theirs == "true") return "1";
  if (theirs == "False" || theirs == "false") return "0";
  return theirs;
}

void set(LaneSpec& spec, std::string_view key, std::string_view value) {
  const auto same = std::ranges::find(spec.given, key, [](const auto& g) { return std::string_view(g.first); });
  if (same == spec.given.end())
    spec.given.emplace_back(key, value);
  else
    same->second = value;
}

[[noreturn]] void refuse_argument(const Press& press, std::string_view key, const std::string& where) {
  std::string known(kRemoved);
  for (const Argument& argument : press.arguments) known += fmt::format(", {}", argument.theirs);
  throw UsageError(
      fmt::format("{}: expected arguments of {} that have a counterpart here ({}), got {}", where, press.name, known, quoted(key)));
}

/// A class that wraps another one means nothing alone; of others all are named.
[[noreturn]] void refuse_press(std::string_view name, const std::string& where) {
  const std::string_view outer = name.substr(0, name.find('('));
  std::string alike, all;
  for (const Press& press : kPresses) {
    all += fmt::format(" {}", press.name);
    if (press.name.starts_with(outer)) alike += fmt::format(" {}", press.name);
  }
  throw UsageError(
      fmt::format("{}: expected a press that has a counterpart here:{}, got {}", where, alike.empty() ? all : alike, quoted(name)));
}

/// `theirs` has our budget keys already.
LaneSpec of_press(const Press& press, const LaneSpec& theirs, const std::string& where) {
  LaneSpec out = split_lane_spec(press.ours);
  for (const auto& [key, value] : theirs.given) {
    const auto argument = std::ranges::find(press.arguments, std::string_view(key), &Argument::theirs);
    if (argument != press.arguments.end())
      set(out, argument->ours, value_of(value));
    else if (key == "ratio" || key == "slots")
      set(out, key, value);
    else
      refuse_argument(press, key, where);
  }
  return out;
}

}  // namespace

std::optional<std::string> in_own_words(std::string_view text) {
  const std::size_t edits = std::min(edits_begin(text), text.size());
  const std::string_view head = text.substr(0, edits);
  const std::string_view name = head.substr(0, head.find(':'));
  const auto press =
      std::ranges::find_if(kPresses, [&](const Press& p) { return !name.empty() && (p.name == name || p.short_name == name); });
  const std::string where = "run " + quoted(text);
  if (press == kPresses.end() && name.find("Press") != name.npos) refuse_press(name, where);
  if (press == kPresses.end() && head.find(kRemoved) == head.npos) return std::nullopt;
  LaneSpec spec = split_lane_spec(head);
  const auto removed = std::ranges::find(spec.given, kRemoved, [](const auto& g) { return std::string_view(g.first); });
  if (press == kPresses.end() && removed == spec.given.end()) return std::nullopt;
  if (removed != spec.given.end()) {
    const std::string kept = share_kept(removed->second, where);
    if (std::ranges::any_of(spec.given, [](const auto& g) { return g.first == "ratio" || g.first == "slots"; }))
      throw UsageError(fmt::format("{}: expected one of {}, ratio and slots, got two", where, kRemoved));
    *removed = {"ratio", kept};
  }
  if (press != kPresses.end()) spec = of_press(*press, spec, where);
  spec.edits = {};
  return join_lane_spec(spec) + std::string(text.substr(edits));
}

}  // namespace kvscope
