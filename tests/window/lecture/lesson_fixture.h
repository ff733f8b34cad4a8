// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDir>

#include "app/window/lecture/lecture_caption.h"
#include "app/window/lecture/lecture_guide.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/shell/panel_paint.h"
#include "window/lecture/lecture_fixture.h"

namespace kvscope {

class LessonTest : public LectureTest {
 protected:
  LectureMode& mode() { return window->lectureMode(); }
  LectureGuide& guide() { return mode().guide(); }
  QString id() { return qs(guide().at(guide().scene()).id); }
  bool arrived() {
    return waitFor([this] { return !guide().waiting() && snapshot().phase == RunPhase::idle; }, 60000) && settle();
  }
  void open(const QString& path) {
    mode().openLesson(path);
    ASSERT_TRUE(arrived());
  }
  /// What is on the screen, without the words below it.
  QImage aboveCaption() {
    const QImage whole = window->exports().picture().toImage();
    return whole.copy(0, 0, whole.width(), static_cast<int>(mode().caption().mapTo(window.get(), QPoint()).y() * whole.devicePixelRatio()));
  }
  void picture(const QString& name) {
    const QString folder = qEnvironmentVariable("KVSCOPE_STORY_PICTURES");
    if (folder.isEmpty()) return;
    QTest::qWait(150);
    ASSERT_TRUE(window->exports().picture().save(QDir(folder).filePath(name + ".png")));
  }
};

}  // namespace kvscope
