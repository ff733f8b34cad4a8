// SPDX-License-Identifier: Apache-2.0
#include "viz/views/atlas/atlas_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <span>

#include "viz/draw/format.h"
#include "viz/headless.h"
#include "viz/reduce/slot.h"
#include "viz/synthetic.h"
#include "viz/views.h"
#include "viz/views/atlas/atlas_scene.h"

namespace kvscope::viz {
namespace {

using namespace testing;

class AtlasTest : public ::testing::Test {
 protected:
  AtlasTest() { canvas.frame.selection.lane = 3; }

  ImVec2 at(int layer, int head, int token) const {
    const Mark* row = find_mark(*view, "row", "L" + std::to_string(layer) + " H" + std::to_string(head));
    return {84 + 4 * static_cast<float>(token) + 2, (row->min.y + row->max.y) / 2};  // 179 tokens: 4 px each from the label column on
  }
  const LaneSnapshot& lane() const { return snapshot.lanes[3]; }
  void select(int layer, int kv_head, const TokenRange& tokens) {
    canvas.frame.selection.layer = layer;
    canvas.frame.selection.kv_head = kv_head;
    canvas.frame.selection.tokens = tokens;
  }

  Snapshot snapshot = synthetic::make_snapshot();
  std::shared_ptr<TokenWindow> window = std::make_shared<TokenWindow>();
  std::unique_ptr<View> view = make_atlas(window);
  Headless canvas{snapshot};
};

TEST_F(AtlasTest, RowsAreElevenPixelsWithFourMoreBetweenLayers) {
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "row"), 24);
  const Mark *a = find_mark(*view, "row", "L0 H0"), *b = find_mark(*view, "row", "L0 H1"), *c = find_mark(*view, "row", "L1 H0");
  EXPECT_FLOAT_EQ(a->max.y - a->min.y, 11);
  EXPECT_FLOAT_EQ(b->min.y - a->max.y, 1);
  EXPECT_FLOAT_EQ(c->min.y - a->min.y, 52);
  EXPECT_FLOAT_EQ(a->min.x, 84);
  EXPECT_EQ(view->facts(canvas.frame), "step 12 · 24 heads × 179 tokens · 4 px = 1 token");
}

TEST_F(AtlasTest, EveryTexelIsTheColourOfItsCategory) {
  canvas.frame.selection.step = 2;
  canvas.draw(*view);
  const auto* image = canvas.textures.find("atlas.cells");
  ASSERT_NE(image, nullptr);
  ASSERT_EQ(image->width, 179);
  ASSERT_EQ(image->height, 24);
  std::set<Category> met;
  for (int h = 0; h < 24; ++h) {
    const auto expected = categories_of(snapshot, lane(), 2, h);
    for (int t = 0; t < 179; ++t) {
      const Category c = expected[static_cast<std::size_t>(t)];
      met.insert(c);
      const std::uint32_t texel = image->rgba[static_cast<std::size_t>(h * 179 + t)];
      ASSERT_EQ(texel, c == Category::unseen ? 0u : colour(cell_fill(dark_theme(), c))) << "head " << h << " token " << t;
    }
  }
  EXPECT_EQ(met.size(), 7u) << "the example must show every category";
}

TEST_F(AtlasTest, TheBottomRowCountsTheHeadsThatRepresentAToken) {
  canvas.frame.selection.step = 2;
  canvas.draw(*view);
  const auto* image = canvas.textures.find("atlas.heads");
  ASSERT_NE(image, nullptr);
  ASSERT_EQ(image->width, 169);
  for (int t = 0; t < 169; ++t) {
    int n = 0;
    for (int h = 0; h < 24; ++h) n += slot_of(*lane().fates, *lane().steps[2], h, t) >= 0;
    ASSERT_EQ(image->rgba[static_cast<std::size_t>(t)], colour(ramp(dark_theme().sequential, n / 24.0))) << t;
  }
}

TEST_F(AtlasTest, TheTextureIsRebuiltOnlyWhenWhatItShowsChanges) {
  canvas.draw(*view);
  const auto uploads = [&] { return canvas.textures.find("atlas.cells")->uploads; };
  EXPECT_EQ(uploads(), 1);
  canvas.move(*view, at(2, 1, 40));
  canvas.move(*view, at(3, 1, 41));
  canvas.frame.selection.layer = 1;
  canvas.draw(*view);
  EXPECT_EQ(uploads(), 1);
  canvas.frame.selection.step = 3;
  canvas.draw(*view);
  EXPECT_EQ(uploads(), 2);
  canvas.frame.selection.lane = 2;
  canvas.draw(*view);
  EXPECT_EQ(uploads(), 3);
  canvas.frame.theme = &light_theme();
  canvas.draw(*view);
  EXPECT_EQ(uploads(), 4);
  ++snapshot.sequence;
  canvas.draw(*view);
  EXPECT_EQ(uploads(), 5);
}

