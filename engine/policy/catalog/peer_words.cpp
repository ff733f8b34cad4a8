// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/from_chars.h"
#include "policy/catalog/custom.h"
#include "policy/catalog/preset.h"
#include "policy/policy_row.h"
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
constexpr std::array kTwoStages = {Argument{"first_stage_ratio", "alpha"}, Argument{"epsilon", "eps"}, Argument{"window_size", "window"},
                                   Argument{"kernel_size", "kernel"}};
constexpr std::array kSharedStages = {Argument{"first_stage_ratio", "alpha"}, Argument{"epsilon", "eps"},
                                      Argument{"alpha_safeguard", "base_alpha"}, Argument{"window_size", "window"},
                                      Argument{"kernel_size", "kernel"}};
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
constexpr std::array kProbe = {Argument{"layerwise", "layerwise"}, Argument{"n_sink", "sinks"},
                               Argument{"kvzip_plus_normalization", "plus"}, Argument{"chunk_size", "repeat"}};
constexpr std::array kThreshold = {Argument{"threshold", "threshold"}, Argument{"sliding_window_size", "recent"}};
constexpr std::array kFly = {Argument{"head_compression_ratio", "sparsity"}};
constexpr std::array kChunk = {Argument{"chunk_length", "chunk"}, Argument{"window_size", "window"}, Argument{"kernel_size", "kernel"}};
constexpr std::array kFilters = {Argument{"file", "file"}};  // kvpress loads them by the model's name
constexpr std::array kGates = {Argument{"layerwise", "layerwise"}, Argument{"n_sink", "sinks"}, Argument{"window_ratio", "local"},
                               Argument{"file", "file"}};
constexpr std::array kCurves = {Argument{"sink", "sinks"}, Argument{"window", "recent"}, Argument{"file", "file"}};
constexpr std::array kQuestion = {Argument{"normalize_scores", "norm"}, Argument{"window_size", "window"}};
constexpr std::array kRemoval = {Argument{"window_size", "window"}, Argument{"kernel_size", "kernel"}, Argument{"epsilon", "eps"}};
constexpr std::array kChannels = {Argument{"key_channel_compression_ratio", "pruned"}, Argument{"window_size", "window"}};
constexpr std::array kPresses = {
    Press{"KnormPress", "", "knorm"},
    Press{"KeyDiffPress", "", "keydiff"},
    Press{"RandomPress", "", "random"},
    Press{"StreamingLLMPress", "streaming_llm", "streaming:positions=original", kSinks},
    Press{"KeyRerotationPress(StreamingLLMPress)", "", "streaming", kSinks},
    Press{"SnapKVPress", "", "snapkv:window=64,kernel=5,pool=padded,whole_window=1", kObserving},
    Press{"PyramidKVPress", "", "pyramidkv:window=64,kernel=5,pool=padded,whole_window=1,split=all", kPyramid},
    Press{"AdaKVPress(SnapKVPress)", "adakv_snapkv", "adakv:window=64,kernel=5,pool=padded,whole_window=1,alpha=0.2,safeguard=floor",
          kSharing},
    Press{"CriticalKVPress(SnapKVPress)", "critical_snapkv", "criticalkv:window=64,kernel=5,pool=padded,whole_window=1,first_of=all",
          kTwoStages},
    Press{"CriticalAdaKVPress(SnapKVPress)", "critical_adakv_snapkv",
          "criticalkv:base=adakv,window=64,kernel=5,pool=padded,whole_window=1,base_alpha=0.2,safeguard=floor,first_of=all", kSharedStages},
    Press{"TOVAPress", "", "tova:recent=1"},
    Press{"ObservedAttentionPress", "observed_attention", "custom:stat=mean,sinks=0,recent=0"},
    Press{"DuoAttentionPress", "duo_attention", "duo", kHeads},
    Press{"LagKVPress", "", "lagkv", kLag},
    Press{"LeverageScorePress", "", "leverage", kSketch},
    Press{"NonCausalAttnPress", "", "noncausal", kChunkSize},
    Press{"CompactorPress", "", "compactor", kBlend},
    Press{"CURPress", "", "cur", kNorms},
    Press{"ExpectedAttentionPress", "expected_attention", "expected", kExpected},
    Press{"KVzipPress", "", "kvzip", kProbe},
    Press{"KVzipPress(kvzip_plus_normalization)", "kvzip_plus", "kvzip:plus=1", kProbe},
    Press{"DMSPress(KnormPress)", "", "dms", kThreshold},
    Press{"DuoAttentionPress(on_the_fly_scoring)", "duo_attention_on_the_fly", "duo:fly=1,sinks=128,recent=256", kFly},
    Press{"QFilterPress", "", "qfilter", kFilters},
    Press{"KVzapPress", "", "kvzap", kFilters},
    Press{"FastKVzipPress", "", "fastkvzip", kGates},
    Press{"LUKVPress", "", "lukv", kCurves},
    Press{"FinchPress", "", "finch", kQuestion},
    Press{"DropKVPress", "", "dropkv", kRemoval},
    Press{"ThinKPress", "", "think", kChannels},
    Press{"ChunkKVPress(SnapKVPress)", "", "chunkkv:window=64,kernel=5,pool=padded,whole_window=1", kChunk},
};

