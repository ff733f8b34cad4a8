// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <QObject>

#include "viz/selection.h"

namespace kvscope {

struct WindowModel;

/// What is to be looked at as soon as there is something to select: what the command line asks for, then what an opened file says.
class StartPlace : public QObject {
  Q_OBJECT

 public:
  explicit StartPlace(WindowModel& model) : m_model(model) {}

  /// Of an opened file, until its result is there.
  const std::optional<viz::Selection>& wanted() const { return m_wanted; }
  void want(const viz::Selection& selection) { m_wanted = selection; }
  /// Nothing is waited for.
  bool taken() const { return m_begun && !m_wanted; }
  void takeSnapshot();

 Q_SIGNALS:
  /// The selection is where it was wanted, which has no history. at_step: its step was wanted, too.
  void reached(bool at_step);

 private:
  WindowModel& m_model;
  std::optional<viz::Selection> m_wanted;
  bool m_begun = false;
};

}  // namespace kvscope
