// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <QObject>
#include <QString>

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
  void want(const viz::Selection& selection) {
    m_wanted = selection;
    m_run_taken = false;
  }
  /// Nothing is waited for.
  bool taken() const { return m_begun && !m_wanted; }
  void takeSnapshot();
  /// What the command line asks for and the first result has not, with what it has; empty: everything is there.
  const QString& notThere() const { return m_not_there; }

 Q_SIGNALS:
  /// The selection is where it was wanted, which has no history. at_step: its step was wanted, too.
  void reached(bool at_step);
  /// notThere() is known now, and is not empty.
  void missed(const QString& not_there);

 private:
  /// With the places of the command line, which go before what a file says.
  viz::Selection asked(viz::Selection at) const;
  void takeRun();

  WindowModel& m_model;
  std::optional<viz::Selection> m_wanted;
  QString m_not_there;
  bool m_begun = false;
  bool m_run_taken = false;  // of what is wanted
  bool m_of_file = false;    // what the opened file says was looked at once
  bool m_compared = false;   // what is asked for with what is there
};

}  // namespace kvscope
