// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <QStringList>

#include "app/window/diagnostics/bench_ui.h"
#include "app/window/diagnostics/latency.h"

namespace kvscope {

class CanvasWidget;

/// Figures of an action by name, in the order in which they are printed.
using BenchFigures = std::vector<std::pair<QString, Durations>>;

/// Plays the inputs of a script on a window: events go to the widgets as from a user, and each waits until all is painted.
class BenchPlayer {
 public:
  explicit BenchPlayer(MainWindow& window);
  /// Shows the window and waits for the first complete result; false: there is none.
  bool start(const QString& prompt);
  BenchFigures play(const BenchAction& action);
  /// Events of the UI thread so far that took more than a millisecond.
  const Durations& stalls() const { return m_stalls; }
  /// The longest events, each with the action that it belongs to.
  const QStringList& longest() const { return m_longest; }
  double mostResidentBytes() const { return m_most_resident; }

 private:
  friend std::vector<QString> benchActions();
  using Once = std::function<void(int i)>;
  struct Kind {
    const char* name;
    BenchFigures (BenchPlayer::*play)(const BenchAction&);
  };
  static const std::vector<Kind>& kinds();

  BenchFigures edit(const BenchAction& action);
  BenchFigures budget(const BenchAction& action);
  BenchFigures scrub(const BenchAction& action);
  BenchFigures pan(const BenchAction& action);
  BenchFigures zoom(const BenchAction& action);
  BenchFigures hover(const BenchAction& action);
  BenchFigures cancel(const BenchAction& action);
  BenchFigures page(const BenchAction& action);
  BenchFigures theme(const BenchAction& action);

  /// Plays `once` warm_up + times times and takes what the latter add to the stages; each waits until the picture rests.
  BenchFigures frames(const BenchAction& action, const Once& once);
  BenchFigures answers(const BenchAction& action, const Once& once);
  bool waitFor(const std::function<bool()>& done, int timeout_ms);
  bool settled() const;
  void rest();
  CanvasWidget* target(const BenchAction& action) const;
  void remember();
  /// The CPU time of each visible canvas in its last frame.
  void addCanvases(std::map<QString, Durations>& canvases) const;

  MainWindow& m_window;
  Durations m_stalls;
  double m_most_resident = 0;
  QString m_playing = "start";
  QStringList m_longest;
};

}  // namespace kvscope
