// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "viz/lineage_fixture.h"
#include "viz/the_mark.h"
#include "viz/views.h"

namespace kvscope::viz {

/// The inspector over a small run with every fate, head L0 H0, slot 3 selected.
class InspectorTest : public ::testing::Test {
 protected:
  InspectorTest() {
    canvas.frame.selection.lane = 1;
    canvas.frame.selection.layer = 0;
    canvas.frame.selection.kv_head = 0;
    canvas.frame.selection.slot = 3;
  }
  const Mark& mark(std::string_view kind, std::string_view label) { return testing::the_mark(*view, kind, label); }
  std::string row(std::string_view name) { return mark("slot.row", name).value; }

  Snapshot snapshot = testing::small_snapshot();
  std::unique_ptr<View> view = make_inspector();
  testing::Headless canvas{snapshot, {1550, 866}};
};

}  // namespace kvscope::viz
