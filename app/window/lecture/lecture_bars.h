// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include <QWidget>

#include "viz/reduce/lecture.h"

class QPushButton;

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
  /// The left column needs the uncompressed history: where it was not kept, its name gives way to an offer to capture it.
  void offerCapture();
  QPushButton& captureButton() { return *m_capture; }
  QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void captureWanted();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void refresh();
  void paintBar(QPainter& painter, const QRectF& track, double value, const QColor& colour) const;

  int labelWidth() const;
  void paintLabel(QPainter& painter, int y, int width, const viz::PairRow& row) const;
  bool both() const;
  void placeCapture();

  Workspace& m_workspace;
  QPushButton* m_capture;
  bool m_needs_history = false;
  QString m_whole, m_empty;
  Rows m_rows;
  std::vector<viz::PairRow> m_shown;
};

}  // namespace kvscope