/// Around a press, whose parts it changes.
struct Wrapper {
  std::string_view name, sets;
  std::span<const Argument> arguments;
};
constexpr std::array kSafe = {Argument{"alpha_safeguard", "ada_alpha"}};
constexpr std::array kStages = {Argument{"first_stage_ratio", "critical_alpha"}, Argument{"epsilon", "eps"}};
constexpr std::array kSafeStages = {Argument{"alpha_safeguard", "ada_alpha"}, Argument{"first_stage_ratio", "critical_alpha"},
                                    Argument{"epsilon", "eps"}};
constexpr std::array kLength = {Argument{"chunk_length", "chunk"}};
constexpr std::array kOwnThreshold = {Argument{"threshold", "score_threshold"}, Argument{"sliding_window_size", "recent"}};
constexpr std::array kOwnCurves = {Argument{"sink", "sinks"}, Argument{"window", "recent"}, Argument{"file", "curves"}};
constexpr std::array kEvery = {Argument{"compression_interval", "every"}, Argument{"target_size", "slots"}};
constexpr std::array kWrappers = {
    Wrapper{"AdaKVPress", "alloc=ada,ada_alpha=0.2,safeguard=floor", kSafe},
    Wrapper{"CriticalKVPress", "reweight=critical,critical_alpha=0.5,eps=1e-4,first_of=all", kStages},
    Wrapper{"CriticalAdaKVPress", "alloc=ada,ada_alpha=0.2,safeguard=floor,reweight=critical,critical_alpha=0.5,eps=1e-4,first_of=all",
            kSafeStages},
    Wrapper{"ChunkKVPress", "select=chunks", kLength},
    Wrapper{"DMSPress", "select=threshold,recent=128", kOwnThreshold},
    Wrapper{"LUKVPress", "alloc=curves,sinks=4,recent=1", kOwnCurves},
    Wrapper{"DecodingPress", "cadence=every,every=512,after_prompt=0,slots=2048", kEvery},
    Wrapper{"KeyRerotationPress", "positions=cache", {}},
};
constexpr std::string_view kTwoPhases = "PrefillDecodingPress";

struct Named {
  std::string_view name, words;
};
/// What kvpress's evaluation calls them.
constexpr Named kShortNames[] = {
    {"adakv_expected_attention", "AdaKVPress(ExpectedAttentionPress)"},
    {"adakv_expected_attention_e2", "AdaKVPress(ExpectedAttentionPress(epsilon=1e-2))"},
    {"adakv_compactor", "AdaKVPress(CompactorPress)"},
    {"critical_expected_attention", "CriticalKVPress(ExpectedAttentionPress(use_vnorm=False))"},
    {"critical_adakv_expected_attention", "CriticalAdaKVPress(ExpectedAttentionPress(use_vnorm=False))"},
    {"decoding_knorm", "DecodingPress(KnormPress)"},
    {"decoding_keydiff", "DecodingPress(KeyDiffPress)"},
};

