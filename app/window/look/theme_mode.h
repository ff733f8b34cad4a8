// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <QObject>
#include <QString>

class QMenu;

namespace kvscope {

class Commands;
class DesktopScheme;
struct WindowModel;

/// Which theme the program wears: dark, light, or as the desktop, also when that changes.
class ThemeMode : public QObject {
  Q_OBJECT

 public:
  /// Palette and fonts alone: for while the window is put together.
  ThemeMode(WindowModel& model, QWidget& window);
  ~ThemeMode() override;
  /// All of the theme, from now on.
  void dress();
  void fillMenu(Commands& commands, QMenu* menu);
  void lookAtDesktop();  // its theme may have changed

 public Q_SLOTS:
  void set(const QString& mode);  // dark | light | system

 private:
  WindowModel& m_model;
  QString m_mode;
  bool m_dressed = false;
  std::unique_ptr<DesktopScheme> m_desktop;  // once it was followed
};

}  // namespace kvscope
