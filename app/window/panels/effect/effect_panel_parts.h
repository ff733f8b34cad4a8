// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QTableView>
#include <QWidget>

namespace kvscope {

struct StepRecord;

class EffectModel;
class Workspace;

/// The one number of the panel: KL of this step, and which first choice became which.
class EffectHeadline : public QWidget {
  Q_OBJECT

 public:
  explicit EffectHeadline(Workspace& workspace, QWidget* parent = nullptr);
  QSize sizeHint() const override;
  /// What stands there while no next token is known.
  QString emptyText() const;
  QString spoken(const StepRecord& step) const;
  bool compared() const;  // not where the run reads another text by now
  QString choiceWords(const StepRecord& step) const;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Workspace& m_workspace;
};

/// The candidates with a pair of bars under each row: the reference's probability above the lane's, both of the full width at p = 1.
class EffectTable : public QTableView {
  Q_OBJECT

 public:
  EffectTable(Workspace& workspace, EffectModel& model, QWidget* parent = nullptr);
  /// The selected rows, or all, with a header line.

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void applyType();
  void fitColumns();
  void paintBars(QPainter& painter, int row, const QRect& area) const;

  Workspace& m_workspace;
  EffectModel& m_model;
};

/// Legend of the bars, the surprise at the token that followed, and what the ranks mean.
class EffectFooter : public QWidget {
  Q_OBJECT

 public:
  explicit EffectFooter(Workspace& workspace, QWidget* parent = nullptr);
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Workspace& m_workspace;
};

}  // namespace kvscope