/// Presses that are not here, why, and what comes closest.
struct Absent {
  std::string_view name, why, instead;
};
constexpr Absent kNotHere[] = {
    {"KVgradPress", "scores by gradients, and this runtime goes forward only", "take kvzip or dropkv"},
    {"RestoreKVPress", "compresses into tokens that are trained for one model",
     "take refit, which fits what stays to the prompt's queries"},
    {"ExpectedAttentionStatsPress", "expects the queries of a set of books, from a file that is published for one model",
     "take expected, which measures them on the prompt"},
    {"BlockPress", "ranks the prompt block by block, as if it had come in blocks",
     "let it come in: --prompt-mode stream with the press inside, and cadence=every,every=128 for blocks of 128"},
    {"ChunkPress", "ranks every stretch of the prompt by itself, and here the slots of a head are ranked together",
     "take lagkv, which ranks inside stretches, or ChunkKVPress, which keeps or drops whole ones"},
    {"EntropyGatedChunkKVPress", "keeps some chunks whole and of others a few tokens",
     "take ChunkKVPress, which keeps or drops whole ones"},
    {"ComposedPress", "lets one press rank what another one left",
     "for fewer slots with thinner keys, as SnapKVPress with ThinKPress, take custom:stat=pooled,storage=pruned"},
    {"PerLayerCompressionPress", "takes a list with a share for every layer",
     "take alloc=pyramid or alloc=decay, or set a layer's budget by hand behind @"},
    {"SimLayerKVPress", "keeps everything in some layers, and in others the first and newest tokens",
     "take duo, which chooses so between heads"},
    {"KVComposePress", "puts tokens of different heads together, and splits one budget over the layers by their scores",
     "take alloc=flat, which splits it over layers and heads"},
    {"CapPress", "scores values by how much they add to the others, weighted by expected attention",
     "take leverage, which does so for keys, or expected"},
    {"CAMPress", "merges in rounds, many tokens at once", "take cam, which merges in every step, as published"},
    {"MergingPress", "adds the value of what goes to the nearest key's", "take d2o, which merges keys and values so"},
    {"CompressionRatioDecodingPress", "lets the cache grow with the text", "take DecodingPress, which holds it at one size"},
};

/// `Name(Inner(key=value), key=value)` as kvpress writes it.
struct Call {
  std::string name;
  std::vector<Call> inner;
  std::vector<std::pair<std::string, std::string>> arguments;
};

[[noreturn]] void refuse_call(const std::string& where, std::string_view expected, std::string_view rest) {
  throw UsageError(
      fmt::format("{}: expected {}, got {}", where, expected, rest.empty() ? "the end" : quoted(std::string(rest.substr(0, 40)))));
}

void skip_spaces(std::string_view& text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
}

std::string take_word(std::string_view& text) {
  skip_spaces(text);
  std::size_t n = 0;
  while (n < text.size() && (std::isalnum(static_cast<unsigned char>(text[n])) || text[n] == '_')) ++n;
  std::string word(text.substr(0, n));
  text.remove_prefix(n);
  skip_spaces(text);
  return word;
}

/// Whatever its arguments are.
void refuse_absent(std::string_view press, const std::string& where) {
  for (const auto& [name, why, instead] : kNotHere)
    if (press == name) throw UsageError(fmt::format("{}: {} is not here: it {}; {}", where, name, why, instead));
}

/// Takes one call from the front of the text.
Call take_call(std::string_view& text, const std::string& where, int depth = 0) {
  constexpr int kDeepest = 8;
  Call call{take_word(text), {}, {}};
  refuse_absent(call.name, where);
  if (call.name.empty() || depth > kDeepest) refuse_call(where, "the name of a press", text);
  if (!text.starts_with('(')) return call;
  text.remove_prefix(1);
  for (skip_spaces(text); !text.starts_with(')');) {
    std::string_view ahead = text;
    const std::string word = take_word(ahead);
    if (word.empty()) refuse_call(where, "a press or an argument", text);
    if (ahead.starts_with('=')) {
      const std::size_t end = ahead.find_first_of(",)");
      if (end == ahead.npos) refuse_call(where, "')' behind the arguments", "");
      std::string_view value = ahead.substr(1, end - 1);
      skip_spaces(value);
      while (value.ends_with(' ')) value.remove_suffix(1);
      text = ahead.substr(end);
      if (word == "press" || word == "prefilling_press" || word == "decoding_press" || word == "base_press") {  // presses by name
        text = ahead.substr(1);
        skip_spaces(text);
        call.inner.push_back(take_call(text, where, depth + 1));
      } else {
        call.arguments.emplace_back(word, value);
      }
    } else if (word.ends_with("Press")) {
      call.inner.push_back(take_call(text, where, depth + 1));
    } else {  // a switch
      call.arguments.emplace_back(word, "True");
      text = ahead;
    }
    skip_spaces(text);
    if (text.starts_with(','))
      text.remove_prefix(1);
    else if (!text.starts_with(')'))
      refuse_call(where, "',' or ')'", text);
    skip_spaces(text);
  }
  text.remove_prefix(1);
  return call;
}