TEST_F(AtlasTest, AClickSelectsHeadAndToken) {
  canvas.draw(*view);
  canvas.click(*view, at(4, 1, 87));
  const Select* select = canvas.last<Select>();
  ASSERT_NE(select, nullptr);
  EXPECT_EQ(select->selection.layer, 4);
  EXPECT_EQ(select->selection.kv_head, 1);
  EXPECT_EQ(select->selection.tokens, (TokenRange{87, 87}));
  EXPECT_EQ(select->selection.lane, 3);
  EXPECT_EQ(select->selection.slot, 87);
  canvas.apply();
  canvas.draw(*view);
  EXPECT_NE(find_mark(*view, "selected head", "L4 H1"), nullptr);
  EXPECT_NE(find_mark(*view, "selected tokens", "tokens 87 to 87"), nullptr);
  EXPECT_NE(find_mark(*view, "tag", "87"), nullptr);
}

/// Whatever became of it: a merged token is not the slot that stands for it, nor what that took over last.
TEST_F(AtlasTest, TheTokenThatIsClickedIsTheOneThatTheInspectorExplains) {
  const std::unique_ptr<View> inspector = make_inspector();
  canvas.draw(*view);
  int n_merged = 0, n_evicted = 0, n_took = 0;
  for (int i = 0; i < 179; ++i) {
    const int t = 37 * i % 179;  // all of them, none beside the one before: that would be a double click
    canvas.click(*view, at(4, 1, t));
    canvas.apply();
    ASSERT_EQ(canvas.frame.selection.tokens, (TokenRange{t, t}));
    const HeadPick pick = pick_head(snapshot, canvas.frame.selection);
    const SlotFacts facts = slot_facts(pick, t);
    const std::string said = inspector->cursor_text(canvas.frame);
    ASSERT_TRUE(said.starts_with(fmt::format("token {} ", t))) << said;
    const std::size_t why = said.find(" Why: ");
    ASSERT_NE(why, std::string::npos) << said;
    EXPECT_TRUE(said.substr(why).starts_with(fmt::format(" Why: slot {} ", t))) << said;
    if (facts.pos != t && facts.pos >= 0) {
      ++n_merged;
      EXPECT_NE(said.find(fmt::format("merged into slot {} at step {}", facts.removal.event.into, facts.removal.step)), std::string::npos)
          << said;
    }
    n_evicted += facts.pos < 0;
    n_took += facts.pos == t && facts.last_merge >= 0;
  }
  EXPECT_GT(n_merged, 0);
  EXPECT_GT(n_evicted, 0);
  EXPECT_GT(n_took, 0);
}

TEST_F(AtlasTest, AClickBetweenTwoRowsTakesTheNearest) {
  canvas.draw(*view);
  ImVec2 p = at(1, 3, 20);
  p.y += 6.2f;  // in the gap below
  canvas.click(*view, p);
  ASSERT_NE(canvas.last<Select>(), nullptr);
  EXPECT_EQ(canvas.last<Select>()->selection.kv_head, 3);
}

TEST_F(AtlasTest, AClickOnALabelSelectsTheLayerOrTheHead) {
  canvas.draw(*view);
  canvas.click(*view, {18, at(2, 1, 0).y});
  EXPECT_EQ(canvas.last<Select>()->selection.layer, 2);
  EXPECT_FALSE(canvas.last<Select>()->selection.kv_head.has_value());
  canvas.click(*view, {70, at(2, 3, 0).y});
  EXPECT_EQ(canvas.last<Select>()->selection.kv_head, 3);
}

TEST_F(AtlasTest, DraggingWithCtrlBrushesATokenRangeInEitherDirection) {
  canvas.draw(*view);
  canvas.hold(/*shift=*/false, /*ctrl=*/true);
  canvas.drag(*view, at(0, 0, 88), at(3, 0, 85));
  ASSERT_NE(canvas.last<Select>(), nullptr);
  EXPECT_EQ(canvas.last<Select>()->selection.tokens, (TokenRange{85, 88}));
  EXPECT_FALSE(canvas.last<Select>()->selection.layer.has_value());
}

