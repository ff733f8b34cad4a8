// SPDX-License-Identifier: Apache-2.0
#include "app/window/commands/window_keys.h"

#include <QKeyEvent>

#include "app/window/lecture/lecture_guide.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/rows/budget_box.h"
#include "app/window/rows/rows.h"
#include "app/window/shell/main_window.h"

namespace kvscope {

namespace {

/// From the text, where letters are letters, from the field of the budget, and in a lecture from the row above, whose controls have the
/// arrows, to the picture, where keys act.
bool leaveText(MainWindow& w) {
  if (w.lectureMode().leaveText()) return true;
  if (!w.work().prompt().editor().hasFocus() && !w.rows().tools().budgetBox()->hasFocus()) return false;
  CanvasWidget& atlas = w.views().main();
  QWidget* picture = atlas.isVisible() ? static_cast<QWidget*>(&atlas) : &w;  // it may be closed, or behind a maximised text
  picture->setFocus(Qt::ShortcutFocusReason);
  return true;
}

bool computes(MainWindow& w) { return w.workspace().snapshot().phase == RunPhase::computing || w.model().runs.running() != nullptr; }

/// Esc: text or field, maximised panel, range of steps, page, play, computing. A lecture it leaves from every page of it, once there is
/// nothing else to end: a presenter's remote control has no other key for that.
void back(MainWindow& w) {
  if (leaveText(w)) return;
  Playback& playback = w.model().playback;
  const bool lecture = w.lectureMode().on();
  if (w.inspect().maximised())
    w.inspect().toggleMaximised(w.inspect().maximised());
  else if (w.workspace().selection().steps)
    limitSteps(w.workspace(), std::nullopt);
  else if (w.firstSteps().touring())
    w.firstSteps().endTour();
  else if (w.page() != Page::inspect && !lecture)
    w.showPage(Page::inspect);
  else if (playback.playing())
    playback.play(false);
  else if (!lecture || computes(w))
    w.runActions().stop();
  else if (!w.lectureMode().guide().endWhy())
    w.lectureMode().leave();
}

/// What a presenter's remote control sends besides Page Up and Page Down.
bool takeLectureKey(LectureMode& lecture, int key) {
  switch (key) {
    case Qt::Key_Space:
      lecture.guide().next();
      return true;
    case Qt::Key_B:
    case Qt::Key_Period:
      lecture.blackOut();
      return true;
    default:
      return false;
  }
}

}  // namespace

bool takeKey(MainWindow& w, const QKeyEvent& event) {
  const Qt::KeyboardModifiers modifiers = event.modifiers() & ~Qt::KeypadModifier;
  const int key = event.key(), far = modifiers == Qt::ShiftModifier ? 10 : 1;
  if (modifiers != Qt::NoModifier && (modifiers != Qt::ShiftModifier || (key != Qt::Key_Left && key != Qt::Key_Right))) return false;
  if (w.whatIf().key(key)) return true;
  if (w.lectureMode().on() && takeLectureKey(w.lectureMode(), key)) return true;
  Playback& playback = w.model().playback;
  switch (key) {
    case Qt::Key_Space:
      playback.toggle();
      return true;
    case Qt::Key_Left:
      playback.stepBy(-far);
      return true;
    case Qt::Key_Right:
      playback.stepBy(far);
      return true;
    case Qt::Key_Home:
      playback.goTo(0);
      return true;
    case Qt::Key_End:
      playback.goTo(-1);
      return true;
    case Qt::Key_B:
      w.bookmarkActions().add();
      return true;
    case Qt::Key_C:
      w.lectureMode().toggleCompare();
      return true;
    case Qt::Key_G:
      w.lectureMode().toggleGhosts();
      return true;
    case Qt::Key_Escape:
      back(w);
      return true;
    default:
      return false;
  }
}

}  // namespace kvscope
