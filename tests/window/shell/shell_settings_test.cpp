// SPDX-License-Identifier: Apache-2.0
// What the next start is to know, where it cannot be written.
#include <QSettings>
#include <QTemporaryDir>

#include "app/window/panels/policy/policy_panel.h"
#include "app/window/panels/policy/policy_presets.h"
#include "app/window/rows/rows.h"
#include "app/window/session/kept_settings.h"
#include "window/support/file_bytes.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

/// A window of a user whose settings have no folder.
class NotKeptTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write(folder.filePath("no folder"), "");
    QCoreApplication::setOrganizationName("kvscope-tests");
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, folder.filePath("no folder"));
    options.journal = folder.filePath("journal").toStdString();
    options.prompt = "Once upon a time there was a cat.";
    options.generate = 2;
    options.lanes = {"h2o:slots=6"};
  }
  void TearDown() override {
    window.reset();
    QCoreApplication::setOrganizationName({});
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, folder.path());
  }
  void start() {
    window = std::make_unique<MainWindow>(options, startState(options));
    window->show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(window.get()));
    ASSERT_TRUE(waitUntilSettled(*window, 60000 * kPatience));
  }
  static std::string of(const MessageBar& bar) { return bar.isVisible() ? bar.text().toStdString() : "nothing"; }

  QTemporaryDir folder;
  Options options;
  std::unique_ptr<MainWindow> window;
};

TEST_F(NotKeptTest, APresetIsSaidToBeGoneWithTheWindow) {
  start();
  EXPECT_EQ(of(window->messages()), "nothing") << "of what is kept in passing";
  EXPECT_EQ(of(window->notices()), "nothing");
  window->work().policy().presets().keep("mine");
  EXPECT_EQ(of(window->messages()), "The next start will not know the preset «mine»: " +
                                        window->model().settings->fileName().toStdString() + " cannot be written: Not a directory.");
}

TEST_F(NotKeptTest, AMemoryLimitIsSaidToBeOfThisStart) {
  options.memory = 100u << 20;
  start();
  EXPECT_TRUE(of(window->notices()).starts_with("The next start will not know the memory for recorded results: ")) << of(window->notices());
}

}  // namespace
}  // namespace kvscope