TEST_F(AtlasTest, APlainDragSelectsNothing) {
  canvas.draw(*view);
  canvas.drag(*view, at(0, 0, 88), at(3, 0, 60));
  EXPECT_EQ(canvas.last<Select>(), nullptr);
}

TEST_F(AtlasTest, TheWheelZoomsAboutTheTokenUnderTheCursor) {
  canvas.draw(*view);
  const ImVec2 p = at(2, 0, 100);
  for (int i = 0; i < 6; ++i) canvas.wheel(*view, p, 1);
  EXPECT_GT(window->count, 0);
  EXPECT_LT(window->count, 60);
  canvas.apply();
  canvas.click(*view, p);
  EXPECT_NEAR(canvas.last<Select>()->selection.tokens->first, 100, 1);
  for (int i = 0; i < 20; ++i) canvas.wheel(*view, p, -1);
  EXPECT_EQ(window->count, 0);  // all tokens again
}

TEST_F(AtlasTest, ADragPansAZoomedAtlasAndStopsAtItsEnds) {
  canvas.draw(*view);
  for (int i = 0; i < 8; ++i) canvas.wheel(*view, at(2, 0, 100), 1);
  const double before = window->first;
  const ImVec2 p = at(2, 0, 100);
  canvas.drag(*view, p, {p.x - 120, p.y});
  EXPECT_GT(window->first, before);
  for (int i = 0; i < 30; ++i) canvas.drag(*view, p, {p.x - 300, p.y});
  canvas.draw(*view);
  const double shown = 732.0 / std::floor(732.0 / window->count);
  EXPECT_NEAR(window->first + shown, 179, 1.0);
}

TEST_F(AtlasTest, DoubleClickShowsOneLayerLargeAndTogglesBack) {
  canvas.draw(*view);
  canvas.double_click(*view, at(3, 2, 60));
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "row"), 4);
  const Mark* row = find_mark(*view, "row", "L3 H2");
  ASSERT_NE(row, nullptr);
  EXPECT_GE(row->max.y - row->min.y, 35);
  canvas.io().DeltaTime = 1;  // so long after the clicks before that the next one starts afresh
  canvas.draw(*view);
  canvas.io().DeltaTime = 1.0f / 60;
  row = find_mark(*view, "row", "L3 H2");
  canvas.double_click(*view, centre(*row));
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "row"), 24);
}

TEST_F(AtlasTest, TheTooltipSaysWhatFateScoreAndContext) {
  canvas.frame.selection.step = 2;
  canvas.draw(*view);
  int token = 30;  // an evicted one
  while (categories_of(snapshot, lane(), 2, 0)[static_cast<std::size_t>(token)] != Category::evicted) ++token;
  canvas.move(*view, at(0, 0, token));
  const HoverAt* hover = canvas.last<HoverAt>();
  ASSERT_NE(hover, nullptr);
  EXPECT_EQ(hover->hover.token, token);
  ASSERT_GE(hover->tooltip.size(), 3u);
  EXPECT_LE(hover->tooltip.size(), 12u);
  EXPECT_EQ(hover->tooltip[0], "L0 · H0 · token " + std::to_string(token) + " " + viz::quoted(token_text(snapshot.tokens, token)));
  EXPECT_EQ(hover->tooltip[1].substr(0, 16), "evicted at step ");
  const std::size_t n = canvas.intents.size();
  canvas.draw(*view);
  EXPECT_EQ(canvas.intents.size(), n) << "a resting mouse must not ask for repaints";
  canvas.move(*view, {-FLT_MAX, -FLT_MAX});
  EXPECT_EQ(canvas.last<HoverAt>()->hover, Hover{});
}

TEST_F(AtlasTest, MergedTokensNameTheirSlotAndTheStep) {
  const auto now = categories_of(snapshot, lane(), 12, 5);
  const auto merged = static_cast<int>(std::find(now.begin(), now.end(), Category::merged) - now.begin());
  const HeadFates& f = lane().fates->heads[5];
  EXPECT_EQ(fate_text(snapshot, lane(), 12, 5, merged).rfind("merged into " + std::to_string(f.into(merged)) + " ", 0), 0u);
  const auto lines = token_tooltip(snapshot, lane(), 12, 5, merged);
  const std::string votes = "votes of slot " + std::to_string(slot_of(*lane().fates, *lane().steps[12], 5, merged));
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [&](const std::string& l) { return l.rfind(votes, 0) == 0; }));
}

