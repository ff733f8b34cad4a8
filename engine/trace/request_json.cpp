// SPDX-License-Identifier: Apache-2.0
#include "trace/request_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string>

#include <fmt/ranges.h>

#include "core/error.h"
#include "core/from_chars.h"
#include "core/most_runs.h"
#include "policy/catalog.h"
#include "trace/trace_writer.h"

namespace kvscope {

namespace {

const RunRequest kAsMade;

struct MeasureName {
  const char* name;
  bool MeasureSet::*asked;
  bool always;  // written
};
constexpr MeasureName kMeasures[] = {{"local_error", &MeasureSet::local, true},      {"theta", &MeasureSet::theta, true},
                                     {"hidden", &MeasureSet::hidden, true},          {"prediction", &MeasureSet::prediction, true},
                                     {"runner_ups", &MeasureSet::runner_ups, false}, {"agreement", &MeasureSet::agreement, false},
                                     {"queries", &MeasureSet::queries, false}};

constexpr std::array<std::string_view, 2> kModeNames = {"prefill", "stream"};  // in the order of PromptMode
constexpr std::array<std::string_view, 16> kKeys = {"prompt", "prompt_text", "chat_arguments", "prompt_ids", "lanes",      "prompt_mode",
                                                    "follow", "follow_ids",  "given_ids",      "generate",   "ignore_end", "temperature",
                                                    "seed",   "logits",      "shadow",         "measures"};

std::string quoted(const std::string& text) { return fmt::format("\"{}\"", text); }

[[noreturn]] void refuse(const JsonCursor& f, const char* key, const std::string& expected, const std::string& got) {
  throw Error(fmt::format("{}: {}: expected {}, got {}", f.where(), key, expected, got));
}

std::vector<int> ids_of(const JsonCursor& f, const char* key) {
  return f.given(key) ? f.at(key).wholes(0, std::numeric_limits<int>::max()) : std::vector<int>();
}

/// The place of the word among those that are known; of another one, if it may be noted, the first.
template <std::size_t N>
std::size_t word_of(const JsonCursor& f, const char* key, const std::array<std::string_view, N>& words, std::vector<std::string>* notes) {
  const std::string word = f.text_or(key, words.front());
  const auto known = std::ranges::find(words, std::string_view(word));
  if (known != words.end()) return static_cast<std::size_t>(known - words.begin());
  if (!notes) refuse(f, key, fmt::format("one of {}", fmt::join(words, ", ")), quoted(word));
  notes->push_back(fmt::format("{}: {} \"{}\" is not known here: {} is used", f.where(), key, word, words.front()));
  return 0;
}

Detail detail_of(const JsonCursor& f) {
  const std::string name = f.text_or("detail", name_of(kAsMade.detail));
  for (const Detail d : {Detail::summary, Detail::events, Detail::slots, Detail::why})
    if (name_of(d) == name) return d;
  refuse(f, "detail", "summary, events, slots or why", quoted(name));
}

}  // namespace

std::string newer_session_notice(int version) {
  if (version <= kSessionVersion) return "";
  return fmt::format("written by a newer kvscope (version {} of the file, {} is known here): what is known was read", version,
                     kSessionVersion);
}

void write_request(JsonText& out, const RunRequest& r) {
  out.member("prompt", std::string_view(r.prompt));
  if (r.prompt_text != kAsMade.prompt_text) out.member("prompt_text", name_of(r.prompt_text));
  if (r.chat_arguments != kAsMade.chat_arguments) out.member("chat_arguments", std::string_view(r.chat_arguments));
  if (!r.prompt_ids.empty()) out.key("prompt_ids").values(r.prompt_ids);
  out.key("lanes").begin_array();
  for (const LaneSpec& lane : r.lanes) out.value(std::string_view(lane.text));
  out.end_array();
  out.member("prompt_mode", r.mode == PromptMode::stream ? "stream" : "prefill");
  out.member("follow", name_of(r.follow));
  if (!r.follow_ids.empty()) out.key("follow_ids").values(r.follow_ids);
  if (!r.given_ids.empty()) out.key("given_ids").values(r.given_ids);
  out.member("generate", r.n_generate);
  if (r.ignore_end) out.member("ignore_end", true);
  out.member("temperature", r.temperature);
  out.member("seed", std::string_view(std::to_string(r.seed)));  // a JSON number would lose digits
  if (r.detail != kAsMade.detail) out.member("detail", std::string_view(name_of(r.detail)));
  if (r.n_logits != kAsMade.n_logits) out.member("logits", r.n_logits);
  out.member("shadow", r.history);
  out.key("measures").begin_object();
  for (const MeasureName& m : kMeasures)
    if (m.always || r.measures.*m.asked) out.member(m.name, r.measures.*m.asked);
  out.end_object();
}

bool is_request_key(std::string_view key) { return std::ranges::find(kKeys, key) != kKeys.end(); }

const char* not_of(const RunRequest& r, const Trace& results) {
  const Snapshot& s = results.snapshot;
  const std::span<const TokenInfo> prompt = std::span(s.tokens).first(std::min(s.tokens.size(), static_cast<std::size_t>(s.n_prompt)));
  const bool same_text = r.prompt_text != PromptText::plain || s.prompt.empty() || s.prompt == r.prompt;
  if (r.prompt_ids.empty() ? !same_text : !std::ranges::equal(r.prompt_ids, prompt, {}, {}, &TokenInfo::id)) return "prompt";
  const auto specs = [](const auto& lanes, auto text_of) {
    std::vector<std::string> out;
    for (const auto& lane : lanes)
      if (text_of(lane) != reference_policy()) out.push_back(text_of(lane));
    return out;
  };
  if (specs(r.lanes, [](const LaneSpec& l) { return l.text; }) != specs(s.lanes, [](const LaneSnapshot& l) { return l.spec; }))
    return "runs";
  if (s.prefill_mode != (r.mode == PromptMode::prefill)) return "prompt mode";
  if (s.follow != name_of(r.follow)) return "fed tokens (follow)";
  if (r.follow != Follow::file && !std::isnan(s.temperature) && s.temperature != r.temperature) return "temperature";
  if (results.seed != r.seed) return "seed";
  const auto after = static_cast<std::ptrdiff_t>(s.tokens.size()) - s.n_prompt;  // fewer where the text ended by itself
  return r.follow != Follow::file && after > r.n_generate ? "length (generate)" : nullptr;
}

RunRequest read_request(const JsonCursor& f, std::vector<std::string>* notes) {
  if (!f.is_object()) f.fail("what a run is asked to be, an object");
  RunRequest r;
  r.prompt = f.text_or("prompt", "");
  r.prompt_text = static_cast<PromptText>(word_of(f, "prompt_text", kPromptTextNames, notes));
  r.chat_arguments = f.text_or("chat_arguments", kAsMade.chat_arguments);
  r.prompt_ids = ids_of(f, "prompt_ids");
  r.follow_ids = ids_of(f, "follow_ids");
  r.given_ids = ids_of(f, "given_ids");
  if (f.given("lanes") && f.at("lanes").size() > kMostRuns + 1)
    refuse(f, "lanes", fmt::format("at most {} entries", kMostRuns + 1), fmt::format("{}", f.at("lanes").size()));
  for (std::size_t i = 0; f.given("lanes") && i < f.at("lanes").size(); ++i) {
    const std::string_view lane = f.at("lanes").at(i).view();
    try {
      r.lanes.push_back(parse_lane_spec(lane));  // says what is wrong before a model is opened
    } catch (const UsageError& error) {
      if (!notes) throw;
      notes->push_back(fmt::format("run \"{}\" was left out: {}", lane, error.what()));
    }
  }
  r.mode = static_cast<PromptMode>(word_of(f, "prompt_mode", kModeNames, notes));
  r.follow = static_cast<Follow>(word_of(f, "follow", kFollowNames, notes));
  r.n_generate = f.whole_or("generate", -1, 1 << 20, 0);
  r.ignore_end = f.flag_or("ignore_end", r.ignore_end);
  r.temperature = f.real_or("temperature", 0, 100, 0);
  const std::string seed = f.text_or("seed", "0");
  const auto given_seed = number_from<decltype(r.seed)>(seed);
  if (!given_seed) refuse(f, "seed", "digits", quoted(seed));
  r.seed = *given_seed;
  r.detail = detail_of(f);
  r.n_logits = f.whole_or("logits", 0, std::numeric_limits<int>::max(), r.n_logits);
  r.history = f.flag_or("shadow", true);
  if (f.given("measures")) {
    const JsonCursor measures = f.at("measures");
    for (const MeasureName& m : kMeasures) r.measures.*m.asked = measures.flag_or(m.name, r.measures.*m.asked);
    for (std::size_t i = 0; notes && i < measures.n_members(); ++i)
      if (std::ranges::none_of(kMeasures, [&](const MeasureName& m) { return measures.member_name(i) == m.name; }))
        notes->push_back(measures.member(i).where() + " is not known here and was left out");
  }
  return r;
}

}  // namespace kvscope
