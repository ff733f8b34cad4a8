// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QUndoGroup>
#include <QUndoStack>

namespace kvscope {

/// What can be taken back. A lesson has steps of its own: those of the session wait with it.
class UndoSteps {
 public:
  UndoSteps() {
    constexpr int kMost = 200;  // a long day's edits are not kept whole
    for (QUndoStack* stack : {&m_own, &m_lesson}) {
      stack->setUndoLimit(kMost);
      m_group.addStack(stack);
    }
    m_group.setActiveStack(&m_own);
  }
  QUndoStack& now() { return *m_group.activeStack(); }
  /// For actions: they follow what is taken back now.
  QUndoGroup& group() { return m_group; }
  void putAside() { setLesson(true); }
  void giveBack() { setLesson(false); }
  /// Another session takes the place of the one that is there, or that waits.
  void forget() {
    m_own.clear();
    giveBack();
  }

 private:
  void setLesson(bool on) {
    m_lesson.clear();
    m_group.setActiveStack(on ? &m_lesson : &m_own);
  }

  QUndoStack m_own, m_lesson;
  QUndoGroup m_group;
};

}  // namespace kvscope
