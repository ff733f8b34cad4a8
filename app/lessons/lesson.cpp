// SPDX-License-Identifier: Apache-2.0
#include "app/lessons/lesson.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/ranges.h>

#include "app/lessons/prompt_text.h"
#include "app/run_options.h"
#include "core/assets.h"
#include "core/error.h"
#include "io/files.h"
#include "io/json_asset.h"
#include "policy/catalog.h"
#include "runtime/session/run_request.h"
#include "viz/draw/draw.h"

namespace kvscope {

namespace {

constexpr int kMostGenerated = 256;
constexpr std::size_t kMostRuns = 8, kMostScenes = 1000, kMostVariants = 100, kMostBytes = 1u << 20;
constexpr std::size_t kMostName = 255, kMostCaption = 4096;  // bytes

/// A word that nobody reads is a mistake, mostly a slip of the pen: it is said, not passed over.
void only_keys(const JsonCursor& o, std::initializer_list<std::string_view> keys) {
  for (std::size_t i = 0; i < o.n_members(); ++i)
    if (const std::string_view name = o.member_name(i); std::ranges::find(keys, name) == keys.end())
      throw Error(fmt::format("{}: expected one of the keys {}, got \"{}\"", o.member(i).where(), fmt::join(keys, ", "), name));
}

/// The place of the text under `key` among `names`.
template <std::size_t n>
std::size_t place_of(const JsonCursor& name, std::string_view prefix, const std::array<const char*, n>& names) {
  const std::string text = name.text();
  for (std::size_t i = 0; i < n; ++i)
    if (text == std::string(prefix) + names[i]) return i;
  name.fail(fmt::format("{}{}", prefix, fmt::join(names, fmt::format(", {}", prefix))));
}

std::optional<int> count_of(const JsonCursor& o, std::string_view key, int least, int most) {
  if (!o.given(key)) return std::nullopt;
  return o.at(key).whole(least, most);
}

std::optional<double> share_of(const JsonCursor& o, std::string_view key) {
  if (!o.given(key)) return std::nullopt;
  const double share = o.at(key).real();
  if (!(share > 0 && share <= 1)) o.at(key).fail("a share of the text, more than 0 and at most 1");
  return share;
}

std::optional<Category> category_of(const JsonCursor& scene) {
  if (!scene.given("emphasis")) return std::nullopt;
  const JsonCursor name = scene.at("emphasis");
  const std::string text = name.text();
  for (int c = 1; c < kCategories; ++c)
    if (text == viz::category_name(static_cast<Category>(c))) return static_cast<Category>(c);
  name.fail("the name of a category (sink, heavy, recent, merged, evicted, new)");
}

void take_look(Scene& scene, const JsonCursor& o) {
  if (!o.given("look")) return;
  constexpr std::array kHabitNames = {"sink", "near", "previous", "induction", "retrieval", "entropy"};
  static_assert(kHabitNames.size() == viz::kHabits);
  constexpr std::array kLooks = {"stay", "loss", "changed", "differs", "merging", "sink", "reads"};
  const JsonCursor name = o.at("look");
  if (name.view().starts_with("habit:")) {
    scene.look = Scene::Look::habit;
    scene.habit = static_cast<viz::Habit>(place_of(name, "habit:", kHabitNames));
  } else {
    scene.look = static_cast<Scene::Look>(place_of(name, "", kLooks));
  }
}

/// Texts stand in a file beside the lesson, or are a sample of the program.
void read_text_of(Stage& stage, const JsonCursor& name, const std::string& lesson) {
  const std::string file = name.text(255);
  if (file.empty() || file.starts_with('.') || file.find_first_of("/\\") != std::string::npos)
    name.fail("the name of a file beside the lesson");
  const std::string beside = in_folder(folder_of(lesson), file), sample = asset("prompts/" + file);
  const bool own = is_file(beside) || !is_file(sample);
  if (own && !lies_in(beside, folder_of(lesson))) name.fail("the name of a file beside the lesson, not of a link that leads elsewhere");
  stage.file = own ? beside : sample;
  std::string text = read_prompt_text(stage.file);
  // The one that editors put at the end of every file is no part of the text: what follows it would begin a line of its own.
  if (text.ends_with('\n')) text.erase(text.size() - (text.ends_with("\r\n") ? 2 : 1));
  stage.text = std::move(text);
}

/// `before`, with what `o` says instead.
Stage stage_of(const JsonCursor& scene, Stage before, const std::string& lesson) {
  if (!scene.given("stage")) return before;
  const JsonCursor o = scene.at("stage");
  only_keys(o, {"text", "prompt", "runs", "mode", "generate"});
  Stage s = std::move(before);
  if (o.given("text") && o.given("prompt")) o.fail("\"text\" (a file) or \"prompt\" (the text itself), not both");
  if (o.given("text")) read_text_of(s, o.at("text"), lesson);
  if (o.given("prompt")) s.text = o.at("prompt").text(), s.file.clear();
  if (o.given("runs")) s.runs = texts_under(o, "runs");
  if (s.runs.size() > kMostRuns) o.at("runs").fail(fmt::format("at most {} runs", kMostRuns));
  try {
    for (const std::string& run : s.runs) parse_lane_spec(run);
  } catch (const UsageError& error) {
    throw Error(fmt::format("{}.runs: {}", o.where(), error.what()));
  }
  if (o.given("mode")) s.streamed = place_of(o.at("mode"), "", std::array{"prefill", "stream"}) == 1;
  if (const auto n = count_of(o, "generate", 0, kMostGenerated)) s.n_generate = n;
  return s;
}

/// "A" is the full cache. Without runs of its own a scene is about those on screen, however many there are.
std::optional<int> run_of(const JsonCursor& o, std::string_view key, const Stage& stage) {
  if (!o.given(key)) return std::nullopt;
  const std::string_view name = o.at(key).view();
  const char last = static_cast<char>('A' + (stage.runs.empty() ? kMostRuns : stage.runs.size()));
  if (name.size() != 1 || name[0] < 'A' || name[0] > last)
    o.at(key).fail(
        fmt::format("the letter of a run, A (the full cache) to {}{}", last, stage.runs.empty() ? "" : ", the last one of \"runs\""));
  return name[0] - 'A';
}

/// The names in the braces of a text: "tokens" of "{tokens|token|tokens}".
std::vector<std::string> facts_named(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1))
    if (const std::size_t end = text.find_first_of("{}|", at + 1); end != std::string::npos && text[end] != '{')
      out.push_back(text.substr(at + 1, end - at - 1));
  return out;
}

