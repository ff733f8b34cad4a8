// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <QString>
#include <QStringView>

class QAction;
class QWidget;

namespace kvscope {

/// "&Open model…" -> "Open model…": as a menu shows it.
QString commandText(QString text);
/// Title of the menu that holds the action; "Window" for actions without one.
QString commandArea(const QAction& action);
/// Keys of an action, "F5, Ctrl+Return"; empty: none.
QString commandKeys(const QAction& action);
/// Everything that the window can be told to do now, by area and text; no menus, no separators, nothing that is disabled.
std::vector<QAction*> commandsOf(QWidget& window);

/// How well the letters of `wanted` are found in `text`, in their order and without regard to case; larger is better, nullopt: not all of
/// them are there. Beginnings of words and runs of letters count most, so that "rl" finds "Reset the Layout" before "foRmuLa".
std::optional<int> fuzzyScore(QStringView wanted, QStringView text);

}  // namespace kvscope
