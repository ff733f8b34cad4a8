// SPDX-License-Identifier: Apache-2.0
// The program as a screen reader meets it: over AT-SPI, from another process, on buses of its own.
#include <gtest/gtest.h>
#include <QDBusArgument>
#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusMetaType>
#include <QDBusObjectPath>
#include <QDBusVariant>
#include <QElapsedTimer>
#include <QFileInfo>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QThread>

namespace kvscope {
namespace {

struct Place {
  QString service, path;
};

/// Asks over a bus; an invalid reply has no arguments.
QVariantList ask(const QDBusConnection& bus, const Place& at, const char* interface, const char* what, const QVariantList& words = {}) {
  QDBusMessage message = QDBusMessage::createMethodCall(at.service, at.path, interface, what);
  message.setArguments(words);
  return bus.call(message, QDBus::Block, 5000).arguments();
}

QString property(const QDBusConnection& bus, const Place& at, const QString& name) {
  const QVariantList reply = ask(bus, at, "org.freedesktop.DBus.Properties", "Get", {"org.a11y.atspi.Accessible", name});
  return reply.isEmpty() ? QString() : reply.front().value<QDBusVariant>().variant().toString();
}

QList<Place> children(const QDBusConnection& bus, const Place& at) {
  const QVariantList reply = ask(bus, at, "org.a11y.atspi.Accessible", "GetChildren");
  QList<Place> out;
  if (reply.isEmpty() || !reply.front().canConvert<QDBusArgument>()) return out;
  const auto list = reply.front().value<QDBusArgument>();
  if (list.currentSignature() != "a(so)") return out;
  list.beginArray();
  while (!list.atEnd()) {
    Place child;
    QDBusObjectPath path;
    list.beginStructure();
    list >> child.service >> path;
    list.endStructure();
    child.path = path.path();
    out << child;
  }
  list.endArray();
  return out;
}

QString roleOf(const QDBusConnection& bus, const Place& at) {
  return ask(bus, at, "org.a11y.atspi.Accessible", "GetRoleName").value(0).toString();
}

/// Depth first; empty path: there is none. `role` empty: any.
Place find(const QDBusConnection& bus, const Place& from, const QString& name, const QString& role, int depth) {
  for (const Place& child : children(bus, from)) {
    if (property(bus, child, "Name") == name && (role.isEmpty() || roleOf(bus, child) == role)) return child;
    if (depth <= 0) continue;
    if (const Place below = find(bus, child, name, role, depth - 1); !below.path.isEmpty()) return below;
  }
  return {};
}

class Started : public QProcess {
 public:
  ~Started() override {
    terminate();
    if (!waitForFinished(5000)) kill();
    waitForFinished(1000);
  }
};

TEST(ScreenReaderTest, FindsTheCanvasOfTheRunningProgramWithItsWords) {
  QString launcher;
  for (const char* folder : {"/usr/libexec/", "/usr/lib/at-spi2-core/", "/usr/lib/at-spi2/"})
    if (launcher.isEmpty() && QFileInfo::exists(QString(folder) + "at-spi-bus-launcher"))
      launcher = QString(folder) + "at-spi-bus-launcher";
  if (launcher.isEmpty() || QStandardPaths::findExecutable("dbus-daemon").isEmpty())
    GTEST_SKIP() << "needs dbus-daemon and at-spi-bus-launcher";

  const QTemporaryDir home;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  for (const char* name : {"HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_DATA_HOME"})
    environment.insert(name, home.path());
  environment.remove("AT_SPI_BUS_ADDRESS");
  Started session;
  session.start("dbus-daemon", {"--session", "--nofork", "--print-address"});
  ASSERT_TRUE(session.waitForStarted() && session.waitForReadyRead());
  const QString address = QString::fromUtf8(session.readLine()).trimmed();
  environment.insert("DBUS_SESSION_BUS_ADDRESS", address);
  environment.insert("QT_LINUX_ACCESSIBILITY_ALWAYS_ON", "1");
  Started bus_launcher, program;
  for (Started* p : {&bus_launcher, &program}) p->setProcessEnvironment(environment);
  bus_launcher.start(launcher, {"--launch-immediately"});
  ASSERT_TRUE(bus_launcher.waitForStarted());

  QString reader_address;
  const QDBusConnection ours = QDBusConnection::connectToBus(address, "reader-session");
  QElapsedTimer timer;
  for (timer.start(); reader_address.isEmpty() && timer.elapsed() < 20000; QThread::msleep(100)) {
    const QVariantList reply = ask(ours, {"org.a11y.Bus", "/org/a11y/bus"}, "org.a11y.Bus", "GetAddress");
    if (!reply.isEmpty()) reader_address = reply.front().toString();
    if (!reader_address.startsWith("unix:")) reader_address.clear();
  }
  if (reader_address.isEmpty()) GTEST_SKIP() << "the accessibility bus does not start here";
  program.start(KVSCOPE_PROGRAM,
                {"--prompt", "Once upon a time there was a cat.", "--generate", "2", "--lane", "h2o:ratio=0.5", "--select", "L1.H1"});
  ASSERT_TRUE(program.waitForStarted());

  const QDBusConnection reader = QDBusConnection::connectToBus(reader_address, "reader");
  ASSERT_TRUE(reader.isConnected());
  Place application, canvas;
  for (timer.restart(); canvas.path.isEmpty() && timer.elapsed() < 40000; QThread::msleep(300)) {
    if (application.path.isEmpty())
      application = find(reader, {"org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root"}, "kvscope", "", 0);
    if (!application.path.isEmpty()) canvas = find(reader, application, "Head grid", "canvas", 12);
  }
  ASSERT_FALSE(application.path.isEmpty()) << "the program is not on the bus of screen readers";
  ASSERT_FALSE(canvas.path.isEmpty()) << "no head grid among what it shows";
  QString words;
  for (timer.restart(); !words.contains("L1") && timer.elapsed() < 20000; QThread::msleep(200))
    words = property(reader, canvas, "Description");
  EXPECT_TRUE(words.contains("L1 · H1")) << words.toStdString();
  EXPECT_NE(program.state(), QProcess::NotRunning);
  QDBusConnection::disconnectFromBus("reader");
  QDBusConnection::disconnectFromBus("reader-session");
}

}  // namespace
}  // namespace kvscope
