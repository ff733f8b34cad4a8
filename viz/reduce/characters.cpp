// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/characters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "viz/draw/format.h"

namespace kvscope::viz {
namespace {

const std::vector<double>& numbers_of(const HeadCharacters& c, Habit habit) {
  switch (habit) {
    case Habit::sink:
      return c.sink;
    case Habit::near:
      return c.local;
    case Habit::previous:
      return c.previous;
    case Habit::induction:
      return c.induction;
    case Habit::retrieval:
      return c.retrieval;
    case Habit::entropy:
      break;
  }
  return c.entropy;
}

/// Name, what such a head does, and on which texts it was measured. The rarer habit first: a head that copies also looks at recent tokens.
struct Words {
  Habit habit;
  const char *name, *plain, *measured;
};
constexpr std::array<Words, 5> kWords = {{
    {Habit::retrieval, "Retrieval head", "looks back at the token to copy next, however far away", "on hidden-number texts"},
    {Habit::induction, "Induction head", "finds the last time this token came up and looks at what followed it there",
     "in shuffled text that comes twice"},
    {Habit::previous, "Previous-token head", "looks at the token just before", "in prose"},
    {Habit::sink, "Sink head", "rests on the first tokens, whatever they say", "in prose"},
    {Habit::near, "Local head", "looks at the newest tokens", "in prose"},
}};

/// The query head of the group that has the most: "query head 2"; empty: there is but one.
std::string reader_of(const Snapshot& s, Habit habit, int layer, int kv_head) {
  const std::vector<double> values = habit_values(s, habit, layer, kv_head);
  if (values.size() < 2) return {};
  return fmt::format("query head {}",
                     kv_head * static_cast<int>(values.size()) + (std::max_element(values.begin(), values.end()) - values.begin()));
}

/// "71.6 % (query head 2)" of that head; `of` in between.
std::string figure(const Snapshot& s, Habit habit, int layer, int kv_head, std::string_view of = "") {
  const std::string reader = reader_of(s, habit, layer, kv_head);
  std::string text = format_habit(habit, habit_of(s, habit, layer, kv_head)).append(of);
  return reader.empty() ? text : text + " (" + reader + ")";
}

std::string lower(std::string text) {
  text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

}  // namespace

std::string habits_missing(const Snapshot& snapshot) {
  if (snapshot.characters) return {};
  return snapshot.characters_problem.empty() ? "not measured: kvscope-cli heads --out-characters" : snapshot.characters_problem;
}

std::string habit_unit(const HeadCharacters& c, Habit habit) {
  switch (habit) {
    case Habit::sink:
      return fmt::format("share on the first {}", c.sink_tokens);
    case Habit::near:
      return fmt::format("share on the newest {}", c.near_tokens);
    case Habit::previous:
      return "share on the token before";
    case Habit::induction:
      return "share on what came next, last time";
    case Habit::retrieval:
      return "share on the token to be repeated";
    case Habit::entropy:
      break;
  }
  return "nats";
}

std::string format_habit(Habit habit, double value) {
  if (std::isnan(value)) return std::string(kNotAvailableText);
  return habit == Habit::entropy ? format_number(value) : format_percent(value);
}

std::vector<double> habit_values(const Snapshot& s, Habit habit, int layer, int kv_head) {
  if (!s.characters || s.model.n_kv_heads < 1) return {};
  const HeadCharacters& c = *s.characters;
  const int group = c.n_heads / s.model.n_kv_heads, first = layer * c.n_heads + kv_head * group;
  const std::vector<double>& all = numbers_of(c, habit);
  if (layer < 0 || layer >= c.n_layers || kv_head < 0 || kv_head >= s.model.n_kv_heads || first + group > static_cast<int>(all.size()))
    return {};
  return {all.begin() + first, all.begin() + first + group};
}

double habit_of(const Snapshot& s, Habit habit, int layer, int kv_head) {
  const std::vector<double> values = habit_values(s, habit, layer, kv_head);
  return values.empty() ? kNotAvailable : *std::max_element(values.begin(), values.end());
}

HabitCaption habit_caption(const Snapshot& s, int layer, int kv_head) {
  HabitCaption out;
  if (std::isnan(habit_of(s, Habit::entropy, layer, kv_head))) {
    out.words = (s.characters_problem.empty() ? "What this head habitually looks at was " : "") + habits_missing(s);
    return out;
  }
  for (const Words& w : kWords) {
    if (!(habit_of(s, w.habit, layer, kv_head) >= kHabitFrom)) continue;
    if (out.name.empty()) {
      out.name = w.name;
      const bool half = w.habit == Habit::near && habit_of(s, w.habit, layer, kv_head) >= 0.5;
      out.plain = half ? "looks mostly at the newest tokens" : w.plain;
      out.words = fmt::format("{}: {}", out.plain, figure(s, w.habit, layer, kv_head, " of its attention"));
      out.share = format_habit(w.habit, habit_of(s, w.habit, layer, kv_head));
      const std::string reader = reader_of(s, w.habit, layer, kv_head);
      out.reader = reader.empty() ? "it" : reader;
      out.measured = fmt::format("full cache, mean {}", w.measured);
    } else if (w.habit != Habit::near || !(habit_of(s, Habit::previous, layer, kv_head) >= kHabitFrom)) {  // the token before is a near one
      out.besides += fmt::format("{}{} {}", out.besides.empty() ? "also " : ", ", lower(w.name), figure(s, w.habit, layer, kv_head));
    }
  }
  if (!out.name.empty()) return out;
  out.name = "No one habit";
  out.words = fmt::format("it spreads its attention as if over {} tokens",
                          format_count(std::llround(std::exp(habit_of(s, Habit::entropy, layer, kv_head)))));
  out.measured = "e^entropy, full cache, mean in prose";
  return out;
}

}  // namespace kvscope::viz
