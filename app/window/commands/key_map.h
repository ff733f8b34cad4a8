// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QKeySequence>
#include <QList>
#include <QObject>
#include <QPointer>
#include <QString>

class QAction;
class QWidget;

namespace kvscope {

class KeptSettings;

/// Which keys the commands of a window have: those they are made with, or those the user gave them. Changes hold at once, are written to
/// the settings, and are named in tooltips.
class KeyMap : public QObject {
  Q_OBJECT

 public:
  /// Takes the commands that the window's menus hold now, with their keys as the default. settings: nullptr: nothing is remembered.
  KeyMap(QWidget& window, KeptSettings* settings);

  struct Command {
    QString id;  // "Run/Generate": its menu and its words, without what changes with the state
    QPointer<QAction> action;
    QList<QKeySequence> defaults;
  };
  const std::vector<Command>& commands() const { return m_commands; }
  /// It is a command whose keys may change.
  bool has(const QAction* action) const {
    const Command* command = find(action);
    return command && !stays(*command);
  }
  bool changed(const QAction& action) const;
  int nChanged() const;
  /// The command that the key belongs to now; nullptr: none.
  QAction* holder(const QKeySequence& key) const;
  /// Why no command may have the key, as a sentence; empty: it may.
  QString refusal(const QKeySequence& key) const;
  /// The only key of the command from now on (empty: none); another command that had it loses it. A refused key changes nothing.
  void set(QAction& action, const QKeySequence& key);
  /// Back to the default; a command that has got one of these keys meanwhile loses it.
  void reset(QAction& action);
  void resetAll();
  /// The text with the default keys that are named in it, "(Ctrl+O)", replaced by those that hold.
  QString words(QString text) const;

 Q_SIGNALS:
  void keysChanged();

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;  // tooltips name the keys that hold

 private:
  bool stays(const Command& command) const;  // it has a key by default that no other command may have
  const Command* find(const QAction* action) const;
  void take(const QList<QKeySequence>& keys, const QAction* owner);
  void remember(const Command& command);
  void tellChanged(const QString& what);

  std::vector<Command> m_commands;
  KeptSettings* m_settings;
};

}  // namespace kvscope
