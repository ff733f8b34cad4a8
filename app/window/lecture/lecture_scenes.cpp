// SPDX-License-Identifier: Apache-2.0
#include "app/window/lecture/lecture_scenes.h"

#include <algorithm>
#include <array>

#include <QDir>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonObject>
#include <QRegularExpression>

#include "app/assets.h"
#include "app/window/files/file_kind.h"
#include "app/window/files/json_asset.h"
#include "app/window/files/prompt_file.h"
#include "app/window/panels/prompt/sample_prompts.h"
#include "app/window/shell/panel_paint.h"
#include "core/error.h"
#include "policy/catalog.h"
#include "viz/draw/draw.h"

namespace kvscope {

namespace {

constexpr int kMostGenerated = 256, kMostRuns = 8;

[[noreturn]] void wrong(const QString& where, const QString& what) { throw Error((where + ": " + what).toStdString()); }

/// The one of `names` that is called `name`; its place.
template <std::size_t n>
int placeOf(const QString& name, const std::array<const char*, n>& names, const QString& where, const char* key) {
  const auto it = std::ranges::find(names, name);
  if (it != names.end()) return static_cast<int>(it - names.begin());
  QStringList all;
  for (const char* known : names) all << known;
  wrong(where, QString("%1: expected %2, got \"%3\"").arg(key, all.join(", "), name));
}

QStringList textsOf(const QJsonValue& list, const QString& where, const char* key) {
  QStringList out;
  if (!list.isUndefined() && !list.isArray()) wrong(where, QString("%1: expected a list of texts").arg(key));
  for (const QJsonValue& value : list.toArray()) {
    if (!value.isString()) wrong(where, QString("%1: expected a list of texts").arg(key));
    out << value.toString();
  }
  return out;
}

/// A whole number from `least` to `most`.
std::optional<int> countOf(const QJsonObject& o, const char* key, int least, int most, const QString& where) {
  if (!o.contains(key)) return std::nullopt;
  const double value = o[key].toDouble(least - 1);
  if (!(value >= least && value <= most) || value != static_cast<int>(value))
    wrong(where, QString("%1: expected a whole number from %2 to %3").arg(key).arg(least).arg(most));
  return static_cast<int>(value);
}

std::optional<Category> categoryOf(const QString& name, const QString& where) {
  if (name.isEmpty()) return std::nullopt;
  for (int c = 1; c < kCategories; ++c)
    if (name == viz::category_name(static_cast<Category>(c))) return static_cast<Category>(c);
  wrong(where, "emphasis: expected the name of a category (sink, heavy, recent, merged, evicted, new), got \"" + name + "\"");
}

void takeLook(Scene& scene, const QString& name, const QString& where) {
  constexpr std::array kHabitNames = {"sink", "near", "previous", "induction", "retrieval", "entropy"};
  static_assert(kHabitNames.size() == viz::kHabits);
  if (name.startsWith("habit:")) {
    scene.look = Scene::Look::habit;
    scene.habit = static_cast<viz::Habit>(placeOf(name.mid(6), kHabitNames, where, "look: habit"));
    return;
  }
  constexpr std::array kLooks = {"stay", "loss", "changed", "merging", "sink", "reads"};
  scene.look = static_cast<Scene::Look>(placeOf(name.isEmpty() ? "stay" : name, kLooks, where, "look"));
}

/// Texts stand in a file beside the lesson, or are a sample of the program.
QString textOfFile(const QString& name, const QString& lesson, const QString& where) {
  for (const SamplePrompt& sample : samplePrompts())
    if (sample.file == name) return sample.text;
  if (name.contains('/') || name.contains('\\') || name.startsWith('.'))
    wrong(where, "text: expected the name of a file beside the lesson, got \"" + name + "\"");
  return readPromptFile(QFileInfo(lesson).dir().filePath(name));
}

/// `before`, with what `o` says instead.
Stage stageOf(const QJsonObject& o, Stage before, const QString& lesson, const QString& where) {
  Stage s = std::move(before);
  if (o.contains("text") && o.contains("prompt"))
    wrong(where, "stage: expected \"text\" (a file) or \"prompt\" (the text itself), got both");
  if (o.contains("text")) s.text = textOfFile(o["text"].toString(), lesson, where);
  if (o.contains("prompt")) s.text = o["prompt"].toString();
  if (o.contains("runs")) s.runs = textsOf(o["runs"], where, "runs");
  if (s.runs.size() > kMostRuns) wrong(where, QString("runs: expected at most %1").arg(kMostRuns));
  try {
    for (const QString& run : s.runs) parse_lane_spec(run.toStdString());
  } catch (const UsageError& error) {
    wrong(where, QString("runs: ") + error.what());
  }
  if (o.contains("mode")) s.streamed = placeOf(o["mode"].toString(), std::array{"prefill", "stream"}, where, "mode") == 1;
  if (const auto n = countOf(o, "generate", 0, kMostGenerated, where)) s.n_generate = n;
  return s;
}

/// "A" is the full cache.
std::optional<int> runOf(const QJsonObject& o, const QString& where) {
  if (!o.contains("run")) return std::nullopt;
  const QString name = o["run"].toString();
  if (name.size() != 1 || name[0] < 'A' || name[0] > 'I')
    wrong(where, "run: expected a letter, A (the full cache) to I, got \"" + name + "\"");
  return name[0].unicode() - 'A';
}

/// Every {fact} of a text, and every condition, is one that there is.
void checkFacts(const Scene& scene, const QString& where) {
  static const viz::Facts known = [] {
    const Snapshot nothing;
    return viz::lecture_facts(nothing, viz::Selection{});
  }();
  const auto check = [&where](QString name) {
    if (name.startsWith('!')) name.remove(0, 1);
    if (!known.contains(name.toStdString())) wrong(where, QString("there is no fact called \"%1\"").arg(name));
  };
  static const QRegularExpression kNamed("\\{([^{}|]*)[^{}]*\\}");
  for (const QString& need : scene.needs) check(need);
  for (const Scene::Variant& v : scene.variants) {
    for (const QString& condition : v.conditions) check(condition);
    for (const QString& text : {v.message, v.text})
      for (auto it = kNamed.globalMatch(text); it.hasNext();) check(it.next().captured(1));
  }
}

Scene sceneOf(const QJsonObject& o, const Stage& stage, const QString& lesson, const QString& where) {
  Scene s;
  s.id = o["id"].toString();
  if (s.id.isEmpty()) wrong(where, "expected an \"id\"");
  s.name = o["name"].toString(s.id);
  s.stage = stageOf(o["stage"].toObject(), stage, lesson, where);
  s.run = runOf(o, where);
  s.answer = countOf(o, "answer", 1, kMostGenerated, where);
  s.emphasis = categoryOf(o["emphasis"].toString(), where);
  takeLook(s, o["look"].toString(), where);
  s.compare = placeOf(o["page"].toString("lecture"), std::array{"lecture", "compare"}, where, "page") == 1;
  s.needs = textsOf(o["needs"], where, "needs");
  s.notes = o["notes"].toString();
  for (const QJsonValue& value : o["variants"].toArray()) {
    const QJsonObject v = value.toObject();
    Scene::Variant variant{textsOf(v["if"], where, "if"), v["message"].toString(), v["text"].toString()};
    if (variant.message.isEmpty()) wrong(where, "every variant needs a \"message\"");
    s.variants << variant;
  }
  if (s.variants.isEmpty() || !s.variants.back().conditions.isEmpty())
    wrong(where, "the last variant must hold always: expected one without \"if\"");
  checkFacts(s, where);
  return s;
}

}  // namespace

bool Lesson::staged() const {
  return std::ranges::any_of(scenes, [](const Scene& scene) { return !scene.stage.empty(); });
}

Lesson readLesson(const QString& path) {
  const QJsonObject o = readJsonAsset(path, "scenes", "a file of scenes");
  Lesson lesson{path, o["name"].toString(QFileInfo(path).completeBaseName()), o["about"].toString(), {}};
  const Stage stage = stageOf(o["stage"].toObject(), {}, path, path);
  const QJsonArray all = o["scenes"].toArray();
  for (qsizetype i = 0; i < all.size(); ++i)
    lesson.scenes << sceneOf(all[i].toObject(), stage, path, QString("%1: scene %2").arg(path).arg(i + 1));
  if (lesson.scenes.isEmpty()) wrong(path, "there is no scene in it");
  return lesson;
}

QStringList builtInLessons() {
  const QDir folder(QString::fromStdString(asset("lessons")));
  QStringList out;
  for (const QString& name : folder.entryList({"*.json"}, QDir::Files, QDir::Name))
    if (kindOfFile(folder.filePath(name)) == FileKind::lesson) out << folder.filePath(name);
  return out;
}

Caption captionOf(const Scene& scene, const viz::Facts& facts) {
  const auto fits = [&facts](const Scene::Variant& v) {
    return std::all_of(v.conditions.begin(), v.conditions.end(),
                       [&](const QString& name) { return viz::holds(facts, name.toStdString()); });
  };
  const auto it = std::find_if(scene.variants.begin(), scene.variants.end(), fits);
  if (it == scene.variants.end()) return {};
  const auto filled = [&facts](const QString& text) {
    QString out = qs(viz::fill_in(text.toStdString(), facts));
    if (!out.isEmpty()) out[0] = out[0].toUpper();  // a sentence may begin with a fact
    return out;
  };
  return {filled(it->message), filled(it->text)};
}

}  // namespace kvscope
