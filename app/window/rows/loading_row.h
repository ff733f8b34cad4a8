// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include <QFrame>
#include <QTimer>

#include "snapshot/load_stage.h"

class QLabel;
class QProgressBar;
class QPushButton;

namespace kvscope {

class SessionController;
class Workspace;

/// Bytes and seconds of a stage: "312 of 981 MiB, about 2 s left", "0.4 s"; empty before it begins.
QString stageWords(const LoadStage& stage);

/// How far the opening of a model is, stage by stage, with a button that ends it. The window stays usable. Small models are open before it
/// shows.
class LoadingRow : public QFrame {
  Q_OBJECT

 public:
  static constexpr int kStages = 4, kShowAfterMs = 200, kLongStageMs = 10000;

  LoadingRow(Workspace& workspace, SessionController& controller, QWidget* parent = nullptr);
  QPushButton* cancelButton() const { return m_cancel; }
  QString stageText(int stage) const;  // "map weights 312 of 981 MiB"

 Q_SIGNALS:
  /// A stage takes longer than people wait; once per stage.
  void slow(const QString& sentence);

 private:
  void refresh();

  Workspace& m_workspace;
  SessionController& m_controller;
  QLabel* m_title;
  std::array<QLabel*, kStages> m_stages{};
  QProgressBar* m_bar;
  QPushButton* m_cancel;
  QTimer m_show_after;
  int m_slow_said = -1;
};

}  // namespace kvscope