/// "AdaKVPress(SnapKVPress)"
std::string name_of(const Call& call) {
  std::string out = call.name;
  for (const Call& inner : call.inner) out += fmt::format("({})", name_of(inner));
  return out;
}

void gather(const Call& call, std::vector<std::pair<std::string, std::string>>& out) {
  for (const Call& inner : call.inner) gather(inner, out);
  out.insert(out.end(), call.arguments.begin(), call.arguments.end());
}

/// 1 - share in decimals: 0.75 -> "0.25".
std::string share_kept(std::string_view removed, const std::string& where) {
  const auto share = number_from<double>(removed);
  if (!share || !(*share >= 0 && *share < 1))
    throw UsageError(
        fmt::format("{}: {}: expected the share that is removed, from 0 to below 1, got {}", where, kRemoved, quoted(removed)));
  return fmt::format("{:.12g}", 1 - *share);
}

std::string_view value_of(std::string_view theirs) {
  if (theirs == "True" || theirs == "true") return "1";
  if (theirs == "False" || theirs == "false") return "0";
  return theirs;
}

[[noreturn]] void refuse_argument(std::string_view press, std::span<const Argument> arguments, std::string_view key,
                                  const std::string& where) {
  std::string known(kRemoved);
  for (const Argument& argument : arguments) known += fmt::format(", {}", argument.theirs);
  throw UsageError(
      fmt::format("{}: expected arguments of {} that have a counterpart here ({}), got {}", where, press, known, quoted(std::string(key))));
}

/// A class that wraps another one means nothing alone; of others all are named.
[[noreturn]] void refuse_press(const Call& call, const std::string& where) {
  std::string all;
  for (const Press& press : kPresses) all += fmt::format(" {}", press.name);
  for (const Wrapper& wrapper : kWrappers) all += fmt::format(" {}(...)", wrapper.name);
  for (const Wrapper& wrapper : kWrappers)
    if (call.name == wrapper.name && call.inner.size() != 1)
      throw UsageError(fmt::format("{}: expected {} around one press, as in {}(SnapKVPress), got {}", where, call.name, call.name,
                                   quoted(name_of(call))));
  throw UsageError(fmt::format("{}: expected a press that has a counterpart here:{} {}(..., DecodingPress(...)), got {}", where, all,
                               kTwoPhases, quoted(name_of(call))));
}

/// Arguments with a counterpart, and our own budget keys.
void put_arguments(LaneSpec& out, std::string_view press, std::span<const Argument> arguments,
                   const std::vector<std::pair<std::string, std::string>>& given, const std::string& where) {
  for (const auto& [key, value] : given) {
    const auto argument = std::ranges::find(arguments, std::string_view(key), &Argument::theirs);
    if (argument != arguments.end())
      set_key(out, argument->ours, value_of(value));
    else if (is_budget_key(key) || key == "round" || key == "block")
      set_key(out, key, value);
    else
      refuse_argument(press, arguments, key, where);
  }
}

/// A press of the table by its name, or by that and one of its switches.
const Press* listed(const Call& call) {
  const std::string name = name_of(call);
  const auto of = [](std::string_view wanted) {
    const auto press = std::ranges::find(kPresses, wanted, &Press::name);
    return press == kPresses.end() ? nullptr : &*press;
  };
  for (const auto& [key, value] : call.arguments)
    if (const Press* press = of(fmt::format("{}({})", name, key)); press && value_of(value) == "1") return press;
  return of(name);
}

/// Whose argument a key behind the call is: the outermost press that knows it, else the innermost one.
Call& taker_of(Call& call, std::string_view key) {
  if (listed(call) || call.inner.size() != 1 || key == kRemoved || is_budget_key(key)) return call;
  const auto wrapper = std::ranges::find(kWrappers, std::string_view(call.name), &Wrapper::name);
  const bool known =
      wrapper != kWrappers.end() && std::ranges::find(wrapper->arguments, key, &Argument::theirs) != wrapper->arguments.end();
  return known ? call : taker_of(call.inner.front(), key);
}

/// Of what a composition chooses, not of how much.
bool is_part(std::string_view key) { return std::ranges::find(part_keys(), key, &PartKey::key) != part_keys().end(); }

