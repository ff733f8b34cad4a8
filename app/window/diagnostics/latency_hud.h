// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

namespace kvscope {

class Latency;
class Workspace;

/// Over the window (F12): how long each stage took, as quantiles and as a histogram over powers of two of a millisecond.
class LatencyHud : public QWidget {
  Q_OBJECT

 public:
  LatencyHud(const Latency& latency, const Workspace& workspace, QWidget* parent);
  /// "input to view   12   41.2   80.3   95.0   95.0": as drawn, for tests and reports.
  QStringList lines() const;
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const Latency& m_latency;
  const Workspace& m_workspace;
};

}  // namespace kvscope
