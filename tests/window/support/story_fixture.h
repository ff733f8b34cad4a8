// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stories of use from their first to their last step, by mouse in both themes and by keys of the X server. KVSCOPE_STORY_PICTURES names a
// folder for a picture of every step.

#include <algorithm>
#include <string>

#include <gtest/gtest.h>
#include <QApplication>
#include <QDir>
#include <QProcess>
#include <QStandardPaths>
#include <QTest>

#include "app/window/canvas/canvas_widget.h"
#include "window/support/mouse_menu.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {

struct Look {
  const char* theme;
  int width, height;
};

class Story : public WindowTest {
 protected:
  void picture(const QString& step, QWidget* what = nullptr) {
    const QString folder = qEnvironmentVariable("KVSCOPE_STORY_PICTURES");
    if (folder.isEmpty()) return;
    QDir().mkpath(folder);
    QTest::qWait(250);
    (what ? what->grab() : window->exports().picture()).save(folder + "/" + name() + "-" + step + ".png");
  }
  static QString name() {
    const ::testing::TestInfo* info = ::testing::UnitTest::GetInstance()->current_test_info();
    return QString("%1-%2").arg(info->test_suite_name(), info->name()).replace('/', '-');
  }
  /// Middle of what a canvas drew.
  QPoint at(const char* view, const char* kind, const std::string& label) {
    CanvasWidget* canvas = window->canvas(view);
    (void)waitFor([&] { return canvas->settled(); }, 5000);
    for (const viz::Mark& mark : canvas->view().marks())
      if (mark.kind == kind && mark.label == label)
        return {static_cast<int>((mark.min.x + mark.max.x) / 2), static_cast<int>((mark.min.y + mark.max.y) / 2)};
    ADD_FAILURE() << view << " shows no " << kind << " " << label;
    return {};
  }
  std::string valueOf(const char* view, const char* kind, const std::string& label) const {
    for (const viz::Mark& mark : window->canvas(view)->view().marks())
      if (mark.kind == kind && mark.label == label) return mark.value;
    return {};
  }
  void click(const char* view, const QPoint& place, Qt::KeyboardModifiers modifiers = {}) {
    CanvasWidget* canvas = window->canvas(view);
    QTest::mouseMove(canvas, place);
    QTest::mouseClick(canvas, Qt::LeftButton, modifiers, place);
    (void)waitFor([&] { return canvas->settled(); }, 5000);
    QApplication::processEvents();
  }
  /// A right click on a canvas as the window system delivers it, and an entry of the menu that it opens.
  void chooseOn(const char* view, const QPoint& place, const QStringList& path) {
    CanvasWidget* canvas = window->canvas(view);
    chooseByMouse(path, [&] { QTest::mouseClick(window->windowHandle(), Qt::RightButton, {}, canvas->mapTo(window.get(), place)); });
  }
  const viz::Selection& selection() const { return window->workspace().selection(); }
  const LaneSnapshot& shown() const { return snapshot().lanes[static_cast<std::size_t>(selection().lane)]; }
};

class StoryByMouse : public Story, public ::testing::WithParamInterface<Look> {
 protected:
  void SetUp() override {
    options.theme = GetParam().theme;
    options.size = {GetParam().width, GetParam().height};
    WindowTest::SetUp();
  }
};

inline constexpr Look kLooks[] = {{"dark", 1600, 1000}, {"light", 1280, 800}};
inline std::string nameOfLook(const ::testing::TestParamInfo<Look>& look) {
  return std::string(look.param.theme) + std::to_string(look.param.width);
}

/// Keys as the X server delivers them, whatever has the focus.
class StoryByKeys : public Story {
 protected:
  void SetUp() override {
    if (QStandardPaths::findExecutable("xdotool").isEmpty()) GTEST_SKIP() << "xdotool is not installed";
    WindowTest::SetUp();
  }
  void keys(const QStringList& names) {
    for (const QString& one : names) {
      QProcess tool;
      tool.start("xdotool", {"key", one});
      (void)waitFor([&] { return tool.state() == QProcess::NotRunning; }, 5000);
      QTest::qWait(20);
    }
  }
  void write(const QString& text) {
    QProcess tool;
    tool.start("xdotool", {"type", "--delay", "5", text});
    (void)waitFor([&] { return tool.state() == QProcess::NotRunning; }, 10000);
    QTest::qWait(200);
  }
};

}  // namespace kvscope
