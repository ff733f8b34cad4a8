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
  explicit ThemeMode(WindowModel& model);
  ~ThemeMode() override;
  void fillMenu(Commands& commands, QMenu* menu);
  void lookAtDesktop();  // its theme may have changed

 public Q_SLOTS:
  void set(const QString& mode);  // dark | light | system

 private:
  WindowModel& m_model;
  QString m_mode;
  std::unique_ptr<DesktopScheme> m_desktop;  // once it was followed
};

}  // namespace kvscope
