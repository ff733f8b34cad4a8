// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPointer>
#include <QWidget>

class QScrollArea;
class QToolButton;

namespace kvscope {

class PolicyCard;
class HeadEffect;
class HeadKeysForm;
class PolicyForm;
class PresetButton;
class SessionController;
class Workspace;

/// Policy & budget (V11): the card of the selected lane's policy (budget, votes, its rules in words) and, behind a disclosure, the form
/// that changes it. Everything is read from the catalog and from the lane's snapshot.
class PolicyPanel : public QWidget {
  Q_OBJECT

 public:
  PolicyPanel(Workspace& workspace, SessionController& controller, QWidget* parent = nullptr);

  /// For the panel's header: the policy's title.
  QString facts() const;
  PolicyForm& form() { return *m_form; }
  HeadKeysForm& headKeys() { return *m_head_keys; }
  PolicyCard& card() { return *m_card; }
  PresetButton& presets() { return *m_presets; }
  bool parametersShown() const;

 public Q_SLOTS:
  void setParametersShown(bool shown);
  /// In sight and with the keyboard, as soon as the form is that of this run.
  void focusField(const QString& run, const QString& key);

 Q_SIGNALS:
  void factsChanged();

 private:
  void focusWanted();

  Workspace& m_workspace;
  QString m_wanted_run, m_wanted_key;  // of focusField(); empty: none
  QPointer<QWidget> m_led_to;          // by it
  QScrollArea* m_scroll;
  PolicyCard* m_card;
  QToolButton* m_disclosure;
  QWidget* m_parameters;  // both forms
  PolicyForm* m_form;
  HeadKeysForm* m_head_keys;
  HeadEffect* m_effect;
  PresetButton* m_presets;
};

}  // namespace kvscope
