// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <QObject>

#include "app/window/session/session_controller.h"

namespace kvscope {

struct WindowModel;

/// Makes every change of the text and of the runs a step that can be taken back, in the order of time.
class RunsUndo : public QObject {
  Q_OBJECT

 public:
  explicit RunsUndo(WindowModel& model);
  /// Another text and other runs take the place of those that are there: nothing that was done to these can be taken back.
  void without(const std::function<void()>& change);

 Q_SIGNALS:
  /// How many tokens are asked for now: one more, or an undo.
  void generateChanged(int n_tokens);

 private:
  void requestChanged();

  WindowModel& m_model;
  RunRequest m_before;
  bool m_undoing = false;
};

}  // namespace kvscope
