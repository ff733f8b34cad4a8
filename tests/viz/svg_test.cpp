// SPDX-License-Identifier: Apache-2.0
#include "viz/draw/svg.h"
#include "viz/draw/format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "viz/draw/draw.h"
#include "viz/headless.h"
#include "viz/synthetic.h"
#include "viz/views.h"
#include "viz/xml_reader.h"

namespace kvscope::viz {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::Not;

Scene record(Headless& canvas, View& view) {
  Scene scene;
  SceneTextures textures(scene, nullptr);
  Frame usual = canvas.frame;
  canvas.frame.textures = &textures;
  canvas.frame.scene = &scene;
  canvas.frame.scene_textures = &textures;
  canvas.draw(view);
  canvas.frame = usual;
  return scene;
}

std::string svg_of(Headless& canvas, View& view) {
  const Scene scene = record(canvas, view);
  const PicturePart part{&scene, {0, kPictureTitle}, view.title(), view.facts(canvas.frame)};
  return to_svg({&part, 1}, *canvas.frame.theme, picture_stamp(canvas.frame, "1.2.3"));
}

TEST(Svg, EveryCanvasIsValidXmlWithRealTextInBothThemes) {
  const Snapshot snapshot = synthetic::make_snapshot();
  for (const bool dark : {true, false}) {
    for (const auto& view : make_views()) {
      Headless canvas(snapshot, {1000, 700}, dark);
      canvas.frame.selection.lane = 3;
      canvas.frame.selection.layer = 2;
      canvas.frame.selection.kv_head = 1;
      const std::string svg = svg_of(canvas, *view);
      const XmlReader xml(svg);
      EXPECT_EQ(xml.error(), "") << view->id();
      EXPECT_EQ(xml.root(), "svg") << view->id();
      EXPECT_GT(xml.count("text"), 5) << view->id();
      EXPECT_GE(xml.count("g"), 1) << view->id();
      EXPECT_THAT(svg, HasSubstr("kvscope 1.2.3 · model synthetic: 6 layers × 4 KV heads"));
      EXPECT_THAT(svg, HasSubstr("step 12 of 12"));
      EXPECT_THAT(svg, HasSubstr("shown D keepkv:slots=42"));
      EXPECT_THAT(svg, HasSubstr(xml_text(view->title())));
    }
  }
}

/// As they are in the window, and on a stage, whose type is larger and whose panels may be narrow.
TEST(Svg, WhatACanvasShowsLiesWithinThePage) {
  const Snapshot snapshot = synthetic::make_snapshot();
  struct Page {
    ImVec2 size;
    float scale;
    bool plain;
  };
  for (const Page& page :
       {Page{{828, 406}, 1, false}, Page{{420, 300}, 1, false}, Page{{557, 300}, 2, true}, Page{{1000, 500}, 1.6f, true}}) {
    for (const auto& view : make_views()) {
      Headless canvas(snapshot, page.size, true, page.scale);
      canvas.frame.selection.lane = 3;
      canvas.frame.selection.layer = 2;
      canvas.frame.selection.kv_head = 1;
      canvas.frame.plain = page.plain;
      canvas.frame.alone = true;
      const Scene scene = record(canvas, *view);
      const std::string where = fmt::format("{}, {} x {}: ", view->id(), page.size.x, page.size.y);
      int clips = 0;  // what a canvas cuts itself is another matter
      for (const SceneCommand& c : scene.commands) {
        clips += c.kind == SceneCommand::Kind::clip ? 1 : c.kind == SceneCommand::Kind::unclip ? -1 : 0;
        if (c.kind != SceneCommand::Kind::text || clips > 0) continue;
        EXPECT_GE(c.points.at(0).x, -0.5f) << where << c.text;
        EXPECT_LE(c.points.at(0).x + (c.vertical ? c.em : c.width), page.size.x + 0.5f) << where << c.text;
      }
      for (const Mark& mark : view->marks()) EXPECT_LE(mark.kind == "legend" ? mark.max.x : 0, page.size.x + 0.5f) << where << mark.label;
    }
  }
}

TEST(Svg, ALegendHasTheColoursOfCellsThatStepBack) {
  const Snapshot snapshot = synthetic::make_snapshot();
  Headless canvas(snapshot, {557, 300});
  canvas.frame.selection.lane = 3;
  canvas.frame.plain = canvas.frame.alone = true;
  canvas.frame.emphasis = Category::kept;
  const auto view = make_atlas(std::make_shared<TokenWindow>());
  const Scene scene = record(canvas, *view);
  for (const Category c : {Category::sink, Category::kept, Category::recent}) {
    const Mark* swatch = find_mark(*view, "legend", category_name(c));
    ASSERT_NE(swatch, nullptr);
    const Rgb wanted = cell_fill(dark_theme(), c, Category::kept);
    EXPECT_TRUE(std::ranges::any_of(scene.commands, [&](const SceneCommand& drawn) {
      return drawn.kind == SceneCommand::Kind::rect && drawn.points.at(0).x == swatch->min.x && drawn.points.at(0).y == swatch->min.y &&
             drawn.colour.value == wanted.value;
    })) << category_name(c);
  }
}

TEST(Svg, HoldsEveryTextThatTheCanvasShows) {
  const Snapshot snapshot = synthetic::make_snapshot();
  Headless canvas(snapshot, {828, 406});
  canvas.frame.selection.lane = 3;
  const auto view = make_atlas(std::make_shared<TokenWindow>());
  const std::string svg = svg_of(canvas, *view);
  for (const char* text : {">L0<", ">L5<", ">H3<", ">sink<", ">merged<", ">evicted<", ">prompt ends<", ">heads<", ">125<"})
    EXPECT_THAT(svg, HasSubstr(text));
}

TEST(Svg, CellsHaveTheColoursAndTheAreaOfTheTexels) {
  const Snapshot snapshot = synthetic::make_snapshot();
  Headless canvas(snapshot, {828, 406});
  canvas.frame.selection.lane = 3;
  const auto view = make_atlas(std::make_shared<TokenWindow>());
  const Scene scene = record(canvas, *view);
  const auto atlas = std::find_if(scene.images.begin(), scene.images.end(), [](const SceneImage& i) { return i.height == 24; });
  ASSERT_NE(atlas, scene.images.end());
  const std::uint32_t sink = colour(cell_fill(dark_theme(), Category::sink));
  ASSERT_EQ(std::count(atlas->rgba.begin(), atlas->rgba.end(), sink), 4 * 24);
  const PicturePart part{&scene, {0, 0}, "", ""};
  const std::string svg = to_svg({&part, 1}, dark_theme(), {});
  // The four sinks of the first head are one run: 16 px wide, 11 px high.
  EXPECT_THAT(svg, HasSubstr("h16v11h-16z\" fill=\"#c54fa8\""));
}

TEST(Svg, HostileTokensStayText) {
  Snapshot snapshot = synthetic::make_snapshot();
  const std::string hostile[] = {"</text><script>alert(1)</script>", "\"onload=\"x", "&#0;", "]]>",
                                 std::string("\x01\x1f\xff\xfe", 4), "\xEF\xBF\xBE"};
  for (std::size_t i = 0; i < snapshot.tokens.size(); ++i) snapshot.tokens[i].bytes = hostile[i % 6];
  snapshot.model.name = "<evil & \"name\">";
  Headless canvas(snapshot, {1200, 800});
  canvas.frame.selection.lane = 3;
  canvas.frame.selection.tokens = TokenRange{3, 3};
  for (const auto& view : make_views()) {
    const std::string svg = svg_of(canvas, *view);
    EXPECT_EQ(XmlReader(svg).error(), "") << view->id();
    EXPECT_THAT(svg, Not(HasSubstr("<script"))) << view->id();
    EXPECT_THAT(svg, HasSubstr("&lt;evil &amp; &quot;name&quot;&gt;"));
  }
}

TEST(XmlText, EscapesWhatIsReservedAndReplacesWhatCannotBe) {
  EXPECT_EQ(xml_text("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&apos;");
  EXPECT_EQ(xml_text("\t\n 日本 🙂"), "\t\n 日本 🙂");
  EXPECT_EQ(xml_text(std::string("\x00\x0B", 2)), "\uFFFD\uFFFD");
  EXPECT_EQ(xml_text("\xFF"), "\uFFFD");
  EXPECT_EQ(xml_text("\xEF\xBF\xBF"), "\uFFFD");
}

TEST(Csv, QuotesWhatNeedsItAndHasOnlyRowsAsTheCommandLinesHave) {
  Table table;
  table.columns = {"a", "b,c"};
  table.rows = {{"1", "say \"x\""}, {"two\nlines", ""}};
  table.note = "first 2 of 9 rows";
  EXPECT_EQ(to_csv(table), "a,\"b,c\"\r\n1,\"say \"\"x\"\"\"\r\n\"two\nlines\",\r\n") << "a note would be a row to whoever reads it";
  EXPECT_EQ(to_csv(Table{}), "\r\n");
  table.rows = {{"−4.95e−5", "12\u2009346"}, {"\"−5\"", "−ln p"}};
  EXPECT_EQ(to_csv(table), "a,\"b,c\"\r\n-4.95e-5,12346\r\n\"\"\"−5\"\"\",−ln p\r\n")
      << "numbers for programs, tokens and words as they are";
}

TEST(Scene, ADrawnFrameIsTheSameWithAndWithoutARecording) {
  const Snapshot snapshot = synthetic::make_snapshot();
  for (const auto& view : make_views()) {
    Headless canvas(snapshot, {900, 600});
    canvas.frame.selection.lane = 3;
    canvas.draw(*view);
    const int plain = canvas.draw(*view)->TotalVtxCount;
    const auto marks = view->marks().size();
    record(canvas, *view);
    EXPECT_EQ(view->marks().size(), marks) << view->id();
    EXPECT_EQ(canvas.draw(*view)->TotalVtxCount, plain) << view->id();
  }
}

TEST(Stamp, BreaksBetweenFactsAndNeverCutsOne) {
  const std::vector<std::string> stamp = {"model m · prompt of 11 tokens · step 10 of 22", "runs: A full"};
  const auto lines = [&](std::size_t most) {
    return stamp_lines(stamp, [most](const std::string& line) { return utf8_length(line) <= most; });
  };
  EXPECT_EQ(lines(100), stamp);
  EXPECT_EQ(lines(32), (std::vector<std::string>{"model m · prompt of 11 tokens ·", "  step 10 of 22", "runs: A full"}));
  EXPECT_EQ(lines(3), (std::vector<std::string>{"model m ·", "  prompt of 11 tokens ·", "  step 10 of 22", "runs: A full"}));
}

TEST(Svg, APictureForPaperHasNoWordsForTheMouse) {
  Snapshot snapshot = synthetic::make_snapshot();
  snapshot.history = false;  // figures are missing, and offered on screen
  int n_on_screen = 0;
  for (const auto& view : make_views()) {
    for (const ImVec2 size : {ImVec2{1550, 870}, ImVec2{1000, 300}}) {
      Headless canvas(snapshot, size);
      canvas.frame.selection.lane = 3;
      canvas.frame.selection.layer = 2;
      canvas.frame.selection.kv_head = 1;
      canvas.frame.selection.slot = 0;
      const auto words = [&](bool alone) {
        canvas.frame.alone = alone;
        std::string out;
        for (const SceneCommand& c : record(canvas, *view).commands) out += c.text + "|";
        return out;
      };
      for (const char* way : {"click", "drag", "Swap", "Evict|", "capture now", "(Enter)"}) {
        n_on_screen += words(false).find(way) != std::string::npos;
        EXPECT_THAT(words(true), Not(HasSubstr(way))) << view->id();
      }
    }
  }
  EXPECT_GE(n_on_screen, 6) << "else the test has not seen them";
}

}  // namespace
}  // namespace kvscope::viz
