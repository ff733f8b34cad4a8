// SPDX-License-Identifier: Apache-2.0
// The theme follows the desktop where that was chosen, and only there.
#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusVirtualObject>
#include <QProcess>
#include <QProxyStyle>
#include <QSignalSpy>
#include <QStandardPaths>

#include "app/window/look/desktop_scheme.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

/// A desktop whose palette a test turns over.
class DesktopStyle : public QProxyStyle {
 public:
  QPalette standardPalette() const override {
    QPalette palette = QProxyStyle::standardPalette();
    palette.setColor(QPalette::Window, dark ? Qt::black : Qt::white);
    return palette;
  }
  static inline bool dark = false;
};

class ThemeTest : public WindowTest {
 protected:
  void SetUp() override {
    WindowTest::SetUp();
    DesktopStyle::dark = false;
    QApplication::setStyle(new DesktopStyle);
  }
  void TearDown() override {
    window.reset();
    qApp->setProperty("kvscopeStyle", false);  // the next window sets its own style again
  }
  void turnDesktop(bool dark) {
    DesktopStyle::dark = dark;
    QEvent changed(QEvent::ThemeChange);
    QApplication::sendEvent(window->windowHandle(), &changed);  // what the platform sends
    QApplication::processEvents();
  }
  bool isDark() const { return &window->workspace().theme() == &viz::dark_theme(); }
};

TEST_F(ThemeTest, FollowsTheDesktopEachTimeItChanges) {
  window->theme().set("system");
  EXPECT_FALSE(isDark());
  const QRgb light = window->grab().toImage().pixel(2, 2);
  turnDesktop(true);
  EXPECT_TRUE(isDark());
  ASSERT_TRUE(settle());
  EXPECT_LT(qGray(window->grab().toImage().pixel(2, 2)), qGray(light)) << "and it is on screen";
  EXPECT_LT(QApplication::palette().color(QPalette::Window).lightness(), 128);
  turnDesktop(false);
  EXPECT_FALSE(isDark());
}

TEST_F(ThemeTest, AChoiceOfOnesOwnIsNotOverridden) {
  window->theme().set("system");
  turnDesktop(true);
  ASSERT_TRUE(isDark());
  window->theme().set("light");
  turnDesktop(false);
  turnDesktop(true);
  EXPECT_FALSE(isDark());
  window->theme().set("dark");
  turnDesktop(false);
  EXPECT_TRUE(isDark());
  window->theme().set("system");
  EXPECT_FALSE(isDark()) << "what the desktop has become meanwhile";
}

/// The portal of a desktop, on a bus of its own.
class Portal : public QDBusVirtualObject {
 public:
  explicit Portal(QDBusConnection where) : bus(std::move(where)) {}
  QString introspect(const QString&) const override { return {}; }
  bool handleMessage(const QDBusMessage& message, const QDBusConnection& connection) override {
    if (message.member() != "Read" || message.arguments().size() != 2) return false;
    asked = message.arguments()[0].toString() + ' ' + message.arguments()[1].toString();
    return connection.send(message.createReply(QVariant::fromValue(QDBusVariant(QVariant::fromValue(QDBusVariant(scheme))))));
  }
  void set(const QString& key, uint value) {
    QDBusMessage signal =
        QDBusMessage::createSignal("/org/freedesktop/portal/desktop", "org.freedesktop.portal.Settings", "SettingChanged");
    signal << QString("org.freedesktop.appearance") << key << QVariant::fromValue(QDBusVariant(value));
    bus.send(signal);
  }

  QDBusConnection bus;
  uint scheme = 1;
  QString asked;
};

TEST(DesktopSchemeTest, HearsThePortal) {
  if (QStandardPaths::findExecutable("dbus-daemon").isEmpty()) GTEST_SKIP() << "no dbus-daemon";
  QProcess daemon;
  daemon.start("dbus-daemon", {"--session", "--nofork", "--print-address"});
  ASSERT_TRUE(daemon.waitForStarted() && daemon.waitForReadyRead());
  const QString address = QString::fromUtf8(daemon.readLine()).trimmed();
  {
    QDBusConnection theirs = QDBusConnection::connectToBus(address, "desktop");
    QDBusConnection ours = QDBusConnection::connectToBus(address, "window");
    ASSERT_TRUE(theirs.isConnected() && ours.isConnected());
    Portal portal(theirs);
    ASSERT_TRUE(theirs.registerVirtualObject("/org/freedesktop/portal/desktop", &portal));
    ASSERT_TRUE(theirs.registerService("org.freedesktop.portal.Desktop"));
    const bool by_palette = DesktopScheme(QDBusConnection("nowhere")).dark();
    portal.scheme = by_palette ? 2 : 1;

    DesktopScheme scheme(ours);
    QSignalSpy changed(&scheme, &DesktopScheme::changed);
    EXPECT_EQ(scheme.dark(), by_palette) << "before it has answered";
    ASSERT_TRUE(changed.wait(5000));
    EXPECT_EQ(portal.asked, "org.freedesktop.appearance color-scheme");
    EXPECT_EQ(scheme.dark(), !by_palette);
    // The user changes it; another setting is none of ours.
    portal.set("contrast", by_palette ? 1 : 2);
    portal.set("color-scheme", by_palette ? 1 : 2);
    ASSERT_TRUE(changed.wait(5000));
    EXPECT_EQ(scheme.dark(), by_palette);
    EXPECT_EQ(changed.size(), 2);
  }
  QDBusConnection::disconnectFromBus("desktop");
  QDBusConnection::disconnectFromBus("window");
  daemon.kill();
  daemon.waitForFinished();
}

}  // namespace
}  // namespace kvscope
