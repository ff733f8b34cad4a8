// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <initializer_list>

#include <QKeySequence>
#include <QList>
#include <QObject>
#include <QString>
#include <QStringList>

class QAction;
class QActionGroup;
class QMenu;
class QWidget;

namespace kvscope {

/// One thing that the window can be told to do: a line of its menus, its keys, and from there an entry of the palette and of the key map.
struct Command {
  QString text;  // "&Open model folder…"; behind a tab a key that is no shortcut
  QList<QKeySequence> keys = {};
  std::function<void()> run = {};
  QString help = {};      // more than the text says
  QStringList also = {};  // what else it is called: by its button, by its parts
};

/// Makes commands: every one is an action of the window, in a menu, reachable without a mouse.
class Commands : public QObject {
  Q_OBJECT

 public:
  explicit Commands(QWidget& window);  // owned by it

  QWidget& window() const { return m_window; }
  QAction* add(QMenu* menu, const Command& command);
  /// In this order; one without a text is a line between two.
  void add(QMenu* menu, std::initializer_list<Command> table);
  /// Actions that were made elsewhere work from anywhere in the window, too.
  void adopt(const QList<QAction*>& actions);
  /// One of several: checked by `refresh`, which the caller connects to what changes it.
  QAction* choice(QMenu* menu, QActionGroup* group, const Command& command, bool checked);

 private:
  QWidget& m_window;
};

}  // namespace kvscope
