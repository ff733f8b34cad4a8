// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/prompt/sample_prompts.h"

#include <algorithm>

#include <QDebug>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonObject>

#include "app/assets.h"
#include "app/window/files/json_asset.h"
#include "core/error.h"
#include "io/files.h"

namespace kvscope {

namespace {

constexpr std::size_t kMostBytes = 1u << 20;

[[noreturn]] void wrong(const QString& where, const QString& what) { throw Error((where + ": " + what).toStdString()); }

SamplePrompt promptOf(const QJsonObject& o, const QString& folder, const QString& where) {
  SamplePrompt prompt{o["file"].toString(), o["title"].toString(), o["look_for"].toString(), o["about"].toString(), {}};
  if (prompt.file.isEmpty() || prompt.file.contains('/'))
    wrong(where, "file: expected the name of a file beside the list, got \"" + prompt.file + "\"");
  if (prompt.title.isEmpty() || prompt.look_for.isEmpty() || prompt.about.isEmpty())
    wrong(where, "expected a \"title\", \"look_for\" and \"about\"");
  prompt.text = QString::fromStdString(read_text((folder + "/" + prompt.file).toStdString(), kMostBytes));
  if (prompt.text.isEmpty()) wrong(where, prompt.file + " is empty");
  return prompt;
}

}  // namespace

QString builtInPrompts() { return QString::fromStdString(asset("prompts/prompts.json")); }

QList<SamplePrompt> readSamplePrompts(const QString& path) {
  const QJsonObject o = readJsonAsset(path, "prompts", "a list of prompts");
  QList<SamplePrompt> prompts;
  const QJsonArray all = o["prompts"].toArray();
  for (qsizetype i = 0; i < all.size(); ++i)
    prompts << promptOf(all[i].toObject(), QFileInfo(path).path(), QString("%1: prompt %2").arg(path).arg(i + 1));
  if (prompts.isEmpty()) wrong(path, "there is no prompt in it");
  return prompts;
}

const QList<SamplePrompt>& samplePrompts() {
  static const QList<SamplePrompt> prompts = [] {
    try {
      return readSamplePrompts(builtInPrompts());
    } catch (const Error& e) {
      qWarning("%s", e.what());
      return QList<SamplePrompt>();
    }
  }();
  return prompts;
}

const SamplePrompt* samplePromptOf(const QString& text) {
  const auto& all = samplePrompts();
  const auto it = std::find_if(all.begin(), all.end(), [&](const SamplePrompt& p) { return p.text == text; });
  return it == all.end() ? nullptr : &*it;
}

}  // namespace kvscope
