// SPDX-License-Identifier: Apache-2.0
// No word of a canvas stands on another one or outside, whatever room a canvas has.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "viz/draw/format.h"
#include "viz/draw/scene.h"
#include "viz/headless.h"
#include "viz/query_fixture.h"
#include "viz/synthetic.h"
#include "viz/views.h"

namespace kvscope::viz {
namespace {

using namespace testing;

struct Word {
  std::string text;
  Rect box;
};

/// Boxes of the words of a recorded frame, as high as their capitals.
std::vector<Word> words_of(const Scene& scene) {
  std::vector<Word> out;
  for (const SceneCommand& c : scene.commands) {
    if (c.kind != SceneCommand::Kind::text) continue;
    const ImVec2 at = c.points[0];
    const float half = 0.36f * c.em;
    out.push_back(
        {c.text, c.vertical ? Rect{at.x - half, at.y, at.x + half, at.y + c.width} : Rect{at.x, at.y - half, at.x + c.width, at.y + half}});
  }
  return out;
}

std::string collisions(const Scene& scene) {
  std::string out;
  const std::vector<Word> words = words_of(scene);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Rect& a = words[i].box;
    if (a.x0 < -1 || a.y0 < -1 || a.x1 > scene.size.x + 1 || a.y1 > scene.size.y + 1)
      out += fmt::format("  \"{}\" is cut at ({:.0f}, {:.0f})\n", words[i].text, a.x0, a.y0);
    for (std::size_t k = i + 1; k < words.size(); ++k) {
      const Rect& b = words[k].box;
      if (std::min(a.x1, b.x1) - std::max(a.x0, b.x0) > 1 && std::min(a.y1, b.y1) - std::max(a.y0, b.y0) > 1)
        out += fmt::format("  \"{}\" on \"{}\" at ({:.0f}, {:.0f})\n", words[k].text, words[i].text, b.x0, b.y0);
    }
  }
  return out;
}

/// Says how large a token would be drawn; nothing is painted.
class Ruler : public TextPainter {
 public:
  Sprite sprite(std::string_view utf8, float px, bool, bool vertical) override {
    const float length = 0.6f * px * static_cast<float>(utf8_length(utf8)), across = 1.36f * px;
    return {.texture = ImGui::GetIO().Fonts->TexID, .size = vertical ? ImVec2(across, length) : ImVec2(length, across)};
  }
};

struct Case {
  const char* name;
  std::function<std::unique_ptr<View>()> make;
  std::vector<ImVec2> sizes;
};

class Words : public ::testing::TestWithParam<Case> {};

TEST_P(Words, NeitherCollideNorLeaveTheCanvas) {
  Snapshot snapshot = synthetic::make_snapshot();
  add_clouds(snapshot);
  for (const ImVec2 size : GetParam().sizes)
    for (const bool chosen : {false, true}) {
      const std::unique_ptr<View> view = GetParam().make();
      Headless canvas(snapshot, size);
      Scene scene;
      SceneTextures textures(scene, canvas.frame.textures);
      canvas.frame.scene = &scene;
      canvas.frame.scene_textures = &textures;
      canvas.frame.textures = &textures;
      Ruler ruler;
      canvas.frame.text = &ruler;
      canvas.frame.selection.lane = 3;
      if (chosen) {
        canvas.frame.selection.layer = 4;
        canvas.frame.selection.kv_head = 1;
        canvas.frame.selection.tokens = TokenRange{85, 88};
        canvas.frame.selection.step = 2;
      }
      canvas.draw(*view);
      canvas.draw(*view);  // a view may learn its room in the first frame
      EXPECT_EQ(collisions(scene), "") << size.x << " x " << size.y << (chosen ? ", a head and tokens selected" : ", nothing selected");
    }
}

// Sizes of the panels in windows of 960 x 600, 1280 x 800, 1600 x 1000 and 1920 x 1080, and with a panel more under them.
const std::vector<ImVec2> kWide = {{470, 120}, {656, 300}, {828, 235}, {828, 406}, {1000, 460}};
const std::vector<ImVec2> kLow = {{470, 60}, {470, 104}, {656, 75},  {656, 104},  {656, 142},
                                  {828, 90}, {828, 118}, {828, 170}, {1000, 160}, {1000, 260}};
INSTANTIATE_TEST_SUITE_P(
    OfEveryCanvas, Words,
    ::testing::Values(Case{"atlas", [] { return make_atlas(std::make_shared<TokenWindow>()); }, kWide},
                      Case{"head_grid", [] { return make_head_grid(); }, {{220, 150}, {274, 222}, {348, 300}, {414, 330}, {1550, 800}}},
                      Case{"head_strip", [] { return make_head_strip(std::make_shared<TokenWindow>()); }, kLow},
                      Case{"timeline", [] { return make_timeline(); }, kLow},
                      Case{"queries", [] { return make_queries(); }, {{470, 104}, {470, 400}, {656, 142}, {828, 170}, {1000, 260}}},
                      Case{"figures", [] { return make_figures(); }, {{470, 104}, {470, 400}, {656, 142}, {828, 170}, {1000, 260}}},
                      Case{"inspector", [] { return make_inspector(); }, {{944, 420}, {1260, 610}, {1580, 800}, {1900, 880}}},
                      Case{"compare", [] { return make_compare(); }, {{944, 420}, {1260, 610}, {1580, 800}, {1900, 880}}}),
    [](const ::testing::TestParamInfo<Case>& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace kvscope::viz
