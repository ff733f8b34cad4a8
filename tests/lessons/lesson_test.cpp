// SPDX-License-Identifier: Apache-2.0
#include "app/lessons/lesson.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "core/assets.h"
#include "core/error.h"
#include "io/files.h"
#include "io/temp_folder.h"
#include "runtime/session/run_request.h"
#include "viz/synthetic.h"

namespace kvscope {
namespace {

/// What reading a file with this text says; empty: nothing is wrong.
std::string reading_fails(const std::string& text) {
  const test::TempFolder folder;
  try {
    (void)read_lesson(folder.write("s.json", text));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::string with_scene(const std::string& inside) {
  return R"({"kvscope":"scenes","version":1,"scenes":[{"id":"a",)" + inside + R"("variants":[{"message":"m"}]}]})";
}

void expect_said(const std::string& text, const std::string& words) {
  const std::string said = reading_fails(text);
  EXPECT_NE(said.find(words), std::string::npos) << text << "\nsays: " << said;
}

TEST(LessonFiles, ATextIsNotReadThroughALinkThatLeadsOutOfTheFolder) {
  const test::TempFolder folder, elsewhere;
  const std::string secret = elsewhere.write("secret.txt", "topsecretwords"), link = folder.path() + "/link.txt";
  std::filesystem::create_symlink(secret, link);
  const std::string lesson = folder.write("l.json", with_scene(R"("stage":{"text":"link.txt"},)"));
  try {
    (void)read_lesson(lesson);
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("a file beside the lesson, not of a link that leads elsewhere"), std::string::npos)
        << error.what();
  }
  std::filesystem::remove(link);
  std::filesystem::create_symlink(folder.write("beside.txt", "Tom is here."), link);
  EXPECT_EQ(read_lesson(lesson).scenes.front().stage.text, "Tom is here.") << "beside it by another name";
}

TEST(LessonFiles, WhatIsWrongIsSaidWithItsPlace) {
  expect_said("{", "s.json");
  expect_said(R"({"kvscope":"session","version":1})", "expected a file of scenes");
  expect_said(R"({"kvscope":"scenes","version":1,"scenes":[]})", "at least one scene");
  expect_said(R"({"kvscope":"scenes","version":1,"scenes":[{}]})", "scenes[0].id: expected a scene with an \"id\"");
  expect_said(with_scene(R"("emphasis":"blue",)"), "scenes[0] (scene \"a\").emphasis: expected the name of a category");
  expect_said(with_scene(R"("look":"up",)"), "expected stay, loss, changed, differs, merging, sink, reads, got \"up\"");
  expect_said(with_scene(R"("look":"habit:old",)"), "induction");
  expect_said(with_scene(R"("needs":["nonsense"],)"), "no fact called \"nonsense\"");
  expect_said(
      R"({"kvscope":"scenes","version":1,"scenes":[{"id":"a","variants":[{"message":"{tokens|a|b} {evictedd|a|b}"}]}]})",
      "(scene \"a\").variants[0].message: expected a fact, got \"evictedd\": there is no fact called \"evictedd\"; alike are evicted,");
  expect_said(with_scene(R"("run":"Z",)"), "run: expected the letter of a run");
  expect_said(with_scene(R"("answer":0,)"), "answer: expected a whole number");
  expect_said(with_scene(R"("answer":1e99,)"), "answer: expected a whole number");
  expect_said(with_scene(R"("read":0,)"), "read: expected a share of the text");
  expect_said(with_scene(R"("read":1.1,)"), "read: expected a share of the text");
  expect_said(with_scene(R"("read":0.5,"answer":1,)"), "read: expected no \"answer\" beside it");
  expect_said(with_scene(R"("needs":"sinks",)"), "needs: expected a list");
  expect_said(with_scene(R"("stage":{"runs":["nosuch:ratio=0.1"]},)"), "nosuch");
  expect_said(with_scene(R"("stage":{"runs":[1]},)"), "list of texts");
  expect_said(with_scene(R"("stage":{"mode":"later"},)"), "prefill, stream");
  expect_said(with_scene(R"("stage":{"generate":100000},)"), "0..256");
  expect_said(with_scene(R"("stage":{"text":"needle.txt","prompt":"x"},)"), "not both");
  for (const char* outside : {"../needle.txt", "/etc/passwd", ".profile", ""})
    expect_said(with_scene(std::string(R"("stage":{"text":")") + outside + R"("},)"), "beside the lesson");
  expect_said(with_scene(R"("stage":{"text":"missing.txt"},)"), "missing.txt");
  expect_said(R"({"kvscope":"scenes","version":1,"scenes":[{"id":"a","variants":[{"if":["sinks"],"message":"m"}]}]})", "always");
  expect_said(
      R"({"kvscope":"scenes","version":1,"scenes":[{"id":"a","variants":[{"message":"m"}]},{"id":"a","variants":[{"message":"m"}]}]})",
      "scenes[1] (scene \"a\").id: expected an id of its own");
  expect_said(with_scene("\"name\":\"" + std::string(1000, 'W') + "\","), "name: expected a text of at most 255 bytes");
  expect_said(R"({"kvscope":"scenes","version":1,"scenes":[{"id":"a","variants":[{"message":")" + std::string(5000, 'W') + R"("}]}]})",
              "message: expected a text of at most 4096 bytes");
  EXPECT_EQ(
      reading_fails(with_scene(R"("look":"habit:retrieval","run":"B","answer":2,"notes":"n","needs":["sinks"],"stage":{"prompt":"x"},)")),
      "");
}

/// The last run would be shown under another one's words.
TEST(LessonFiles, ARunThatIsNotOnStageIsSaid) {
  const char* stage = R"("stage":{"prompt":"x","runs":["h2o:ratio=0.5"]},)";
  expect_said(with_scene(std::string(stage) + R"("run":"C",)"), "run: expected the letter of a run, A (the full cache) to B, the last one");
  expect_said(with_scene(std::string(stage) + R"("page":"compare","against":"C",)"), "against: expected the letter of a run");
  expect_said(with_scene(std::string(stage) + R"("run":"A","against":"B",)"), "against: expected \"page\": \"compare\" beside it");
  EXPECT_EQ(reading_fails(with_scene(std::string(stage) + R"("page":"compare","run":"B","against":"A",)")), "");
}

/// Who writes one has an editor that counts lines, and nowhere to copy it from again.
TEST(LessonFiles, WhereACommaIsMissingIsSaidByLine) {
  expect_said("{\"kvscope\": \"scenes\",\n \"version\": 1\n \"scenes\": []}",
              "s.json: expected JSON, got something else in line 3, column ");
  expect_said("{\"kvscope\": \"scenes\",\n \"version\": 1\n \"scenes\": []}", "a comma, a quotation mark or a bracket is missing");
  expect_said("{\"kvscope\": \"scenes\",\n \"name\": \"Gr\xe9y\", \"scenes\": []}",
              "s.json: expected JSON in UTF-8, got other bytes in line 2; save it as UTF-8 text");
  expect_said(R"({"kvscope":"scenes","version":1,"name":"a","name":"b","scenes":[]})", "every key of an object once, got \"name\" twice");
}

/// A word that nobody reads is mostly a slip of the pen: the scene would be shown without what it means.
TEST(LessonFiles, AKeyThatIsNotThereIsSaidWithThoseThatAre) {
  expect_said(with_scene(R"("emphasys":"sink",)"),
              "s.json: scenes[0] (scene \"a\").emphasys: expected one of the keys id, name, stage, run,");
  expect_said(with_scene(R"("emphasys":"sink",)"), "got \"emphasys\". Lessons > How to write a lesson has all keys and facts.");
  expect_said(with_scene(R"("stage":{"txt":"x"},)"), "scenes[0] (scene \"a\").stage.txt: expected one of the keys text, prompt,");
  expect_said(R"({"kvscope":"scenes","version":1,"scene":[]})", "s.json: scene: expected one of the keys kvscope, version,");
  expect_said(R"({"kvscope":"scenes","version":1,"scenes":[{"id":"a","variants":[{"when":["lost"],"message":"m"}]}]})",
              "variants[0].when: expected one of the keys if, message, text");
}

/// Whoever writes a lesson finds every key of one in the text that tells of them.
TEST(LessonFiles, TheGuideHasEveryKey) {
  const std::string guide = read_text(asset("lessons/WRITING.md"), 1u << 20);
  const std::string said = reading_fails(with_scene(R"("nonsense":1,)")) + reading_fails(with_scene(R"("stage":{"nonsense":1},)")) +
                           reading_fails(R"({"kvscope":"scenes","version":1,"nonsense":1})");
  std::istringstream words(said);
  int n_keys = 0;
  for (std::string word; words >> word;) {
    if (!word.ends_with(',') || word == "nonsense,") continue;
    word.pop_back();
    ++n_keys;
    EXPECT_NE(guide.find("`" + word + "`"), std::string::npos) << word;
  }
  EXPECT_GE(n_keys, 20);
  const std::size_t begin = guide.find("```json") + 8;
  EXPECT_EQ(reading_fails(guide.substr(begin, guide.find("```", begin) - begin)), "") << "its example is one";
}

/// … and every fact, once, with what it is, its unit and what it is of.
TEST(LessonFiles, TheGuideSaysOfEveryFactWhatItIs) {
  const std::string guide = read_text(asset("lessons/WRITING.md"), 1u << 20);
  std::istringstream lines(guide.substr(guide.find("\n## Facts")));
  std::vector<std::string> told, known;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    EXPECT_EQ(std::ranges::count(line, '|'), 5) << line;
    EXPECT_EQ(line.find("| |"), std::string::npos) << line;
    const std::string names = line.substr(0, line.find('|', 1));
    for (std::size_t at = names.find('`'); at != std::string::npos; at = names.find('`', at + 1)) {
      const std::size_t end = names.find('`', at + 1);
      told.push_back(names.substr(at + 1, end - at - 1));
      at = end;
    }
  }
  for (const auto& [name, fact] : viz::lecture_facts(Snapshot{}, {})) known.push_back(name);
  std::ranges::sort(told);
  std::ranges::sort(known);
  EXPECT_EQ(told, known);
}

TEST(LessonFiles, ATextBesideTheLessonComesBeforeASample) {
  const test::TempFolder folder;
  const std::string path = folder.write("s.json", with_scene(R"("stage":{"text":"needle.txt"},)"));
  EXPECT_NE(read_lesson(path).scenes.front().stage.text->find("482"), std::string::npos) << "the program's own";
  for (const char* mine : {"mine", "mine\n", "mine\r\n"}) {
    folder.write("needle.txt", mine);
    EXPECT_EQ(read_lesson(path).scenes.front().stage.text, "mine") << "editors end a file with a line's end";
  }
  folder.write("needle.txt", "\xff");
  EXPECT_THROW((void)read_lesson(path), Error) << "no text";
}

TEST(LessonFiles, ThoseOfTheProgramUseKnownFactsAndHaveNotes) {
  const std::vector<std::string> paths = built_in_lessons();
  ASSERT_GE(paths.size(), 9u);
  const viz::Facts facts = viz::lecture_facts(Snapshot{}, {});
  for (const std::string& path : paths) {
    const Lesson lesson = read_lesson(path);
    EXPECT_FALSE(lesson.about.empty()) << path;
    std::vector<std::string> ids;
    for (const Scene& scene : lesson.scenes) {
      const std::string where = path + " " + scene.id;
      EXPECT_EQ(std::ranges::count(ids, scene.id), 0) << where;
      ids.push_back(scene.id);
      EXPECT_FALSE(caption_of(scene, facts).message.empty()) << where << " says something without a run, too";
      EXPECT_NE(lesson.staged(), scene.notes.empty()) << where;
      for (const Scene::Variant& v : scene.variants)
        for (const std::string& text : {v.message, v.text})
          EXPECT_EQ(viz::fill_in(text, facts).find('{'), std::string::npos) << where << " " << text;
    }
  }
  EXPECT_FALSE(read_lesson(paths.front()).staged()) << "the first one is about the text on screen";
  EXPECT_TRUE(read_lesson(paths[1]).staged());
}

/// Whatever two texts go on with is neither the same nor another choice.
TEST(LessonFiles, ACaptionComparesNoChoicesOfTwoTexts) {
  Snapshot s = synthetic::make_snapshot();
  s.follow = "self";
  auto last_common = std::make_shared<StepRecord>(*s.lanes[3].steps[1]);
  ++last_common->next_token;
  s.lanes[3].steps[1] = last_common;
  const Lesson lesson = read_lesson(built_in_lessons().front());
  int n_said = 0;
  for (int step = 2; step < static_cast<int>(s.lanes[3].steps.size()); ++step) {
    const viz::Facts facts = viz::lecture_facts(s, {.lane = 3, .step = step});
    for (const Scene& scene : lesson.scenes) {
      const Caption caption = caption_of(scene, facts);
      for (const char* claim : {"all the same", "both", "though not in this step", "are n/a", "The answer stays"})
        EXPECT_EQ((caption.message + " " + caption.text).find(claim), std::string::npos) << caption.text;
      n_said += caption.text.find("ince step 2 ") != std::string::npos || caption.text.find("ince step 2:") != std::string::npos ? 1 : 0;
    }
  }
  EXPECT_GT(n_said, 0);
}

TEST(LessonFiles, ACaptionThatNamesTheFramedTokenIsShownOnlyWhereThereIsOne) {
  int named = 0;
  for (const std::string& path : built_in_lessons())
    for (const Scene& scene : read_lesson(path).scenes)
      for (const Scene::Variant& v : scene.variants) {
        if ((v.message + v.text).find("{framed") == std::string::npos) continue;
        const auto asks = [](const std::vector<std::string>& list) { return std::ranges::find(list, "framed") != list.end(); };
        EXPECT_TRUE(asks(scene.needs) || asks(v.conditions)) << path << " " << scene.id;
        ++named;
      }
  EXPECT_GT(named, 5);
}

TEST(LessonFiles, ThatTokensLeftIsSaidWhereTheyDid) {
  const Lesson lesson = read_lesson(built_in_lessons().front());
  viz::Facts facts = viz::lecture_facts({}, {});
  const auto says = [&](std::size_t scene) {
    const Caption caption = caption_of(lesson.scenes.at(scene), facts);
    return caption.message + " " + caption.text;
  };
  const auto one = [&](const char* name, double n) { facts[name] = {std::to_string(static_cast<int>(n)), n}; };
  const auto expect = [&](std::size_t scene, const char* words) { EXPECT_NE(says(scene).find(words), std::string::npos) << says(scene); };
  one("tokens", 40), one("compared", 1), one("heavy", 30), one("saves", 1);
  facts["policy"] = {"P", kNotAvailable}, facts["head"] = {"layer 0, head 0", kNotAvailable};
  expect(0, "So does P, which stores or reads them otherwise.");
  expect(1, "What it saves is in how they are stored, or in how many are read.");
  expect(2, "and stays: nothing goes here");
  expect(3, "keeps all of its tokens: P sets it no limit.");
  one("saves", 0), one("removed", 1), one("evicted", 4), one("first_gone", 1);
  facts["held"] = {"40.9", 40.9}, facts["first_wanted"] = {"24 %", 0.24};
  expect(1, "P keeps 40.9 slots on average in a head here");
  expect(2, "With every token in place layer 0, head 0 would pay it 24 % of its attention. P has no sinks: its slot is gone.");
  one("removed", 0), one("evicted", 0), one("first_gone", 0), one("budgeted", 1), one("head_limited", 1), one("by_rank", 1);
  expect(1, "Nothing has to go yet. P may keep every token in every head.");
  one("limited", 1), one("budgets_differ", 1), one("asked", 30), one("fewest_slots", 9), one("most_slots", 141);
  expect(1, "A budget of 30 slots, but not for every head.");
  expect(1, "P gives some heads more than others: here they hold 9 to 141.");
  EXPECT_EQ(lesson.scenes.at(0).id, "cache");
  ASSERT_EQ(lesson.scenes.at(3).id, "heavy");
  expect(0, "So does P, as long as its budget is that large.");
  expect(3, "Layer 0, head 0 still keeps all of its tokens.");
  one("evicted", 4);
  expect(0, "Here P lets 4 tokens of layer 0, head 0 go: the grey words have left it.");
  expect(3, "P ranks the tokens: 30 tokens of layer 0, head 0 beside the protected ones");
  one("most_evicted", 1);
  expect(0, "Here P lets most go");
  one("evicted", 0), one("most_evicted", 0), one("merged", 1);
  expect(0, "Here P puts 1 token of layer 0, head 0 together with others.");
  expect(3, "P ranks the tokens: 30 tokens");
}

TEST(LessonFiles, AStageChangesWhatItNamesAndNothingElse) {
  RunRequest mine;
  mine.prompt = "mine";
  mine.n_generate = 7;
  mine.temperature = 0.7;
  mine.follow = Follow::self;
  RunRequest on = staged(mine, {});
  EXPECT_EQ(on.prompt, "mine");
  EXPECT_EQ(on.n_generate, 7);
  EXPECT_EQ(on.temperature, 0) << "captions hold for greedy texts";
  EXPECT_EQ(on.follow, Follow::reference);
  on = staged(mine, {.text = "other", .runs = {"h2o:ratio=0.2"}, .streamed = true, .n_generate = 3});
  EXPECT_EQ(on.prompt, "other");
  ASSERT_EQ(on.lanes.size(), 2u);
  EXPECT_EQ(on.lanes[0].name, "full");
  EXPECT_EQ(on.lanes[1].name, "h2o");
  EXPECT_EQ(on.mode, PromptMode::stream);
  EXPECT_EQ(on.n_generate, 3);
  EXPECT_EQ(staged(on, {}).mode, PromptMode::stream) << "nothing is named";
  EXPECT_EQ(staged(on, {.text = "x"}).mode, PromptMode::prefill) << "whatever the lesson before read token by token";
  EXPECT_EQ(staged(on, {.runs = {"expected:ratio=0.2"}}).mode, PromptMode::prefill);
}

}  // namespace
}  // namespace kvscope