TEST_F(AtlasTest, ArrowsMoveTheCellCursorAndEnterOpensTheInspector) {
  canvas.frame.has_focus = true;
  select(1, 3, {40, 40});
  canvas.draw(*view);
  EXPECT_TRUE(view->key(canvas.frame, "Down", canvas.intents));         // L2 H0
  EXPECT_TRUE(view->key(canvas.frame, "Right", canvas.intents));        // 41
  EXPECT_TRUE(view->key(canvas.frame, "Shift+Right", canvas.intents));  // 51
  EXPECT_EQ(canvas.last<HoverAt>()->hover.layer, 2);
  EXPECT_EQ(canvas.last<HoverAt>()->hover.token, 51);
  EXPECT_EQ(view->cursor_text(canvas.frame).rfind("L2 · H0 · token 51 ", 0), 0u);
  EXPECT_TRUE(view->key(canvas.frame, "Enter", canvas.intents));
  EXPECT_NE(canvas.last<OpenInspector>(), nullptr);
  EXPECT_EQ(canvas.last<Select>()->selection.tokens, (TokenRange{51, 51}));
  EXPECT_TRUE(view->key(canvas.frame, "End", canvas.intents));
  EXPECT_TRUE(view->key(canvas.frame, "Right", canvas.intents));  // stays
  EXPECT_EQ(canvas.last<HoverAt>()->hover.token, 178);
  EXPECT_FALSE(view->key(canvas.frame, "F7", canvas.intents));
}

/// A sentence, a button or another panel selects, too: what keys were at before is nobody's place any more.
TEST_F(AtlasTest, TheCursorGoesOnFromWhatWasSelectedElsewhere) {
  canvas.frame.has_focus = true;
  canvas.draw(*view);
  for (const char* key : {"Right", "Right", "Down"}) EXPECT_TRUE(view->key(canvas.frame, key, canvas.intents));
  select(2, 1, {45, 45});
  EXPECT_TRUE(view->key(canvas.frame, "Right", canvas.intents));
  EXPECT_EQ(canvas.last<HoverAt>()->hover.token, 46);
  EXPECT_EQ(canvas.last<HoverAt>()->hover.layer, 2);
  EXPECT_TRUE(view->key(canvas.frame, "Right", canvas.intents));
  EXPECT_EQ(canvas.last<HoverAt>()->hover.token, 47);
}

TEST_F(AtlasTest, ACellIsSelectedByKeyWithoutTheInspector) {
  canvas.frame.has_focus = true;
  select(1, 3, {40, 42});
  canvas.draw(*view);
  EXPECT_TRUE(view->key(canvas.frame, "Right", canvas.intents));
  EXPECT_TRUE(view->key(canvas.frame, "Shift+Enter", canvas.intents));
  EXPECT_EQ(canvas.last<OpenInspector>(), nullptr);
  ASSERT_NE(canvas.last<Select>(), nullptr);
  const Selection& now = canvas.last<Select>()->selection;
  EXPECT_EQ(std::tuple(*now.layer, *now.kv_head, *now.tokens), std::tuple(1, 3, TokenRange{41, 41}));
}

TEST_F(AtlasTest, KeysOfEditsMeanTheCellOfTheCursor) {
  canvas.frame.has_focus = true;
  select(1, 3, {40, 42});
  canvas.draw(*view);
  EXPECT_FALSE(view->key(canvas.frame, "E", canvas.intents)) << "the window's: of what is selected";
  EXPECT_TRUE(view->key(canvas.frame, "Right", canvas.intents));
  EXPECT_FALSE(view->key(canvas.frame, "E", canvas.intents)) << "among what is selected";
  EXPECT_TRUE(view->key(canvas.frame, "Shift+Right", canvas.intents));
  EXPECT_TRUE(view->key(canvas.frame, "E", canvas.intents));
  EXPECT_EQ(canvas.last<Select>()->selection.tokens, (TokenRange{51, 51}));
  EXPECT_EQ(canvas.last<Select>()->selection.slot, 51);
  EXPECT_EQ(canvas.last<EditTokens>()->what, EditTokens::What::evict);
}

