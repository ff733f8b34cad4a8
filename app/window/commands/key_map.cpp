// SPDX-License-Identifier: Apache-2.0
#include "app/window/commands/key_map.h"

#include <algorithm>

#include <QAction>
#include <QApplication>
#include <QHelpEvent>
#include <QRegularExpression>
#include <QToolTip>
#include <QWidget>

#include "app/window/commands/commands.h"
#include "app/window/session/kept_settings.h"

namespace kvscope {

namespace {

const QString kGroup = "keys/";

QString idOf(const QAction& action) { return commandArea(action) + '/' + commandText(action.text()).remove("…"); }

QString written(const QList<QKeySequence>& keys) { return QKeySequence::listToString(keys, QKeySequence::PortableText); }

bool isFunctionKey(Qt::Key key) { return key >= Qt::Key_F1 && key <= Qt::Key_F35; }

}  // namespace

KeyMap::KeyMap(QWidget& window, KeptSettings* settings) : QObject(&window), m_settings(settings) {
  for (QAction* action : window.findChildren<QAction*>()) {
    if (action->menu() || action->isSeparator() || action->text().isEmpty() || commandArea(*action) == "Window") continue;
    Command command{idOf(*action), action, action->shortcuts()};
    if (std::ranges::any_of(m_commands, [&](const Command& c) { return c.id == command.id; })) continue;
    m_commands.push_back(std::move(command));
  }
  for (const Command& command : m_commands) {
    if (!m_settings || stays(command) || !m_settings->contains(kGroup + command.id)) continue;
    QList<QKeySequence> keys = QKeySequence::listFromString(m_settings->value(kGroup + command.id).toString(), QKeySequence::PortableText);
    keys.removeIf([this](const QKeySequence& key) { return key.isEmpty() || !refusal(key).isEmpty(); });
    take(keys, command.action);
    command.action->setShortcuts(keys);
  }
  qApp->installEventFilter(this);
}

const KeyMap::Command* KeyMap::find(const QAction* action) const {
  const auto it = std::ranges::find_if(m_commands, [&](const Command& c) { return c.action == action; });
  return it == m_commands.end() ? nullptr : &*it;
}

bool KeyMap::changed(const QAction& action) const {
  const Command* command = find(&action);
  return command && action.shortcuts() != command->defaults;
}

int KeyMap::nChanged() const {
  return static_cast<int>(std::ranges::count_if(m_commands, [this](const Command& c) { return c.action && changed(*c.action); }));
}

QAction* KeyMap::holder(const QKeySequence& key) const {
  for (const Command& c : m_commands)
    if (c.action && !key.isEmpty() && c.action->shortcuts().contains(key)) return c.action;
  return nullptr;
}

QString KeyMap::refusal(const QKeySequence& key) const {
  if (key.isEmpty()) return {};
  const QKeyCombination first = key[0];
  if (!isFunctionKey(first.key()) && !(first.keyboardModifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)))
    return QString("%1 alone is for the text and the pictures: add Ctrl or Alt, or take a function key")
        .arg(key.toString(QKeySequence::NativeText));
  // Help and the list of commands can always be found: the line at the bottom of the window names their keys.
  for (const QKeySequence& kept : {QKeySequence(Qt::Key_F1), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_P)})
    if (key == kept) return QString("%1 stays as it is, so that help can always be found").arg(key.toString(QKeySequence::NativeText));
  return {};
}

bool KeyMap::stays(const Command& command) const {
  return std::ranges::any_of(command.defaults, [this](const QKeySequence& key) { return !refusal(key).isEmpty(); });
}

void KeyMap::take(const QList<QKeySequence>& keys, const QAction* owner) {
  for (const Command& c : m_commands) {
    if (!c.action || c.action == owner) continue;
    QList<QKeySequence> left = c.action->shortcuts();
    if (left.removeIf([&](const QKeySequence& key) { return keys.contains(key); }) == 0) continue;
    c.action->setShortcuts(left);
    remember(c);
  }
}

void KeyMap::remember(const Command& command) {
  if (!m_settings) return;
  if (command.action->shortcuts() == command.defaults) {
    m_settings->remove(kGroup + command.id);
  } else {
    m_settings->setValue(kGroup + command.id, written(command.action->shortcuts()));
  }
}

void KeyMap::tellChanged(const QString& what) {
  Q_EMIT keysChanged();
  if (m_settings) m_settings->keepNow(what);
}

void KeyMap::set(QAction& action, const QKeySequence& key) {
  const Command* command = find(&action);
  if (!command || stays(*command) || !refusal(key).isEmpty()) return;
  const QList<QKeySequence> keys = key.isEmpty() ? QList<QKeySequence>() : QList<QKeySequence>{key};
  take(keys, &action);
  action.setShortcuts(keys);
  remember(*command);
  tellChanged(QString("the key of “%1”").arg(commandText(action.text())));
}

void KeyMap::reset(QAction& action) {
  const Command* command = find(&action);
  if (!command) return;
  take(command->defaults, &action);
  action.setShortcuts(command->defaults);
  remember(*command);
  tellChanged(QString("the key of “%1”").arg(commandText(action.text())));
}

void KeyMap::resetAll() {
  for (const Command& c : m_commands) {
    if (!c.action) continue;
    c.action->setShortcuts(c.defaults);
    remember(c);
  }
  tellChanged("that all commands have their own keys again");
}

QString KeyMap::words(QString text) const {
  for (const Command& c : m_commands) {
    if (!c.action || !changed(*c.action)) continue;
    QStringList now;
    for (const QKeySequence& key : c.action->shortcuts()) now << key.toString(QKeySequence::NativeText);
    // "(F5, Ctrl+Enter)" as a whole, so that a command with one key for two does not name the old one.
    for (const QKeySequence& was : c.defaults) {
      const QString key = QRegularExpression::escape(was.toString(QKeySequence::NativeText));
      static const QString other = R"([^(),]+)";
      const QRegularExpression named(QString(R"( ?\((?:%1, )*%2(?:, %1)*\))").arg(other, key));
      text.replace(named, now.isEmpty() ? QString() : " (" + now.join(", ") + ")");
    }
  }
  return text;
}

bool KeyMap::eventFilter(QObject* object, QEvent* event) {
  if (event->type() != QEvent::ToolTip || nChanged() == 0) return false;
  auto* widget = qobject_cast<QWidget*>(object);
  if (!widget || widget->toolTip().isEmpty()) return false;
  const QString words_now = words(widget->toolTip());
  if (words_now == widget->toolTip()) return false;
  QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), words_now, widget, widget->rect(), widget->toolTipDuration());
  return true;
}

}  // namespace kvscope
