// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "viz/headless.h"
#include "viz/synthetic.h"
#include "viz/the_mark.h"
#include "viz/views.h"

namespace kvscope::viz::testing {

/// The comparison of four runs at step 2 on a canvas of its usual size.
class CompareTest : public ::testing::Test {
 protected:
  CompareTest() {
    canvas.frame.selection.lane = 3;
    canvas.frame.selection.step = 2;
  }
  const Mark& mark(std::string_view kind, std::string_view label) { return the_mark(*view, kind, label); }
  /// Of which runs the difference is.
  std::string strips() const {
    for (const Mark& m : view->marks())
      if (m.kind == "difference.strip") return m.label;
    return "none";
  }

  Snapshot snapshot = synthetic::make_snapshot();
  std::unique_ptr<View> view = make_compare();
  Headless canvas{snapshot, {1550, 870}};
};

}  // namespace kvscope::viz::testing
