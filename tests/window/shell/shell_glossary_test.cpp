// SPDX-License-Identifier: Apache-2.0
// "What is this?" for legends, columns and panels.
#include "app/window/help/glossary.h"

#include <QSet>

#include "app/window/panels/effect/effect_panel_model.h"
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

}  // namespace
}  // namespace kvscope
