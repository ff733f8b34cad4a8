// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/prompt/sample_prompts.h"

#include <algorithm>

#include <QDebug>
#include <QFileInfo>

#include "core/assets.h"
#include "core/error.h"
#include "io/files.h"
#include "io/json_asset.h"

namespace kvscope {

namespace {

constexpr std::size_t kMostBytes = 1u << 20;

SamplePrompt promptOf(const JsonCursor& o, const QString& folder) {
  const auto text = [&o](const char* key) {
    const JsonCursor value = o.at(key);
    QString out = QString::fromStdString(value.text());
    if (out.isEmpty()) value.fail("a text");
    return out;
  };
  SamplePrompt prompt{text("file"), text("title"), text("look_for"), text("about"), {}};
  if (prompt.file.contains('/')) o.at("file").fail("the name of a file beside the list");
  prompt.text = QString::fromStdString(read_text((folder + "/" + prompt.file).toStdString(), kMostBytes));
  if (prompt.text.isEmpty()) o.at("file").fail("a file with a text in it");
  return prompt;
}

}  // namespace

QString builtInPrompts() { return QString::fromStdString(asset("prompts/prompts.json")); }

QList<SamplePrompt> readSamplePrompts(const QString& path) {
  const JsonDocument document = read_json_asset(path.toStdString(), "prompts", "a list of prompts");
  const JsonCursor o(document), all = o.at("prompts");
  QList<SamplePrompt> prompts;
  for (std::size_t i = 0; i < all.size(); ++i) prompts << promptOf(all.at(i), QFileInfo(path).path());
  if (prompts.isEmpty()) all.fail("at least one prompt");
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
