// SPDX-License-Identifier: Apache-2.0
#include "app/window/look/theme_mode.h"

#include <utility>

#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QMenu>

#include "app/window/commands/command_table.h"
#include "app/window/look/desktop_scheme.h"
#include "app/window/look/style.h"
#include "app/window/session/window_model.h"

namespace kvscope {

ThemeMode::ThemeMode(WindowModel& model, QWidget& window) : m_model(model) {
  const std::optional<std::string>& asked = model.options.theme;
  set(model.settings && !asked ? model.settings->value("theme", "dark").toString() : QString::fromStdString(asked.value_or("dark")));
  window.setFont({});  // made before, it still has the desktop's
}

ThemeMode::~ThemeMode() = default;

void ThemeMode::dress() {
  m_dressed = true;
  applyTheme(*qApp, m_model.workspace.theme());
}

void ThemeMode::set(const QString& mode) {
  m_mode = mode;
  bool dark = mode == "dark";
  if (mode == "system") {
    if (!m_desktop) {
      m_desktop = std::make_unique<DesktopScheme>();
      connect(m_desktop.get(), &DesktopScheme::changed, this, [this] {
        if (m_mode == "system") set(m_mode);
      });
    }
    dark = m_desktop->dark();
  }
  const viz::Theme& theme = dark ? viz::dark_theme() : viz::light_theme();
  m_dressed ? applyTheme(*qApp, theme) : beginTheme(*qApp, theme);
  m_model.workspace.setTheme(theme);
  if (m_model.settings) m_model.settings->setValue("theme", mode);
}

void ThemeMode::lookAtDesktop() {
  if (m_desktop) m_desktop->lookAgain();
}

void ThemeMode::fillMenu(Commands& commands, QMenu* menu) {
  auto* group = new QActionGroup(&commands.window());
  for (const auto& [text, mode] : {std::pair("&Dark", "dark"), std::pair("&Light", "light"), std::pair("Follow the &system", "system")}) {
    QAction* a = commands.choice(menu, group, {text, {}, [this, mode = mode] { set(mode); }}, m_mode == mode);
    connect(&m_model.workspace, &Workspace::themeChanged, a, [this, a, mode = mode] { a->setChecked(m_mode == mode); });
  }
  commands.add(menu, {"&Other theme", {Qt::CTRL | Qt::Key_T}, [this] { set(m_model.workspace.theme().dark ? "light" : "dark"); }});
}

}  // namespace kvscope
