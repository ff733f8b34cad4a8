// SPDX-License-Identifier: Apache-2.0
#include "viz/draw/theme.h"

#include <gtest/gtest.h>

#include "viz/colour_math.h"

namespace kvscope::viz {
namespace {

using namespace testing;

constexpr std::array kVisions = {Vision::normal, Vision::protan, Vision::deutan, Vision::tritan};
constexpr std::array kThemes = {&dark_theme, &light_theme};

double weakest_pair(const Theme& t, Vision vision) {
  double worst = 1e9;
  for (std::size_t a = 1; a < t.category.size(); ++a) {
    for (std::size_t b = a + 1; b < t.category.size(); ++b) worst = std::min(worst, difference(t.category[a], t.category[b], vision));
  }
  return worst;
}

TEST(ColourMath, CiedeMatchesThePublishedTestPairs) {  // Sharma, Wu, Dalal 2005, table 1
  EXPECT_NEAR(ciede2000({50, 2.6772, -79.7751}, {50, 0, -82.7485}), 2.0425, 1e-4);
  EXPECT_NEAR(ciede2000({50, 2.5, 0}, {73, 25, -18}), 27.1492, 1e-4);
  EXPECT_NEAR(ciede2000({50, 2.5, 0}, {61, -5, 29}), 22.8977, 1e-4);
  EXPECT_NEAR(ciede2000({50, 2.5, 0}, {56, -27, -3}), 31.9030, 1e-4);
  EXPECT_NEAR(ciede2000({22.7233, 20.0904, -46.6940}, {23.0331, 14.9730, -42.5619}), 2.0373, 1e-4);
}

TEST(Palette, EveryTwoCategoriesDifferByTwelveInEveryVision) {
  for (auto theme : kThemes) {
    for (Vision v : kVisions)
      EXPECT_GE(weakest_pair(theme(), v), 12) << (theme().dark ? "dark" : "light") << " vision " << static_cast<int>(v);
  }
}

TEST(Palette, WeakestPairsAreThoseOfTheStyleGuide) {
  const double dark[] = {25.4, 13.1, 13.3, 15.5}, light[] = {25.2, 17.4, 18.3, 24.0};
  for (std::size_t v = 0; v < kVisions.size(); ++v) {
    EXPECT_NEAR(weakest_pair(dark_theme(), kVisions[v]), dark[v], 0.06);
    EXPECT_NEAR(weakest_pair(light_theme(), kVisions[v]), light[v], 0.06);
  }
}

TEST(Palette, CategoriesKeepTheirOrderOfLightnessInGreys) {
  const Category order[] = {Category::evicted, Category::sink, Category::kept, Category::merged, Category::recent, Category::fresh};
  for (std::size_t i = 0; i + 1 < std::size(order); ++i) {
    const auto at = [](const Theme& t, Category c) { return lightness(t.category[static_cast<std::size_t>(c)]); };
    EXPECT_GE(at(dark_theme(), order[i + 1]) - at(dark_theme(), order[i]), 6.3) << i;
  }
  const Category light[] = {Category::evicted, Category::merged, Category::recent, Category::sink, Category::kept, Category::fresh};
  for (std::size_t i = 0; i + 1 < std::size(light); ++i) {
    const auto at = [](Category c) { return lightness(light_theme().category[static_cast<std::size_t>(c)]); };
    EXPECT_GE(at(light[i]) - at(light[i + 1]), 6.3) << i;
  }
}

TEST(Palette, TextIsReadableOnItsSurfaces) {
  for (auto theme : kThemes) {
    const Theme& t = theme();
    for (Rgb surface : {t.window, t.panel}) {
      EXPECT_GE(contrast(t.text, surface), 12);
      EXPECT_GE(contrast(t.secondary, surface), 7);
      EXPECT_GE(contrast(t.disabled, surface), 4.4);
      EXPECT_GE(contrast(t.accent, surface), 4.5);
    }
    EXPECT_GE(contrast(t.on_accent, t.accent), 4.5);
    EXPECT_GE(contrast(t.evicted_outline, t.panel), 2.9);
  }
  EXPECT_NEAR(contrast(dark_theme().text, dark_theme().window), 14.8, 0.05);  // the figures of the style guide
  EXPECT_NEAR(contrast(light_theme().text, light_theme().window), 16.5, 0.05);
}

TEST(Palette, TextIsReadableOnCategoryTints) {
  for (auto theme : kThemes) {
    const Theme& t = theme();
    for (std::size_t c = 1; c < t.category.size(); ++c) {
      const std::array<Rgb, 2> ends = {t.panel, t.category[c]};
      if (static_cast<Category>(c) == Category::fresh) continue;  // a glyph in cells, not a background of text
      EXPECT_GE(contrast(t.text, ramp(ends, t.text_tint)), 4.5) << c;
    }
  }
}

// A changed top choice stands in the row of an unchanged one (grey) and on the panel. It is told from the merged fill by its place, not by
// colour: the two come close for deutans.
TEST(Palette, AChangedOutputIsToldFromAnUnchangedOneInEveryVision) {
  for (auto theme : kThemes) {
    const Theme& t = theme();
    EXPECT_GE(contrast(t.changed, t.panel), 4.5);
    for (Vision v : kVisions) {
      EXPECT_GE(difference(t.changed, t.disabled, v), 12);
      EXPECT_GE(difference(t.changed, t.secondary, v), 12);
      EXPECT_GE(difference(t.changed, t.panel, v), 12);
    }
    for (std::size_t c = 1; c < t.category.size(); ++c) EXPECT_GE(difference(t.changed, t.category[c], Vision::normal), 25);
  }
}

// What is yellow in a picture is chosen or merged: no ramp of shares is, and no run has the colour of a changed answer.
TEST(Palette, OneColourHasOneMeaning) {
  for (auto theme : kThemes) {
    const Theme& t = theme();
    for (int i = 0; i <= 20; ++i) {
      const Rgb shade = ramp(t.sequential, i / 20.0);
      EXPECT_GE(difference(shade, t.accent, Vision::normal), 25) << i;
      EXPECT_GE(difference(shade, t.category[static_cast<std::size_t>(Category::merged)], Vision::normal), 20) << i;
    }
    for (std::size_t a = 0; a < t.runs.size(); ++a) {
      EXPECT_GE(difference(t.runs[a], t.changed, Vision::normal), 16) << a;
      for (std::size_t b = a + 1; b < t.runs.size(); ++b) EXPECT_GE(difference(t.runs[a], t.runs[b], Vision::normal), 20) << a << " " << b;
    }
    for (std::size_t i = 0; i + 1 < t.sequential.size(); ++i)
      for (Vision v : kVisions) EXPECT_GE(difference(t.sequential[i], t.sequential[i + 1], v), 5.5) << i;
  }
}

TEST(Ramps, LightnessIsMonotone) {
  for (auto theme : kThemes) {
    const Theme& t = theme();
    for (auto colours : {t.sequential, t.damage}) {
      const double direction = t.dark ? 1 : -1;  // low is next to the panel
      for (int i = 0; i < 100; ++i)
        EXPECT_GT(direction * (lightness(ramp(colours, (i + 1) / 100.0)) - lightness(ramp(colours, i / 100.0))), 0) << i;
    }
    const std::size_t middle = t.diverging.size() / 2;
    for (std::size_t i = 0; i + 1 < t.diverging.size(); ++i) {
      const double step = lightness(t.diverging[i + 1]) - lightness(t.diverging[i]);
      EXPECT_GT((i < middle) == t.dark ? -step : step, 0) << i;  // the middle is next to the surface
    }
  }
  EXPECT_NEAR(lightness(light_theme().damage.front()), 95, 0.3);
  EXPECT_NEAR(lightness(light_theme().damage.back()), 30, 0.3);
}

TEST(Ramps, EndsAndNotANumberAreExact) {
  const auto ramp_colours = dark_theme().sequential;
  EXPECT_EQ(ramp(ramp_colours, 0).value, 0x122549u);
  EXPECT_EQ(ramp(ramp_colours, 1).value, 0xE3EFFDu);
  EXPECT_EQ(ramp(ramp_colours, 5).value, 0xE3EFFDu);
  EXPECT_EQ(ramp(ramp_colours, -5).value, 0x122549u);
  EXPECT_EQ(ramp(ramp_colours, std::nan("")).value, 0x122549u);
  const std::array<Rgb, 2> grey = {Rgb{0x000000}, Rgb{0xC86432}};
  EXPECT_EQ(ramp(grey, 0.5).value, 0x643219u);
}

}  // namespace
}  // namespace kvscope::viz
