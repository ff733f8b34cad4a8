// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <QObject>

#include "policy/catalog.h"

namespace kvscope {

struct WindowModel;

/// Makes every change of the runs a step that can be taken back.
class RunsUndo : public QObject {
  Q_OBJECT

 public:
  explicit RunsUndo(WindowModel& model);
  /// What `change` does to the runs cannot be taken back: another session takes their place.
  void without(const std::function<void()>& change);

 Q_SIGNALS:
  /// How many tokens are asked for now: one more, or an undo.
  void generateChanged(int n_tokens);

 private:
  void requestChanged();

  WindowModel& m_model;
  std::vector<LaneSpec> m_lanes_before;
  int m_generate_before;
  bool m_undoing = false;
};

}  // namespace kvscope
