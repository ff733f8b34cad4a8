// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QList>
#include <QString>
#include <QStringList>
#include <QToolButton>

class QMenu;

namespace kvscope {

class KeptSettings;
class PolicyForm;
class SessionController;

/// A named specification.
struct Preset {
  QString name, spec;
  bool operator==(const Preset&) const = default;
};

QString builtInPresets();  // path of the list that is shipped
/// "name: specification" a line, # begins a comment. Throws Error: a file that cannot be read, a line without a name or with a
/// specification that cannot be read.
QList<Preset> readPresets(const QString& path);

/// Runs that are worth being seen beside each other.
struct Comparison {
  QString name;
  QStringList specs;
};
QString builtInComparisons();
/// The same with several specifications, "name: specification | specification".
QList<Comparison> readComparisons(const QString& path);

/// Settings by name for the selected run: those that are shipped, and those the user kept.
class PresetButton : public QToolButton {
  Q_OBJECT

 public:
  PresetButton(SessionController& controller, PolicyForm& form, QWidget* parent = nullptr);

  /// nullptr: what is kept is gone with the window.
  void setSettings(KeptSettings* settings);
  const QList<Preset>& kept() const { return m_kept; }
  const QList<Preset>& shipped() const { return m_shipped; }

 public Q_SLOTS:
  /// The selected run gets the settings; of the reference they are not taken.
  void apply(const QString& spec);
  /// The settings of the selected run, without what was done by hand, under a name; another preset of this name is replaced.
  void keep(const QString& name);
  void forget(const QString& name);

 private:
  void fill();
  void ask();
  void write(const QString& what);

  SessionController& m_controller;
  PolicyForm& m_form;
  KeptSettings* m_settings = nullptr;
  QMenu* m_menu;
  QList<Preset> m_shipped, m_kept;
  QString m_problem;  // with the shipped list
};

}  // namespace kvscope