/// Budget keys are ours already.
LaneSpec in_our_words(const Call& call, const std::string& where) {
  if (const Press* press = listed(call)) {
    LaneSpec out = split_lane_spec(press->ours);
    std::vector<std::pair<std::string, std::string>> given;
    gather(call, given);
    std::erase_if(given, [&](const auto& g) { return press->name.ends_with(fmt::format("({})", g.first)); });
    put_arguments(out, press->name, press->arguments, given, where);
    return out;
  }
  if (call.name == kTwoPhases && call.inner.size() == 2) {
    LaneSpec halves[2];
    for (int i = 0; i < 2; ++i) {
      halves[i] = in_our_words(call.inner[static_cast<std::size_t>(i)], where);
      halves[i].edits = {};
    }
    LaneSpec out = split_lane_spec("prefill_decode");
    set_key(out, "prefill", join_lane_spec(halves[0]));
    set_key(out, "decode", join_lane_spec(halves[1]));
    return out;
  }
  const auto wrapper = std::ranges::find(kWrappers, std::string_view(call.name), &Wrapper::name);
  if (wrapper == kWrappers.end() || call.inner.size() != 1) refuse_press(call, where);
  const std::optional<LaneSpec> inner = in_parts(in_our_words(call.inner.front(), where));
  if (!inner)
    throw UsageError(fmt::format("{}: {} around {}: this press is not made of parts that it could change", where, call.name,
                                 name_of(call.inner.front())));
  LaneSpec out = *inner;
  for (const auto& [key, value] : split_lane_spec(fmt::format("x:{}", wrapper->sets)).given) {
    const auto said = std::ranges::find(inner->given, key, [](const auto& g) { return std::string_view(g.first); });
    if (is_part(key) && said != inner->given.end() && said->second != value)
      throw UsageError(fmt::format("{}: {} around {}: one says {}={}, the other {}={}", where, call.name, name_of(call.inner.front()), key,
                                   value, key, said->second));
    set_key(out, key, value);
  }
  put_arguments(out, wrapper->name, wrapper->arguments, call.arguments, where);
  return out;
}

/// kvpress's share as ours, wherever in the call it stands.
void turn_share(std::vector<std::pair<std::string, std::string>>& given, const std::string& where) {
  const auto removed = std::ranges::find(given, kRemoved, [](const auto& g) { return std::string_view(g.first); });
  if (removed == given.end()) return;
  if (std::ranges::any_of(given, [](const auto& g) { return is_budget_key(g.first); }))
    throw UsageError(fmt::format("{}: expected one of {}, ratio, slots and bytes, got two", where, kRemoved));
  *removed = {"ratio", share_kept(removed->second, where)};
  given.insert(removed + 1, {"round", "down"});
}
void turn_shares(Call& call, const std::string& where) {
  turn_share(call.arguments, where);
  for (Call& inner : call.inner) turn_shares(inner, where);
}

}  // namespace

std::optional<std::string> in_own_words(std::string_view text) {
  const std::size_t edits = std::min(edits_begin(text), text.size());
  std::string_view head = text.substr(0, edits);
  std::string_view name = head.substr(0, head.find_first_of(":("));
  const std::string where = "run " + quoted(std::string(text));
  std::string_view call_text;
  const auto short_name = std::ranges::find(kShortNames, name, &Named::name);
  const auto short_press = std::ranges::find_if(kPresses, [&](const Press& p) { return !name.empty() && p.short_name == name; });
  if (short_name != std::end(kShortNames)) call_text = short_name->words;
  if (short_press != kPresses.end()) call_text = short_press->name;
  const bool is_press = !call_text.empty() || name.ends_with("Press");
  if (!is_press && head.find(kRemoved) == head.npos && head.find("block=") == head.npos) return std::nullopt;
  LaneSpec spec;
  if (is_press) {
    std::string_view rest = call_text.empty() ? head : head.substr(name.size());
    std::string_view& whole = call_text.empty() ? rest : call_text;
    Call call = take_call(whole, where);
    if (!rest.empty() && rest.front() != ':') refuse_call(where, "':' and arguments, or the end", rest);
    if (!rest.empty())
      for (auto& given : split_lane_spec("x" + std::string(rest)).given) taker_of(call, given.first).arguments.push_back(std::move(given));
    turn_shares(call, where);
    spec = in_our_words(call, where);
  } else {
    spec = split_lane_spec(head);
    const auto before = spec.given;
    turn_share(spec.given, where);
    if (spec.given == before && !by_pages(spec)) return std::nullopt;
  }
  spec.text = std::string(text);
  if (std::optional<LaneSpec> paged = by_pages(spec)) spec = *std::move(paged);
  spec.edits = {};
  return join_lane_spec(spec) + std::string(text.substr(edits));
}

}  // namespace kvscope
