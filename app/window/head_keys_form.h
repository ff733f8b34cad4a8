// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <QWidget>

class QGridLayout;
class QLabel;
class QToolButton;

namespace kvscope {

class ParamEditor;
class SessionController;
class Workspace;

/// The keys of the selected run's policy that may differ from head to head, for the selected head alone; which heads have values of their
/// own; and what the last such change did to the run's mean KL.
class HeadKeysForm : public QWidget {
  Q_OBJECT

 public:
  HeadKeysForm(Workspace& workspace, SessionController& controller, QWidget* parent = nullptr);

  /// nullptr: the policy takes no such key for single heads.
  ParamEditor* field(const std::string& key) const;
  QToolButton& resetButton() { return *m_reset; }
  /// False: the policy takes none, and nothing is shown.
  bool offers() const { return !m_fields.empty(); }
  QString effectWords() const;
  QString overriddenWords() const;

 public Q_SLOTS:
  /// Of the selected head; empty: as the run.
  void set(const QString& key, const QString& value);
  void resetAll();

 private:
  void refresh();
  void rebuildFields(const std::vector<std::string>& keys);
  void refreshEffect();
  void send(const std::string& wanted, const QString& what);
  std::string spec() const;

  Workspace& m_workspace;
  SessionController& m_controller;
  QLabel *m_heading, *m_list, *m_effect;
  QGridLayout* m_grid;
  QToolButton* m_reset;
  std::vector<ParamEditor*> m_fields;
  std::string m_fields_of;  // name and values of the run for which the fields are
  struct Change {
    int lane = -1;
    std::string spec;  // with it
    QString what;
    double before = 0;  // mean KL
  };
  std::optional<Change> m_change;
  bool m_refreshing = false;
};

}  // namespace kvscope
