// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include <QWidget>

#include "viz/reduce_lecture.h"

namespace kvscope {

class Workspace;

/// Pairs of bars, one token a row: the share with everything in place, and the share in the selected run.
class LectureBars : public QWidget {
  Q_OBJECT

 public:
  /// `rows` computes at most as many rows as it is asked for; `empty`: what is said without any; `whole`: the left column's name.
  using Rows = std::function<std::vector<viz::PairRow>(const Workspace&, int)>;
  LectureBars(Workspace& workspace, const QString& name, const QString& whole, const QString& empty, Rows rows, QWidget* parent = nullptr);

  const std::vector<viz::PairRow>& shown() const { return m_shown; }
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void refresh();
  void paintBar(QPainter& painter, const QRectF& track, double value, const QColor& colour) const;

  Workspace& m_workspace;
  QString m_whole, m_empty;
  Rows m_rows;
  std::vector<viz::PairRow> m_shown;
};

}  // namespace kvscope
