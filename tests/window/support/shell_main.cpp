// SPDX-License-Identifier: Apache-2.0
// Canvases and the whole window need a display. Without one every test leaves with 77, which ctest shows as skipped.
#include <cstdio>

#include <gmock/gmock.h>
#include <QApplication>

#include "app/window/canvas/host_imgui.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  if (::testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  if (qEnvironmentVariableIsEmpty("DISPLAY") && qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY")) {
    std::puts("skipped: no display; run under xvfb-run");
    return 77;
  }
  QApplication app(argc, argv);
  QApplication::setApplicationName("kvscope-tests");
  QString reason;
  const auto renderer = kvscope::CanvasRenderer::shared(&reason);  // once for the windows of all tests
  return RUN_ALL_TESTS();
}
