// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

class QLabel;

namespace kvscope {

class EffectHeadline;
class EffectFooter;
class EffectModel;
class EffectTable;
class SessionController;
class Workspace;

/// Output effect (V7): what the selected lane's cache does to the next-token distribution at the current step, beside the full cache.
class EffectPanel : public QWidget {
  Q_OBJECT

 public:
  EffectPanel(Workspace& workspace, SessionController& controller, QWidget* parent = nullptr);

  /// For the panel's header: "after position 168".
  QString facts() const;
  /// The table as tab-separated text with a header line, exactly as shown.
  QString tsv() const;
  EffectModel& model() { return *m_model; }

 Q_SIGNALS:
  void factsChanged();

 private:
  void refreshRange();

  Workspace& m_workspace;
  EffectModel* m_model;
  EffectHeadline* m_headline;
  QLabel* m_range;  // means over the range of steps that statistics count
  EffectTable* m_table;
  EffectFooter* m_footer;
};

}  // namespace kvscope
