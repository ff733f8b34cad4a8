// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <QDBusConnection>
#include <QDBusVariant>
#include <QObject>

namespace kvscope {

/// Whether the desktop wants dark programs: what the freedesktop portal says (org.freedesktop.appearance, color-scheme), where there is one
/// and it has a preference, else how dark the palette of the platform is.
class DesktopScheme : public QObject {
  Q_OBJECT

 public:
  explicit DesktopScheme(const QDBusConnection& bus = QDBusConnection::sessionBus(), QObject* parent = nullptr);

  bool dark() const;
  /// The palette of the platform may be another one now.
  void lookAgain();

 Q_SIGNALS:
  void changed();

 private Q_SLOTS:
  void settingChanged(const QString& group, const QString& key, const QDBusVariant& value);

 private:
  void take(const QVariant& value);
  void tell();

  std::optional<bool> m_portal;  // nullopt: there is none, or it has no preference
  bool m_told = false;
};

}  // namespace kvscope
