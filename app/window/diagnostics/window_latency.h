// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <QObject>

#include "app/window/diagnostics/latency.h"
#include "app/window/diagnostics/synthetic_source.h"

namespace kvscope {

class Canvases;
class LatencyHud;
class WindowRows;
struct WindowModel;

/// How long the window takes, over the window (F12), and the made-up runs that it can be measured with.
class WindowLatency : public QObject {
  Q_OBJECT

 public:
  WindowLatency(WindowModel& model, WindowRows& rows, Canvases& canvases);
  ~WindowLatency() override;

  Latency& latency() { return m_latency; }
  LatencyHud& hud() { return *m_hud; }
  void toggleHud();
  /// Made-up runs, where the options ask for them; nullptr: a model runs.
  SyntheticSource* synthetic() const { return m_synthetic.get(); }
  void startSynthetic();
  void stopSynthetic() { m_synthetic.reset(); }

 private:
  WindowModel& m_model;
  WindowRows& m_rows;
  Latency m_latency;
  LatencyHud* m_hud;
  std::unique_ptr<SyntheticSource> m_synthetic;
};

}  // namespace kvscope
