// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include <QObject>

#include "app/window/session/session_controller.h"
#include "app/window/session/undo/step_words.h"

namespace kvscope {

class LanesEdit;
struct WindowModel;

/// Makes every change of the text and of the runs a step that can be taken back, in the order of time. What is taken back or done again is
/// shown and said: a step out of sight would look like none.
class RunsUndo : public QObject {
  Q_OBJECT

 public:
  explicit RunsUndo(WindowModel& model);
  /// Another text and other runs take the place of those that are there: nothing that was done to these can be taken back.
  void without(const std::function<void()>& change);

 public Q_SLOTS:
  void undo();
  void redo();

 Q_SIGNALS:
  /// How many tokens are asked for now: one more, or an undo.
  void generateChanged(int n_tokens);
  /// "Redone: budget of run F, 10 % → 20 %"
  void said(const QString& words);
  /// What was looked at then is selected again: nobody chose it now.
  void shown();

 private:
  void requestChanged();
  LanesEdit* named(LanesEdit* edit) const;
  void travel(bool back);
  void show();

  WindowModel& m_model;
  RunRequest m_before;
  bool m_undoing = false;
  std::optional<StepPlace> m_place;  // to be looked at as soon as its run is there
};

}  // namespace kvscope
