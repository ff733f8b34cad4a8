// SPDX-License-Identifier: Apache-2.0
#include "app/lessons/lesson.h"
#include "app/window/help/glossary.h"
#include "app/window/panels/prompt/sample_prompts.h"
#include "fuzz/readers_target.h"
#include "io/files.h"
#include "io/temp_folder.h"
#include "paths.h"

namespace kvscope::testing {
namespace {

/// A file beside the texts that it names.
QString file_of(const std::string& bytes) {
  static const test::TempFolder folder;
  static const bool copied = [] {
    for (const auto& text : std::filesystem::directory_iterator(in_checkout("assets/prompts")))
      std::filesystem::copy_file(text.path(), folder / text.path().filename().string());
    std::filesystem::remove(folder / "prompts.json");
    return true;
  }();
  (void)copied;
  return QString::fromStdString(folder.write("input.json", bytes));
}

std::string asset(const char* path) { return read_text(in_checkout("assets/") + path); }

}  // namespace

const std::vector<Reader>& readers() {
  using Texts = std::vector<std::string>;
  static const std::vector<Reader> all = {
      {"lesson",
       [] {
         return Texts{asset("lessons/3-heavy-hitters.json"), asset("lessons/9-benchmarks.json")};
       },
       [](const std::string& bytes) { read_lesson(file_of(bytes).toStdString()); }},
      {"sample prompts", [] { return Texts{asset("prompts/prompts.json")}; },
       [](const std::string& bytes) { readSamplePrompts(file_of(bytes)); }},
      {"glossary", [] { return Texts{asset("lessons/glossary.json")}; }, [](const std::string& bytes) { Glossary::read(file_of(bytes)); }}};
  return all;
}

}  // namespace kvscope::testing