/// A brace that is not closed would stand there on the screen.
void check_braces(const std::string& text, const std::string& where) {
  const std::size_t open = text.rfind('{');
  if (open != std::string::npos && text.find('}', open) == std::string::npos)
    throw Error(fmt::format("{}: expected a fact in braces, got \"{}\" without a closing one", where, text.substr(open, 40)));
}

/// Every {fact} of a text, and every condition, is one that there is.
void check_facts(const Scene& scene, const JsonCursor& where) {
  static const viz::Facts known = [] {
    const Snapshot nothing;
    return viz::lecture_facts(nothing, viz::Selection{});
  }();
  const auto check = [&where](std::string name, const std::string& key) {
    if (name.starts_with('!')) name.erase(0, 1);
    if (known.contains(name)) return;
    std::vector<std::string> alike;
    for (const auto& [other, fact] : known)
      if (other.starts_with(name.substr(0, 3))) alike.push_back(other);
    throw Error(fmt::format("{}.{}: expected a fact, got \"{}\": there is no fact called \"{}\"{}", where.where(), key, name, name,
                            alike.empty() ? std::string() : fmt::format("; alike are {}", fmt::join(alike, ", "))));
  };
  for (const std::string& name : scene.needs) check(name, "needs");
  for (std::size_t i = 0; i < scene.variants.size(); ++i) {
    const Scene::Variant& v = scene.variants[i];
    const std::string variant = fmt::format("variants[{}].", i);
    for (const std::string& name : v.conditions) check(name, variant + "if");
    for (const auto& [key, text] : {std::pair("message", &v.message), std::pair("text", &v.text)}) {
      check_braces(*text, fmt::format("{}.{}{}", where.where(), variant, key));
      for (const std::string& name : facts_named(*text)) check(name, variant + key);
    }
  }
}

