// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include <QObject>
#include <QString>

#include "snapshot/snapshot.h"

namespace kvscope {

/// Milliseconds of the newest so many occurrences.
class Durations {
 public:
  void add(double ms);
  void clear() { m_ms.clear(), m_next = 0; }
  std::size_t n() const { return m_ms.size(); }
  double newest() const;
  /// q in [0, 1]; the value that a share q of the occurrences does not exceed. Without occurrences: not available.
  double quantile(double q) const;
  const std::vector<double>& values() const { return m_ms; }

 private:
  static constexpr std::size_t kMost = 4096;
  std::vector<double> m_ms;
  std::size_t m_next = 0;
};

/// How long the window takes, from time stamps at each stage on the way from an input to its picture. UI thread only; the engine's stamps
/// come with the snapshot.
class Latency : public QObject {
  Q_OBJECT

 public:
  using Clock = std::chrono::steady_clock;
  enum class Stage {
    command,    // input to command: the pause while typing, coalescing of a slider
    waiting,    // command to the engine's start on it
    engine,     // start to the first snapshot that answers
    hand_over,  // published to taken by the window
    paint,      // taken to painted and flushed
    published,  // input to published
    view,       // input to painted and flushed: the first view
    submit,     // one frame: CPU time of its canvases up to the last OpenGL call
    frame,      // one frame: its first canvas to the end of the window's update
    event       // one event of the UI thread, where it took more than a millisecond
  };
  static constexpr int kStages = 10;
  static const char* nameOf(Stage stage);

  explicit Latency(Clock::time_point program_start = Clock::now(), QObject* parent = nullptr);
  ~Latency() override;

  const Durations& of(Stage stage) const { return m_stages[static_cast<std::size_t>(stage)]; }
  void clear();
  /// Start of the program to the first frame with a result in it; nullopt: not yet.
  std::optional<double> openMs() const { return m_open_ms; }
  quint64 frames() const { return m_frames; }
  /// A frame has begun and is not flushed yet.
  bool inFrame() const { return m_frame_begun; }
  /// The longest event of the UI thread since clear(), in words; empty: none was longer than a millisecond.
  const QString& longestEvent() const { return m_longest_event; }
  /// Generation whose first view was painted last; 0: none.
  quint64 viewed() const { return m_viewed; }

 public Q_SLOTS:
  void requestChanged();               // an input changed what is wanted
  void submitted(quint64 generation);  // and is now with the engine
  void snapshotTaken(const kvscope::Snapshot& snapshot);
  /// One canvas was painted. Canvases of one window update are one frame.
  void canvasPainted(std::chrono::steady_clock::time_point begin, double submitMs);
  void eventDone(double ms, const char* receiver, int type);

 Q_SIGNALS:
  void recorded();  // after each frame

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;  // of the application: when the last input came

 private:
  struct Edit {
    quint64 generation = 0;
    Clock::time_point input, command, taken;
    std::int64_t started_us = 0, published_us = 0;
    bool answered = false;
  };
  void frameDone();
  void add(Stage stage, double ms) { m_stages[static_cast<std::size_t>(stage)].add(ms); }

  std::array<Durations, kStages> m_stages;
  Clock::time_point m_program_start, m_last_input, m_changed, m_frame_begin;
  std::optional<Edit> m_edit;
  std::optional<double> m_open_ms;
  bool m_change_pending = false, m_frame_begun = false, m_has_result = false;
  double m_submit_ms = 0, m_longest_ms = 0;
  QString m_longest_event;
  quint64 m_frames = 0, m_viewed = 0;
};

}  // namespace kvscope
