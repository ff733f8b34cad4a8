// SPDX-License-Identifier: Apache-2.0
#include "app/window/commands/command_table.h"

#include <QAction>
#include <QActionGroup>
#include <QMenu>

#include "app/window/commands/commands.h"

namespace kvscope {

Commands::Commands(QWidget& window) : QObject(&window), m_window(window) {}

QAction* Commands::add(QMenu* menu, const Command& command) {
  auto* action = new QAction(command.text, &m_window);
  action->setShortcuts(command.keys);
  action->setShortcutContext(Qt::WindowShortcut);
  if (!command.help.isEmpty()) action->setToolTip(command.help);
  if (!command.also.isEmpty()) setAlsoCalled(*action, command.also);
  connect(action, &QAction::triggered, this, [run = command.run] { run(); });
  menu->addAction(action);
  m_window.addAction(action);
  return action;
}

void Commands::add(QMenu* menu, std::initializer_list<Command> table) {
  for (const Command& command : table)
    command.text.isEmpty() ? static_cast<void>(menu->addSeparator()) : static_cast<void>(add(menu, command));
}

void Commands::adopt(const QList<QAction*>& actions) { m_window.addActions(actions); }

QAction* Commands::choice(QMenu* menu, QActionGroup* group, const Command& command, bool checked) {
  QAction* action = add(menu, command);
  action->setCheckable(true);
  action->setChecked(checked);
  group->addAction(action);
  return action;
}

}  // namespace kvscope
