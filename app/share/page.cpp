// SPDX-License-Identifier: Apache-2.0
#include "app/share/page.h"

#include <fmt/format.h>

#include "app/share/lesson_data.h"
#include "app/share/packing.h"
#include "app/share/page_data.h"
#include "app/share/web_files.h"
#include "core/error.h"
#include "io/sha256.h"
#include "snapshot/number_text.h"
#include "viz/draw/theme.h"

namespace kvscope::share {

namespace {

/// The window's colours as properties of a style.
std::string properties(const viz::Theme& t) {
  const std::pair<const char*, viz::Rgb> named[] = {
      {"window", t.window},       {"panel", t.panel},         {"raised", t.raised},          {"line", t.line},
      {"text", t.text},           {"secondary", t.secondary}, {"disabled", t.disabled},      {"accent", t.accent},
      {"on-accent", t.on_accent}, {"changed", t.changed},     {"outline", t.evicted_outline}};
  std::string out = fmt::format("color-scheme:{};", t.dark ? "dark" : "light");
  for (const auto& [name, colour] : named) out += fmt::format("--{}:#{:06x};", name, colour.value);
  return out;
}

std::string style() {
  const std::string light = properties(viz::light_theme()), dark = properties(viz::dark_theme());
  return fmt::format(
             ":root{{{}}}\n@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{}}}}}\n:root[data-theme=dark]{{{}}}\n",
             light, dark, dark) +
         std::string(web_file("page.css"));
}

std::string source_of(std::string_view text) {
  const Sha256::Digest digest = sha256(text);
  return "'sha256-" + base64({reinterpret_cast<const char*>(digest.data()), digest.size()}) + "'";
}

void put(std::string& page, std::string_view mark, std::string_view text) {
  for (std::size_t at = page.find(mark); at != std::string::npos; at = page.find(mark, at + text.size()))
    page.replace(at, mark.size(), text);
}

std::string script_element(std::string_view kind, const std::string& id, const std::string& content) {
  return fmt::format("<script type=\"application/x-kvscope-{}\" id=\"{}\">{}</script>\n", kind, id, base64(deflated(content)));
}

std::string page_of(const std::string& data) {
  const std::string css = style();
  const std::string_view script = web_file("page.js");
  std::string page(web_file("page.html"));
  put(page, "%%POLICY%%",
      fmt::format("default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'", source_of(script),
                  source_of(css)));
  put(page, "%%VERSION%%", KVSCOPE_VERSION);
  put(page, "%%STYLE%%", css);
  put(page, "%%SCRIPT%%", script);
  put(page, "%%DATA%%", data);
  return page;
}

}  // namespace

std::string replay_page(const Snapshot& snapshot, const PageFacts& facts) {
  return page_of(script_element("page", "data", page_data(snapshot, facts)));
}

std::string lesson_page(const std::vector<PagePart>& parts, const PageLesson& lesson) {
  if (lesson.scenes.empty()) throw Error("page: expected scenes that have something to show, got none");
  std::string data = script_element("lesson", "lesson", lesson_data(parts, lesson));
  for (std::size_t i = 0; i < parts.size(); ++i)
    data += script_element("page", i == 0 ? "data" : fmt::format("data-{}", i), page_data(*parts[i].snapshot, parts[i].facts));
  return page_of(data);
}

std::string what_a_page_tells(const Snapshot& snapshot, const std::string& file) {
  return fmt::format(
      "{} will hold the text of the prompt ({} tokens), what {} {} made of it and how it was computed: anyone with the file can read it",
      file, format_count(snapshot.n_prompt), snapshot.lanes.size(), snapshot.lanes.size() == 1 ? "run" : "runs");
}

std::string what_a_lesson_page_tells(const PageLesson& lesson, const std::string& file) {
  const bool notes = std::ranges::any_of(lesson.scenes, [](const PageScene& scene) { return !scene.notes.empty(); });
  return fmt::format("{} will hold {} {} of \"{}\" with {}texts and results: anyone with the file can read it", file, lesson.scenes.size(),
                     lesson.scenes.size() == 1 ? "scene" : "scenes", lesson.name, notes ? "notes, " : "");
}

}  // namespace kvscope::share
