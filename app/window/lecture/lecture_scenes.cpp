// SPDX-License-Identifier: Apache-2.0
#include "app/window/lecture/lecture_scenes.h"

#include <algorithm>

#include <QJsonArray>
#include <QJsonObject>

#include "app/assets.h"
#include "app/window/files/json_asset.h"
#include "app/window/shell/panel_paint.h"
#include "core/error.h"
#include "viz/draw/draw.h"

namespace kvscope {

namespace {

[[noreturn]] void wrong(const QString& where, const QString& what) { throw Error((where + ": " + what).toStdString()); }

std::optional<Category> categoryOf(const QString& name, const QString& where) {
  if (name.isEmpty()) return std::nullopt;
  for (int c = 1; c < kCategories; ++c)
    if (name == viz::category_name(static_cast<Category>(c))) return static_cast<Category>(c);
  wrong(where, "emphasis: expected the name of a category (sink, heavy, recent, merged, evicted, new), got \"" + name + "\"");
}

Scene::Look lookOf(const QString& name, const QString& where) {
  if (name.isEmpty() || name == "stay") return Scene::Look::stay;
  if (name == "loss") return Scene::Look::loss;
  if (name == "merging") return Scene::Look::merging;
  wrong(where, "look: expected stay, loss or merging, got \"" + name + "\"");
}

Scene sceneOf(const QJsonObject& o, const QString& where) {
  Scene s;
  s.id = o["id"].toString();
  if (s.id.isEmpty()) wrong(where, "expected an \"id\"");
  s.name = o["name"].toString(s.id);
  s.emphasis = categoryOf(o["emphasis"].toString(), where);
  s.look = lookOf(o["look"].toString(), where);
  const QString page = o["page"].toString("lecture");
  if (page != "lecture" && page != "compare") wrong(where, "page: expected lecture or compare, got \"" + page + "\"");
  s.compare = page == "compare";
  for (const QJsonValue& value : o["variants"].toArray()) {
    const QJsonObject v = value.toObject();
    Scene::Variant variant{{}, v["message"].toString(), v["text"].toString()};
    for (const QJsonValue& condition : v["if"].toArray()) variant.conditions << condition.toString();
    if (variant.message.isEmpty()) wrong(where, "every variant needs a \"message\"");
    s.variants << variant;
  }
  if (s.variants.isEmpty() || !s.variants.back().conditions.isEmpty())
    wrong(where, "the last variant must hold always: expected one without \"if\"");
  return s;
}

}  // namespace

QString builtInScenes() { return QString::fromStdString(asset("lessons/scenes.json")); }

QList<Scene> readScenes(const QString& path) {
  const QJsonObject o = readJsonAsset(path, "scenes", "a file of scenes");
  QList<Scene> scenes;
  const QJsonArray all = o["scenes"].toArray();
  for (qsizetype i = 0; i < all.size(); ++i) scenes << sceneOf(all[i].toObject(), QString("%1: scene %2").arg(path).arg(i + 1));
  if (scenes.isEmpty()) wrong(path, "there is no scene in it");
  return scenes;
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