/// At an earlier step the cursor's token is not read yet: an edit of the one drawn instead would be of what nobody chose.
TEST_F(AtlasTest, KeysOfEditsDoNotMeanATokenThatTheCursorWasPushedTo) {
  canvas.frame.has_focus = true;
  const int last = snapshot.lanes[3].steps.back()->position;
  select(1, 3, {last, last});
  canvas.frame.selection.slot = last;
  canvas.draw(*view);
  EXPECT_TRUE(view->key(canvas.frame, "Left", canvas.intents));
  EXPECT_TRUE(view->key(canvas.frame, "Right", canvas.intents));
  canvas.frame.selection.step = 0;
  canvas.draw(*view);
  canvas.intents.clear();
  EXPECT_FALSE(view->key(canvas.frame, "E", canvas.intents)) << "the window's: of what is selected";
  EXPECT_EQ(canvas.last<EditTokens>(), nullptr);
}

TEST_F(AtlasTest, APresentersArrowsAreLeftToTheStepsUntilTheCursorIsTakenUp) {
  canvas.frame.has_focus = true;
  canvas.frame.plain = true;
  canvas.draw(*view);
  for (const char* arrow : {"Left", "Right", "Shift+Right"}) EXPECT_FALSE(view->key(canvas.frame, arrow, canvas.intents)) << arrow;
  EXPECT_TRUE(view->key(canvas.frame, "Home", canvas.intents));
  EXPECT_TRUE(view->key(canvas.frame, "Right", canvas.intents));
  EXPECT_EQ(canvas.last<HoverAt>()->hover.token, 1);
}

TEST_F(AtlasTest, PlusAndMinusZoomAndZeroFits) {
  canvas.draw(*view);
  for (int i = 0; i < 9; ++i) view->key(canvas.frame, "+", canvas.intents);
  canvas.draw(*view);
  EXPECT_GT(window->count, 0);
  view->key(canvas.frame, "0", canvas.intents);
  canvas.draw(*view);
  EXPECT_EQ(window->count, 0);
}

TEST_F(AtlasTest, TheTableHoldsTheNumbersOfTheSelectedHead) {
  canvas.frame.selection.layer = 2;
  canvas.frame.selection.kv_head = 1;
  const Table table = view->table(canvas.frame);
  ASSERT_EQ(table.rows.size(), 179u);
  const auto now = categories_of(snapshot, lane(), 12, 9);
  for (std::size_t t = 0; t < 179; ++t) {
    EXPECT_EQ(table.rows[t][0], "2");
    EXPECT_EQ(table.rows[t][4], category_name(now[t]));
  }
  EXPECT_EQ(table.note, "");
}

TEST(TokensPerBin, AreOneFromThreePixelsOnAndAtLeastTwoPixelsWideBelow) {
  EXPECT_EQ(tokens_per_bin(14), 1);
  EXPECT_EQ(tokens_per_bin(3), 1);
  EXPECT_EQ(tokens_per_bin(2.99f), 2);
  EXPECT_EQ(tokens_per_bin(1), 2);
  EXPECT_EQ(tokens_per_bin(0.99f), 4);
  EXPECT_EQ(tokens_per_bin(732.0f / 32768), 128);
}

TEST(AtlasRows, ShrinkGracefullyAndFallBackToLayers) {
  const Rect area{84, 30, 816, 338};
  EXPECT_FLOAT_EQ(layout_rows(6, 4, {}, area, 1).cell, 11);
  EXPECT_FLOAT_EQ(layout_rows(2, 2, {}, area, 1).cell, 40);  // no taller than that
  const AtlasRows many = layout_rows(12, 6, {}, area, 1);
  EXPECT_FALSE(many.by_layer);
  EXPECT_GE(many.cell, 3);
  EXPECT_LE(many.rows.back().y1, area.y1);
  const AtlasRows layers = layout_rows(32, 32, {}, area, 1);
  EXPECT_TRUE(layers.by_layer);
  EXPECT_EQ(layers.rows.size(), 32u);
  EXPECT_LE(layers.rows.back().y1, area.y1 + 1);
  AtlasRowView zoomed;
  zoomed.zoom = 20;
  EXPECT_FALSE(layout_rows(32, 32, zoomed, area, 1).by_layer);  // zooming the rows opens the heads
  AtlasRowView single;
  single.only_layer = 5;
  EXPECT_EQ(layout_rows(32, 32, single, area, 1).rows.size(), 32u);
  EXPECT_TRUE(layout_rows(0, 4, {}, area, 1).rows.empty());
}

