// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <QString>
#include <QStringList>
#include <QStringView>

class QAction;
class QWidget;

namespace kvscope {

/// "&Open model…" -> "Open model…": as a menu shows it.
QString commandText(QString text);
/// Of a name the words of a button, an entry or a tab, where a single & marks a key.
QString asLabel(QString name);
/// Title of the menu that holds the action; "Window" for actions without one.
QString commandArea(const QAction& action);
/// Keys of an action, "F5, Ctrl+Return"; empty: none.
QString commandKeys(const QAction& action);
/// What else an action is called: the words of its button, the names of a lesson's scenes.
QStringList alsoCalled(const QAction& action);
void setAlsoCalled(QAction& action, const QStringList& names);
/// Everything that the window can be told to do now, by area and text; no menus, no separators, nothing that is disabled.
std::vector<QAction*> commandsOf(QWidget& window);

/// How well the letters of `wanted` are found in `text`, in their order and without regard to case; larger is better, nullopt: not all of
/// them are there. Beginnings of words and runs of letters count most, so that "rl" finds "Reset the Layout" before "foRmuLa".
std::optional<int> fuzzyScore(QStringView wanted, QStringView text);

/// How well the words of `wanted` are found as words of `text`, in any order: 3, all of them are words of it; 2, each is one or begins one;
/// 1, the text has what was typed, inside of words; 0, it does not.
int wordRank(const QString& wanted, const QString& text);

}  // namespace kvscope