Scene scene_of(const JsonCursor& o, const Stage& stage, const std::string& lesson) {
  only_keys(o,
            {"id", "name", "stage", "run", "against", "answer", "read", "look", "emphasis", "mark", "needs", "page", "variants", "notes"});
  Scene s;
  s.id = o.text_or("id", "", kMostName);
  if (s.id.empty()) throw Error(fmt::format("{}.id: expected a scene with an \"id\", got none", o.where()));
  s.name = o.text_or("name", s.id, kMostName);
  s.stage = stage_of(o, stage, lesson);
  s.run = run_of(o, "run", s.stage);
  s.against = run_of(o, "against", s.stage);
  s.answer = count_of(o, "answer", 1, kMostGenerated);
  s.read = share_of(o, "read");
  if (s.answer && s.read) o.at("read").fail("no \"answer\" beside it: one step is shown");
  s.emphasis = category_of(o);
  take_look(s, o);
  if (o.given("mark"))
    s.mark = static_cast<Scene::Part>(place_of(o.at("mark"), "", std::array{"budget", "text", "heads", "attention", "next"}));
  const std::size_t page = o.given("page") ? place_of(o.at("page"), "", std::array{"lecture", "compare", "memory"}) : 0;
  s.compare = page == 1;
  s.memory = page == 2;
  if (s.against && !s.compare) o.at("against").fail("\"page\": \"compare\" beside it: only there are two runs held against each other");
  s.needs = texts_under(o, "needs");
  s.notes = o.text_or("notes", "");
  const JsonCursor variants = o.at("variants");
  for (std::size_t i = 0; i < variants.size(kMostVariants); ++i) {
    const JsonCursor v = variants.at(i);
    only_keys(v, {"if", "message", "text"});
    s.variants.push_back({texts_under(v, "if"), v.text_or("message", "", kMostCaption), v.text_or("text", "", kMostCaption)});
    if (s.variants.back().message.empty())
      throw Error(fmt::format("{}.message: expected a variant with a \"message\", got none", v.where()));
  }
  if (s.variants.empty() || !s.variants.back().conditions.empty()) variants.fail("a last variant that holds always, without \"if\"");
  check_facts(s, o);
  return s;
}

/// By its words: one that is damaged is told from other files, too, and complains when it is read.
bool says_it_is_one(const std::string& path) {
  try {
    std::string text = read_text(path, kMostBytes);
    std::erase(text, ' ');
    return text.find("\"kvscope\":\"scenes\"") != std::string::npos;
  } catch (const Error&) {
    return false;
  }
}

std::string name_of_file(const std::string& path) {
  std::string name = path.substr(path.find_last_of('/') + 1);
  return name.substr(0, name.find_last_of('.'));
}

/// With the name of the scene beside its place, which nobody counts, and where help is.
Error complaint(const std::string& why, const JsonCursor& lesson) {
  std::string out = why;
  const std::string list = lesson.where() + ": scenes[";
  if (out.starts_with(list)) {
    const JsonCursor scenes = lesson.at("scenes"), scene = scenes.at(std::stoul(out.substr(list.size())));
    if (scene.is_object() && scene.given("id") && scene.at("id").is_string())
      out.insert(out.find(']', list.size()) + 1, fmt::format(" (scene \"{}\")", scene.at("id").text()));
  }
  return Error(out + ". Lessons > How to write a lesson has all keys and facts.");
}

}  // namespace

bool Scene::has_point(const viz::Facts& facts) const {
  return std::ranges::all_of(needs, [&](const std::string& need) { return viz::holds(facts, need); });
}

bool Lesson::staged() const {
  return std::ranges::any_of(scenes, [](const Scene& scene) { return !scene.stage.empty(); });
}

