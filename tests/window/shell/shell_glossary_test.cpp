// SPDX-License-Identifier: Apache-2.0
// "What is this?" for legends, columns and panels.
#include "app/window/help/glossary.h"

#include <set>

#include <QSet>

#include "app/window/canvas/canvas_widget.h"
#include "app/window/panels/effect/effect_panel_model.h"
#include "viz/reduce/head.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

TEST(GlossaryTest, DefinesEveryWordOnceAndAllThatViewsName) {
  const Glossary& g = Glossary::builtIn();
  ASSERT_GT(g.terms().size(), 20);
  QSet<QString> seen;
  for (const Term& term : g.terms()) {
    EXPECT_FALSE(term.text.isEmpty()) << term.name.toStdString();
    for (const QString& name : QStringList{term.name} + term.aliases) {
      EXPECT_FALSE(seen.contains(name.toLower())) << name.toStdString() << " has two meanings";
      seen << name.toLower();
    }
  }
  for (const auto& [view, names] : g.views())
    for (const QString& name : names) EXPECT_NE(g.find(name), nullptr) << view.toStdString() << ": " << name.toStdString();
  EXPECT_EQ(g.find("mean KL, nats (steps 1–12)"), g.find("KL"));
  EXPECT_EQ(g.find("mean KL (nats)"), g.find("KL")) << "a unit behind the title does not matter";
  EXPECT_TRUE(g.about("no such word").isEmpty());
}

TEST_F(WindowTest, EveryPanelAndEveryCategoryOfALegendSaysWhatItIs) {
  for (const MainWindow::Page page : {MainWindow::Page::inspect, MainWindow::Page::compare}) {
    window->showPage(page);
    ASSERT_TRUE(settle());
    for (const CanvasWidget* canvas : window->views().all()) {
      if (!canvas->isVisible()) continue;
      EXPECT_FALSE(canvas->whatIsAt({2, 2}).isEmpty()) << canvas->view().id();
    }
  }
  window->showPage(MainWindow::Page::inspect);
  ASSERT_TRUE(settle());
  const CanvasWidget* atlas = window->canvas("atlas");
  int n = 0;
  for (const viz::Mark& m : atlas->view().marks()) {
    if (m.kind != "legend") continue;
    const QString said = atlas->whatIsAt(QPoint(static_cast<int>((m.min.x + m.max.x) / 2), static_cast<int>((m.min.y + m.max.y) / 2)));
    EXPECT_TRUE(said.contains("<b>")) << m.label;
    EXPECT_EQ(said.count("<b>"), 1) << m.label << " is explained, not the whole view";
    ++n;
  }
  EXPECT_GE(n, 6);
  EffectModel model(window->workspace());
  for (int c = 0; c < EffectModel::kColumns; ++c)
    EXPECT_FALSE(model.headerData(c, Qt::Horizontal, Qt::WhatsThisRole).toString().isEmpty()) << c;
}

/// Whoever points at a row of the card asks about that row.
TEST_F(WindowTest, EveryRowOfTheSlotsCardSaysWhatItIs) {
  window->showPage(MainWindow::Page::inspector);
  ASSERT_TRUE(settle());
  CanvasWidget* inspector = window->canvas("inspector");
  int run = 0;
  while (snapshot().lanes[static_cast<std::size_t>(run)].policy != "keepkv") ++run;
  viz::Selection s = window->workspace().selection();
  s.lane = run;
  s.layer = 1;
  s.kv_head = 2;
  std::set<std::string> met;
  const viz::HeadPick pick = viz::pick_head(snapshot(), s);
  const viz::HeadColumns columns = viz::head_columns(snapshot(), pick);
  std::set<Category> fates;
  for (int t = 0; t < columns.size(); ++t) {
    if (!fates.insert(columns.category[static_cast<std::size_t>(t)]).second) continue;  // one of each fate
    s.select({t, t});
    s.slot = t;
    window->workspace().setSelection(s);
    ASSERT_TRUE(waitFor([&] { return inspector->settled(); }, 5000));
    for (const viz::Mark& m : inspector->view().marks()) {
      if (m.kind != "slot.row" && m.kind != "cost") continue;
      met.insert(m.label);
      const QString said =
          inspector->whatIsAt(QPoint(static_cast<int>((m.min.x + m.max.x) / 2), static_cast<int>((m.min.y + m.max.y) / 2)));
      EXPECT_EQ(said.count("<b>"), 1) << m.label << ": " << said.toStdString();
      if (m.label == "rank") {
        EXPECT_TRUE(said.contains("slots")) << said.toStdString();
      }
    }
  }
  EXPECT_GE(fates.size(), 4u);
  for (const char* row : {"EMA share", "logit bias b", "rank", "agreement", "compress_rel_l2"}) EXPECT_TRUE(met.contains(row)) << row;
}

TEST_F(WindowTest, TheHelpOfTheHeadGridBeginsWithTheMeasureThatIsShown) {
  CanvasWidget* grid = window->canvas("head_grid");
  ASSERT_TRUE(settle());
  const viz::Option measures = grid->view().options().at(0);
  for (int i = 0; i < static_cast<int>(measures.choices.size()); ++i) {
    grid->view().choose(0, i);
    const Term* term = Glossary::builtIn().find(QString::fromStdString(measures.choices[static_cast<std::size_t>(i)]));
    ASSERT_NE(term, nullptr) << measures.choices[static_cast<std::size_t>(i)];
    EXPECT_TRUE(grid->whatIsAt({2, 2}).contains("<b>" + term->name.toHtmlEscaped() + "</b>")) << term->name.toStdString();
  }
}

}  // namespace
}  // namespace kvscope
