// SPDX-License-Identifier: Apache-2.0
// Wherever a figure needs the uncompressed history and nobody kept it, a canvas offers to capture it.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "viz/headless.h"
#include "viz/synthetic.h"
#include "viz/views.h"

namespace kvscope::viz {
namespace {

using namespace testing;

struct Case {
  const char* name;
  std::function<std::unique_ptr<View>()> make;
  ImVec2 size;
};

class CaptureOffers : public ::testing::TestWithParam<Case> {
 protected:
  const Mark* offer() {
    canvas.draw(*view);
    for (const Mark& m : view->marks())
      if (m.kind == "capture") return &m;
    return nullptr;
  }
  Snapshot snapshot = synthetic::make_snapshot();
  std::unique_ptr<View> view = GetParam().make();
  Headless canvas{snapshot, GetParam().size};
};

TEST_P(CaptureOffers, WhatIsNotCapturedWithTheTimeItTakes) {
  canvas.frame.selection.lane = 3;
  snapshot.total_ms = 412;
  EXPECT_EQ(offer(), nullptr) << "the history is kept";
  snapshot.history = false;
  ASSERT_NE(offer(), nullptr);
  const Mark found = *offer();
  EXPECT_TRUE(found.value.ends_with("not captured – capture now (412 ms)")) << found.value;
  EXPECT_GE(found.min.x, 0);
  EXPECT_LE(found.max.x, canvas.frame.size.x);
  canvas.click(*view, centre(found));
  ASSERT_NE(canvas.last<WantMeasure>(), nullptr);
  EXPECT_TRUE(canvas.last<WantMeasure>()->on && canvas.last<WantMeasure>()->what == WantMeasure::What::history);
  EXPECT_EQ(canvas.last<Select>(), nullptr) << "what lies under it is not meant";
}

INSTANTIATE_TEST_SUITE_P(OfCanvases, CaptureOffers,
                         ::testing::Values(Case{"head_grid", [] { return make_head_grid(); }, {348, 300}},
                                           Case{"head_strip", [] { return make_head_strip(std::make_shared<TokenWindow>()); }, {656, 104}},
                                           Case{"inspector", [] { return make_inspector(); }, {1260, 612}},
                                           Case{"compare", [] { return make_compare(); }, {1260, 612}}),
                         [](const ::testing::TestParamInfo<Case>& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace kvscope::viz
