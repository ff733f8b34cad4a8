// SPDX-License-Identifier: Apache-2.0
#include "app/share/lesson_data.h"

#include <algorithm>

#include "trace/json_text.h"

namespace kvscope::share {

namespace {

void write_scene(JsonText& json, const std::vector<PagePart>& parts, const PageScene& scene) {
  const Snapshot& s = *parts.at(scene.part).snapshot;
  const int run = std::clamp(scene.at.lane, 0, std::max(0, static_cast<int>(s.lanes.size()) - 1));
  const int last = std::max(0, static_cast<int>(s.lanes[static_cast<std::size_t>(run)].steps.size()) - 1);
  json.begin_object().member("name", scene.name).member("message", scene.message).member("text", scene.text).member("notes", scene.notes);
  json.member("part", static_cast<int>(scene.part)).member("run", run);
  json.member("step", std::min(scene.at.step.value_or(last), last));
  json.member("head", scene.at.layer && scene.at.kv_head ? *scene.at.layer * s.model.n_kv_heads + *scene.at.kv_head : -1);
  json.member("token", scene.at.tokens ? scene.at.tokens->first : -1);
  json.member("emphasis", scene.emphasis ? static_cast<int>(*scene.emphasis) : -1);
  json.member("compare", scene.compare).end_object();
}

bool same_results(const Snapshot& a, const Snapshot& b) {
  const auto same_run = [](const LaneSnapshot& x, const LaneSnapshot& y) { return x.spec == y.spec && x.steps.size() == y.steps.size(); };
  const auto same_token = [](const TokenInfo& x, const TokenInfo& y) { return x.id == y.id; };
  return a.prefill_mode == b.prefill_mode && a.n_prompt == b.n_prompt && std::ranges::equal(a.tokens, b.tokens, same_token) &&
         std::ranges::equal(a.lanes, b.lanes, same_run);
}

}  // namespace

std::size_t part_of(std::vector<PagePart>& parts, const SnapshotPtr& snapshot, const PageFacts& facts) {
  const auto known = std::ranges::find_if(parts, [&](const PagePart& part) { return same_results(*part.snapshot, *snapshot); });
  const auto place = static_cast<std::size_t>(known - parts.begin());
  if (known == parts.end()) parts.push_back({snapshot, facts});
  return place;
}

std::string lesson_data(const std::vector<PagePart>& parts, const PageLesson& lesson) {
  JsonText json;
  json.begin_object().member("schema", "kvscope.page/1").member("name", lesson.name).key("scenes").begin_array(true);
  for (const PageScene& scene : lesson.scenes) write_scene(json, parts, scene);
  json.end_array().key("left_out").begin_array();
  for (const std::string& name : lesson.left_out) json.value(name);
  json.end_array().end_object();
  return json.take();
}

}  // namespace kvscope::share
