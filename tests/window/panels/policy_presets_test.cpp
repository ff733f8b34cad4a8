// SPDX-License-Identifier: Apache-2.0
// Settings by name: those that are shipped and those the user keeps.
#include "window/panels/panel_fixture.h"

#include <QFile>
#include <QMenu>
#include <QSignalSpy>
#include <QTemporaryDir>

#include "app/window/panels/policy/policy_form.h"
#include "app/window/panels/policy/policy_presets.h"
#include "app/window/session/kept_settings.h"
#include "core/error.h"
#include "policy/policy.h"
#include "window/support/file_bytes.h"

namespace kvscope {
namespace {

class PresetsTest : public PanelTest {
 protected:
  PresetsTest() : form(workspace, controller), button(controller, form) {
    publish(synthetic::make_snapshot());
    show(form, 300, 400);
  }
  std::string lane(int i) const { return controller.request().lanes[static_cast<std::size_t>(i)].text; }
  PolicyForm form;
  PresetButton button;
  QTemporaryDir folder;
};

TEST_F(PresetsTest, EveryShippedOneIsAPolicyThatRuns) {
  ASSERT_GE(button.shipped().size(), 10);
  ModelConfig config{.n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .head_dim = 8, .dim = 32};
  for (const Preset& preset : button.shipped())
    EXPECT_NO_THROW(Policy::make(
        {.spec = parse_lane_spec(preset.spec.toStdString()), .model = &config, .n_prompt = 100, .mode = PromptMode::prefill, .seed = 0}))
        << preset.spec.toStdString();
}

TEST_F(PresetsTest, EveryShippedComparisonIsOfRunsThatCanBe) {
  const QList<Comparison> all = readComparisons(builtInComparisons());
  ASSERT_GE(all.size(), 3);
  ModelConfig config{.n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .head_dim = 16, .dim = 64};
  for (const Comparison& one : all) {
    EXPECT_GE(one.specs.size(), 2) << one.name.toStdString();
    for (const QString& spec : one.specs)
      EXPECT_NO_THROW(Policy::make({.spec = parse_lane_spec(spec.toStdString()), .model = &config, .n_prompt = 100})) << spec.toStdString();
  }
}

TEST_F(PresetsTest, OneIsTakenByTheSelectedRunOnly) {
  const std::string before = lane(3);
  button.apply("h2o:ratio=0.2");
  EXPECT_EQ(lane(3), "h2o:ratio=0.2");
  viz::Selection reference = workspace.selection();
  reference.lane = 0;
  workspace.setSelection(reference);
  button.apply("h2o:ratio=0.5");
  EXPECT_EQ(lane(0), "full") << "the reference stays what it is";
  EXPECT_NE(before, lane(3));
}

TEST_F(PresetsTest, WhatIsKeptIsThereAtTheNextStart) {
  KeptSettings settings(folder.filePath("s.ini"), QSettings::IniFormat);
  button.setSettings(&settings);
  controller.setLaneSpec(3, "keepkv:slots=24,threshold=0.6@pin=3,step=1");
  button.keep("  my \n own ");
  ASSERT_EQ(button.kept().size(), 1);
  EXPECT_EQ(button.kept()[0], (Preset{"my own", "keepkv:slots=24,threshold=0.6"})) << "without what was done by hand";
  button.keep("");
  controller.setLaneSpec(3, "h2o:slots=24");
  button.keep("my own");
  ASSERT_EQ(button.kept().size(), 1) << "the same name is replaced, an empty one is none";
  PresetButton later(controller, form);
  later.setSettings(&settings);
  EXPECT_EQ(later.kept(), button.kept());
  later.forget("my own");
  PresetButton last(controller, form);
  last.setSettings(&settings);
  EXPECT_TRUE(last.kept().isEmpty());
}

TEST_F(PresetsTest, WhatCannotBeKeptForTheNextStartIsSaidEachTime) {
  write(folder.filePath("no folder"), "");
  const QString path = folder.filePath("no folder/s.ini");
  KeptSettings settings(path, QSettings::IniFormat);
  QSignalSpy said(&settings, &KeptSettings::notKept);
  button.setSettings(&settings);
  button.keep("mine");
  ASSERT_EQ(said.count(), 1);
  EXPECT_EQ(said[0][0].toString(),
            QString("The next start will not know the preset «mine»: %1 cannot be written: Not a directory").arg(path));
  EXPECT_EQ(button.kept().size(), 1) << "until then it is there";
  button.forget("mine");
  EXPECT_EQ(said.count(), 2);
  ASSERT_TRUE(QFile::remove(folder.filePath("no folder")));
  button.keep("mine");
  EXPECT_EQ(said.count(), 2) << "now it can be written";
  QFile written(path);
  ASSERT_TRUE(written.open(QIODevice::ReadOnly)) << "at once, not when the window closes";
  EXPECT_TRUE(written.readAll().contains("mine"));
}

TEST_F(PresetsTest, DamagedSettingsAndFilesAreRefusedInWords) {
  KeptSettings settings(folder.filePath("s.ini"), QSettings::IniFormat);
  settings.beginWriteArray("presets");
  const char* const specs[] = {"h2o:ratio=0.2", "no such policy", "", "keepkv:slots=-3,=,"};
  for (int i = 0; i < 4; ++i) {
    settings.setArrayIndex(i);
    settings.setValue("name", QString::number(i));
    settings.setValue("spec", specs[i]);
  }
  settings.endArray();
  settings.setValue("presets/size", 1000000000);
  button.setSettings(&settings);
  EXPECT_EQ(button.kept(), (QList<Preset>{{"0", "h2o:ratio=0.2"}}));
  const auto refusal = [&](const QByteArray& text) {
    QFile file(folder.filePath("p.txt"));
    EXPECT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(text);
    file.close();
    try {
      readPresets(file.fileName());
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refusal("# a comment\nnothing here\n").find("p.txt:2: expected \"name: specification\""), std::string::npos);
  EXPECT_NE(refusal("a: nobody:slots=3\n").find("p.txt:1: "), std::string::npos);
  EXPECT_NE(refusal(": h2o:slots=3\n"), "");
  EXPECT_EQ(refusal("# none\n"), "");
  EXPECT_THROW(readPresets(folder.filePath("not there")), Error);
}

TEST_F(PresetsTest, TheMenuMarksWhatHoldsAndIsClosedToTheReference) {
  controller.setLaneSpec(3, button.shipped()[2].spec);
  auto* menu = button.findChild<QMenu*>();
  Q_EMIT menu->aboutToShow();
  int checked = 0;
  for (const QAction* action : menu->actions()) checked += action->isChecked() ? 1 : 0;
  EXPECT_EQ(checked, 1);
  viz::Selection reference = workspace.selection();
  reference.lane = 0;
  workspace.setSelection(reference);
  Q_EMIT menu->aboutToShow();
  for (const QAction* action : menu->actions()) EXPECT_TRUE(!action->isEnabled() || action->isSeparator()) << action->text().toStdString();
}

}  // namespace
}  // namespace kvscope
