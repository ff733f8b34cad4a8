// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QString>
#include <QWidget>

#include "snapshot/fates.h"

class QGridLayout;
class QLabel;

namespace kvscope {

class AllocationCurve;
class Workspace;

/// The two bars of the card: how the slots of a head are used, and how many of the tokens seen are still voted for.
class BudgetBars : public QWidget {
  Q_OBJECT

 public:
  explicit BudgetBars(Workspace& workspace, QWidget* parent = nullptr);
  QSize sizeHint() const override;
  /// What one bar or the other is, at a place.
  QString helpAt(const QPoint& at) const;

 protected:
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  struct Part {
    double n;
    Category category;
    QString name;
  };
  std::vector<Part> parts() const;
  void refresh();

  Workspace& m_workspace;
};

/// The policy in a few lines: bars, budget of every head, rules in words, idea.
class PolicyCard : public QWidget {
  Q_OBJECT

 public:
  explicit PolicyCard(Workspace& workspace, QWidget* parent = nullptr);
  AllocationCurve& allocation() { return *m_allocation; }

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void refresh();
  void applyStyle();

  Workspace& m_workspace;
  BudgetBars* m_bars;
  AllocationCurve* m_allocation;
  QGridLayout* m_grid;
  std::vector<std::pair<QLabel*, QLabel*>> m_rows;
  std::vector<bool> m_alert;  // by row
  QLabel* m_idea;
  bool m_styling = false;
};

}  // namespace kvscope
