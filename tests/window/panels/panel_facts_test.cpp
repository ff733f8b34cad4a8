// SPDX-License-Identifier: Apache-2.0
// Facts in a narrow place: fewer of them, never a word or number cut in two.
#include <gtest/gtest.h>
#include <QFontMetrics>
#include <QStringList>

#include "app/window/look/style.h"
#include "app/window/shell/panel.h"
#include "app/window/shell/panel_paint.h"

namespace kvscope {
namespace {

TEST(FactsInANarrowPlace, TheLastOnesGoFirst) {
  ElidedLabel label;
  const QString all = "L4 · H1 · slots 42 of 179 tokens (23.5 %) · evicted 137 · attention lost 9.5 %";
  label.setText(all);
  label.resize(2000, 20);
  EXPECT_EQ(label.shown(), all);
  const QStringList facts = all.split(" · ");
  for (qsizetype n = facts.size() - 1; n > 0; --n) {
    const QString first = facts.mid(0, n).join(" · ");
    label.resize(QFontMetrics(label.font()).horizontalAdvance(facts.mid(0, n + 1).join(" · ")) - 1, 20);
    EXPECT_EQ(label.shown(), first);
    label.resize(QFontMetrics(label.font()).horizontalAdvance(first), 20);
    EXPECT_EQ(label.shown(), first) << "it just fits";
  }
  EXPECT_EQ(label.toolTip(), all);
}

TEST(FactsInANarrowPlace, NoNumberIsCutInTwo) {
  const QFontMetrics metrics((QFont()));
  const QString fact = "token 1672 + 12 others";
  for (int width = metrics.horizontalAdvance(fact) - 1; width >= 0; --width) {
    const QString shown = factsThatFit(metrics, width, fact);
    ASSERT_LE(metrics.horizontalAdvance(shown), width);
    ASSERT_TRUE(QStringList({"", "token …", "token 1672 …", "token 1672 + 12 …"}).contains(shown)) << shown.toStdString();
  }
  EXPECT_EQ(factsThatFit(metrics, 1000, ""), "");
  const QString digits = "167 + 12 tokens";
  EXPECT_EQ(factsThatFit(metrics, metrics.horizontalAdvance(digits) - 1, digits), "") << "a number alone tells nothing";
}

TEST(Icons, AreMadeOnceForTheirColours) {
  const qint64 first = icon(Icon::open, Qt::white, Qt::gray).cacheKey();
  EXPECT_EQ(icon(Icon::open, Qt::white, Qt::gray).cacheKey(), first);
  EXPECT_NE(icon(Icon::open, Qt::black, Qt::gray).cacheKey(), first);
  EXPECT_NE(icon(Icon::save, Qt::white, Qt::gray).cacheKey(), first);
}

}  // namespace
}  // namespace kvscope