unsigned said_by(const Lesson& lesson) {
  unsigned said = kSaysPrompt | kSaysText | kSaysRuns | kSaysMode | kSaysLength;
  for (const Scene& scene : lesson.scenes) {
    const Stage& stage = scene.stage;
    if (!stage.text) said &= ~(kSaysPrompt | kSaysText);
    if (stage.runs.empty()) said &= ~kSaysRuns;
    if (!stage.streamed && !stage.text && stage.runs.empty()) said &= ~kSaysMode;
    if (!stage.n_generate) said &= ~kSaysLength;
  }
  return said | kSaysFollow;  // staged()
}

std::vector<LaneSpec> runs_of(const Lesson& lesson) {
  std::vector<LaneSpec> out;
  for (const Scene& scene : lesson.scenes)
    for (const std::string& run : scene.stage.runs) out.push_back(parse_lane_spec(run));
  return out;
}

Lesson read_lesson(const std::string& path) {
  const JsonDocument document = read_json_asset(path, "scenes", "a file of scenes");
  const JsonCursor o(document);
  try {
    only_keys(o, {"kvscope", "version", "name", "about", "stage", "scenes"});
    Lesson lesson{path, o.text_or("name", name_of_file(path)), o.text_or("about", ""), {}};
    const Stage stage = stage_of(o, {}, path);
    const JsonCursor scenes = o.at("scenes");
    for (std::size_t i = 0; i < scenes.size(kMostScenes); ++i) {
      Scene scene = scene_of(scenes.at(i), stage, path);
      if (std::ranges::find(lesson.scenes, scene.id, &Scene::id) != lesson.scenes.end()) scenes.at(i).at("id").fail("an id of its own");
      lesson.scenes.push_back(std::move(scene));
    }
    if (lesson.scenes.empty()) scenes.fail("at least one scene");
    return lesson;
  } catch (const Error& error) {
    throw complaint(error.what(), o);
  }
}

const std::vector<std::string>& built_in_lessons() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> out;
    const std::string folder = asset("lessons");
    each_name(folder, [&](std::string_view name) {
      if (name.ends_with(".json") && says_it_is_one(in_folder(folder, name))) out.push_back(in_folder(folder, name));
      return true;
    });
    std::ranges::sort(out);
    return out;
  }();
  return all;
}

RunRequest staged(const RunRequest& from, const Stage& stage) {
  RunRequest out = from;
  if (stage.text) {
    out.prompt = *stage.text;
    out.prompt_text = PromptText::plain;
    out.prompt_ids.clear();
  }
  if (!stage.runs.empty()) {
    const LaneSpec reference = from.lanes.empty() ? parse_lane_spec("full") : from.lanes.front();
    out.lanes = {reference};
    for (const std::string& run : stage.runs) out.lanes.push_back(parse_lane_spec(run));
  }
  // What the scenes before read token by token is no matter to a text or runs of its own.
  if (stage.streamed || stage.text || !stage.runs.empty())
    out.mode = stage.streamed.value_or(false) ? PromptMode::stream : PromptMode::prefill;
  if (stage.n_generate) out.n_generate = *stage.n_generate;
  out.follow = Follow::reference;
  out.follow_ids.clear();
  out.temperature = 0;
  return out;
}

Caption caption_of(const Scene& scene, const viz::Facts& facts) {
  const auto fits = [&facts](const Scene::Variant& v) {
    return std::ranges::all_of(v.conditions, [&](const std::string& name) { return viz::holds(facts, name); });
  };
  const auto it = std::ranges::find_if(scene.variants, fits);
  if (it == scene.variants.end()) return {};
  const auto filled = [&facts](const std::string& text) {
    std::string out = viz::fill_in(text, facts);
    // a sentence may begin with a fact
    for (std::size_t i = 0; i < out.size(); ++i)
      if (i == 0 || (i > 1 && out[i - 1] == ' ' && out[i - 2] == '.'))
        out[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[i])));
    return out;
  };
  return {filled(it->message), filled(it->text)};
}

}  // namespace kvscope
