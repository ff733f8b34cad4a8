// SPDX-License-Identifier: Apache-2.0
#include "app/window/look/desktop_scheme.h"

#include <utility>

#include <QApplication>
#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QDBusPendingReply>
#include <QPalette>
#include <QStyle>

namespace kvscope {

namespace {

const char* const kService = "org.freedesktop.portal.Desktop";
const char* const kPath = "/org/freedesktop/portal/desktop";
const char* const kInterface = "org.freedesktop.portal.Settings";
const char* const kGroup = "org.freedesktop.appearance";
const char* const kKey = "color-scheme";
constexpr unsigned kDark = 1, kLight = 2;  // 0: no preference

}  // namespace

DesktopScheme::DesktopScheme(const QDBusConnection& bus, QObject* parent) : QObject(parent) {
  QDBusConnection connection = bus;
  if (connection.isConnected()) {
    qRegisterMetaType<QDBusVariant>();  // connect() looks for the slot's types by name, and finds only those that were named before
    // From any owner of the path, so that a portal that starts later is heard, too.
    if (!connection.connect({}, kPath, kInterface, "SettingChanged", this, SLOT(settingChanged(QString, QString, QDBusVariant))))
      qWarning("changes of the desktop's colour scheme are not heard");
    QDBusMessage ask = QDBusMessage::createMethodCall(kService, kPath, kInterface, "Read");
    ask << QString(kGroup) << QString(kKey);
    auto* watcher = new QDBusPendingCallWatcher(connection.asyncCall(ask), this);
    connect(watcher, &QDBusPendingCallWatcher::finished, this, [this](QDBusPendingCallWatcher* done) {
      const QDBusPendingReply<QDBusVariant> reply = *done;
      if (!reply.isError()) take(reply.value().variant());
      done->deleteLater();
    });
  }
  m_told = dark();
}

void DesktopScheme::settingChanged(const QString& group, const QString& key, const QDBusVariant& value) {
  if (group == kGroup && key == kKey) take(value.variant());
}

void DesktopScheme::take(const QVariant& value) {
  QVariant inner = value;
  while (inner.metaType() == QMetaType::fromType<QDBusVariant>()) inner = inner.value<QDBusVariant>().variant();  // Read wraps it twice
  const uint scheme = inner.toUInt();
  m_portal = scheme == kDark ? std::optional(true) : scheme == kLight ? std::optional(false) : std::nullopt;
  tell();
}

bool DesktopScheme::dark() const {
  if (m_portal) return *m_portal;
  return QApplication::style()->standardPalette().color(QPalette::Window).lightness() < 128;
}

void DesktopScheme::lookAgain() { tell(); }

void DesktopScheme::tell() {
  const bool now = dark();
  if (std::exchange(m_told, now) != now) Q_EMIT changed();
}

}  // namespace kvscope
