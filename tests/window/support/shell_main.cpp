// SPDX-License-Identifier: Apache-2.0
// Canvases and the whole window need a display. Without one every test leaves with 77, which ctest shows as skipped.
#include <cstdio>

#include <gmock/gmock.h>
#include <QApplication>

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  if (::testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  if (qEnvironmentVariableIsEmpty("DISPLAY") && qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY")) {
    std::puts("skipped: no display; run under xvfb-run");
    return 77;
  }
  QApplication app(argc, argv);
  QApplication::setApplicationName("kvscope-tests");
  return RUN_ALL_TESTS();
}
