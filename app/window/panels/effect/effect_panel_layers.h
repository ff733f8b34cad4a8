// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QWidget>

namespace kvscope {

class Workspace;

/// How far the residual stream has parted from the full cache's after every layer of this step: one bar a layer, the last as a number.
class EffectLayers : public QWidget {
  Q_OBJECT

 public:
  explicit EffectLayers(Workspace& workspace, QWidget* parent = nullptr);
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  const std::vector<double>* values() const;  // of the shown step; nullptr: not measured
  QString words(int layer) const;

  Workspace& m_workspace;
};

}  // namespace kvscope