/// Rows before all else: in a low panel first the minimap gives way to them, then the legend.
TEST(AtlasRows, EveryHeadKeepsARowInALowPanel) {
  const Snapshot snapshot = synthetic::make_snapshot();
  const int n_heads = snapshot.model.n_layers * snapshot.model.n_kv_heads;
  const float bare = kAtlasAxis + least_rows_height(snapshot.model.n_layers, snapshot.model.n_kv_heads);
  const float legend = kAtlasLegend + kAtlasLegendGap, minimap = kAtlasMinimap + kAtlasMinimapGap;
  const auto marks_at = [&snapshot](float height, const char* kind) {
    const auto view = make_atlas(std::make_shared<TokenWindow>());
    Headless canvas(snapshot, {828, height});
    canvas.draw(*view);
    return count_marks(*view, kind);
  };
  for (const float height : {bare + legend + minimap, bare + legend, bare}) EXPECT_EQ(marks_at(height, "row"), n_heads) << height;
  EXPECT_EQ(marks_at(bare + legend + minimap, "minimap"), 1);
  EXPECT_EQ(marks_at(bare + legend, "minimap"), 0);
  EXPECT_EQ(marks_at(bare - 1, "row"), 0) << "then a row a layer, and all that explains it";
  EXPECT_EQ(marks_at(bare - 1, "minimap"), 1);
}

TEST(AtlasEmpty, NothingToShowIsSaid) {
  Snapshot snapshot;
  Headless canvas(snapshot);
  const auto view = make_atlas(std::make_shared<TokenWindow>());
  canvas.draw(*view);
  ASSERT_NE(find_mark(*view, "empty", "No model"), nullptr);
  snapshot.phase = RunPhase::computing;  // elsewhere: the model is known with the first result
  canvas.draw(*view);
  ASSERT_NE(find_mark(*view, "empty", "Reading the text"), nullptr);
  snapshot.phase = RunPhase::idle;
  snapshot.model = synthetic::model({});
  canvas.draw(*view);
  ASSERT_NE(find_mark(*view, "empty", "0 tokens"), nullptr);
  EXPECT_FALSE(view->key(canvas.frame, "Right", canvas.intents));
  EXPECT_EQ(view->cursor_text(canvas.frame), "no tokens");
  EXPECT_TRUE(view->table(canvas.frame).rows.empty());
  canvas.frame.size = {3, 2};  // a panel squeezed to nothing
  canvas.draw(*view);
}

TEST(AtlasEmpty, TinyPanelsAndSelectionsOutOfRangeAreHarmless) {
  const Snapshot snapshot = synthetic::make_snapshot();
  const auto view = make_atlas(std::make_shared<TokenWindow>());
  Headless canvas(snapshot);
  canvas.frame.has_focus = true;
  canvas.frame.selection.lane = 99;
  canvas.draw(*view);
  canvas.frame.selection.lane = 3;
  canvas.frame.selection.layer = 99;
  canvas.frame.selection.kv_head = 99;
  canvas.frame.selection.tokens = TokenRange{5000, 6000};
  canvas.frame.selection.step = 5000;
  canvas.frame.hover = {99, 99, 99999, 99, 99};
  const auto draw = [&] {
    const ImDrawData* drawn = canvas.draw(*view);
    for (const ImDrawList* list : std::span(drawn->CmdLists, static_cast<std::size_t>(drawn->CmdListsCount)))
      for (const ImDrawVert& v : list->VtxBuffer) ASSERT_TRUE(std::isfinite(v.pos.x) && std::isfinite(v.pos.y));
  };
  for (ImVec2 size : {ImVec2(1, 1), ImVec2(60, 40), ImVec2(100, 90), ImVec2(200, 120), ImVec2(3000, 2000)}) {
    canvas.frame.size = size;
    draw();
    canvas.wheel(*view, {size.x / 2, size.y / 2}, 3);
    draw();
    canvas.intents.clear();
    canvas.click(*view, {size.x / 2, size.y / 2});
    for (const Intent& intent : canvas.intents) {
      const auto* const select = std::get_if<Select>(&intent);
      if (!select || !select->selection.tokens) continue;
      EXPECT_LT(select->selection.tokens->last, static_cast<int>(snapshot.tokens.size())) << size.x;
      EXPECT_LT(select->selection.layer.value_or(0), snapshot.model.n_layers) << size.x;
    }
    draw();
  }
  EXPECT_GT(canvas.textures.texels(), 0u) << "where there is room the cache is drawn";
}

}  // namespace
}  // namespace kvscope::viz
