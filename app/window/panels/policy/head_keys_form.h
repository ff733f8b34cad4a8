// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <QWidget>

class QGridLayout;
class QLabel;
class QToolButton;

namespace kvscope {

class ParamEditor;
class SessionController;
struct LaneSpec;
class Workspace;

/// The keys of the selected run's policy that may differ from head to head, for the selected head alone, and which heads have values of
/// their own.
class HeadKeysForm : public QWidget {
  Q_OBJECT

 public:
  HeadKeysForm(Workspace& workspace, SessionController& controller, QWidget* parent = nullptr);

  /// nullptr: the policy takes no such key for single heads.
  ParamEditor* field(const std::string& key) const;
  QToolButton& resetButton() { return *m_reset; }
  /// False: the policy takes none, and nothing is shown.
  bool offers() const { return !m_fields.empty(); }
  QString overriddenWords() const;

 public Q_SLOTS:
  /// Of the selected head; empty: as the run.
  void set(const QString& key, const QString& value);
  void resetAll();

 private:
  void refresh();
  void rebuildFields(const std::vector<std::string>& keys);
  void send(const LaneSpec& wanted);
  /// Empty: no run that could have such keys.
  const LaneSpec& spec() const;

  Workspace& m_workspace;
  SessionController& m_controller;
  QLabel *m_heading, *m_list;
  QGridLayout* m_grid;
  QToolButton* m_reset;
  std::vector<ParamEditor*> m_fields;
  std::string m_fields_of;  // name and values of the run for which the fields are
  bool m_refreshing = false;
};

}  // namespace kvscope
