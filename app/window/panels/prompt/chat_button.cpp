// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/prompt/chat_button.h"

#include <QInputDialog>
#include <QMenu>

#include "app/window/session/chat_prompt.h"

namespace kvscope {

ChatButton::ChatButton(ChatPrompt& chat, QWidget* parent) : QToolButton(parent), m_chat(chat) {
  setObjectName("chip");
  setCheckable(true);
  setPopupMode(QToolButton::MenuButtonPopup);
  setAccessibleName("Chat");
  auto* menu = new QMenu(this);
  menu->addAction("&System's message…", this, &ChatButton::askForSystem);
  m_no_system = menu->addAction("&No system's message", this, [this] { m_chat.setSystem({}); });
  connect(menu, &QMenu::aboutToShow, this, [this] { m_no_system->setEnabled(m_chat.system().has_value()); });
  setMenu(menu);
  connect(this, &QToolButton::clicked, this, [this](bool on) {
    m_chat.setOn(on);
    refresh();  // a template may have refused
  });
  refresh();
}

void ChatButton::refresh() {
  const bool of_no_use = !m_chat.problem().isEmpty();
  setVisible(m_chat.available() || of_no_use || m_chat.on());
  setEnabled(m_chat.available() || m_chat.on());
  setChecked(m_chat.on());
  setText(m_chat.on() ? "Chat: on" : "Chat: off");
  for (QAction* action : menu()->actions()) action->setVisible(m_chat.available());
  setToolTip(of_no_use ? "The model's chat template is of no use: " + m_chat.problem()
             : m_chat.on()
                 ? "The text is what the model sees, as its chat template writes it. Click: your words alone again"
                 : "Writes your text as a message to the model, as its chat template wants; the text then shows all that the model sees");
}

void ChatButton::askForSystem() {
  bool ok = false;
  const QString text = QInputDialog::getMultiLineText(
      this, "System's message", "What the model is told before your message:", m_chat.system().value_or(QString()), &ok);
  if (ok) m_chat.setSystem(text.isEmpty() ? std::nullopt : std::optional(text));
}

}  // namespace kvscope
