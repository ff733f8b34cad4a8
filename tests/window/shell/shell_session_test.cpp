// SPDX-License-Identifier: Apache-2.0
// Sessions: the file, the journal, recent files, and all of them through the window.
#include "app/window/session/session_file.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>

#include <sys/resource.h>

#include <gmock/gmock.h>
#include <QComboBox>
#include <QDir>
#include <QDropEvent>
#include <QFile>
#include <QFileInfo>
#include <QMenu>
#include <QMessageBox>
#include <QMimeData>
#include <QProcess>
#include <QPushButton>
#include <QSettings>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QToolButton>

#include "app/window/files/recent_files.h"
#include "app/window/help/welcome_page.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/panels/runs/bookmark_panel.h"
#include "app/window/panels/runs/run_grid.h"
#include "app/window/panels/runs/sweep_panel.h"
#include "app/window/rows/passing_words.h"
#include "app/window/rows/rows.h"
#include "app/window/session/session_journal.h"
#include "app/window/shell/end_from_outside.h"
#include "core/error.h"
#include "core/most_runs.h"
#include "io/files.h"
#include "paths.h"
#include "policy/catalog.h"
#include "window/support/file_bytes.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

const QString kVersion1 = QString::fromStdString(in_checkout("tests/window/sessions/version-1.kvscope"));

std::string refusal(const QByteArray& json) {
  try {
    parseSession(json, "s.kvscope");
    return "accepted";
  } catch (const Error& error) {
    return error.what();
  }
}

QByteArray with(const char* from, const char* to) {
  QByteArray json = bytesOf(kVersion1);
  EXPECT_TRUE(json.contains(from)) << from;
  return json.replace(from, to);
}

TEST(SessionFileTest, AFileOfVersionOneOpensForEver) {
  const ReadSession read = readSession(kVersion1);
  EXPECT_TRUE(read.notes.isEmpty()) << read.notes.join("; ").toStdString();
  const SavedSession& s = read.session;
  EXPECT_EQ(s.model, "");
  EXPECT_EQ(s.request.lanes, parse_lane_specs({"full", "streaming:slots=12", "keepkv:ratio=0.5"}));
  EXPECT_EQ(s.request.mode, PromptMode::stream);
  EXPECT_EQ(s.request.follow, Follow::self);
  EXPECT_EQ(s.request.n_generate, 3);
  EXPECT_EQ(s.request.temperature, 0.5);
  EXPECT_EQ(s.request.seed, 18446744073709551615ull) << "no digit is lost";
  EXPECT_EQ(s.selection.lane, 2);
  EXPECT_EQ(s.selection.kv_head, 3);
  EXPECT_EQ(s.selection.tokens, (viz::TokenRange{4, 6}));
  EXPECT_EQ(s.selection.step, 5);
  EXPECT_EQ(s.selection.steps, (viz::StepRange{2, 9}));
  EXPECT_EQ(s.page, "compare");
  ASSERT_EQ(s.bookmarks.size(), 1u);
  EXPECT_EQ(s.bookmarks[0].note, "here it goes wrong, „Moon“ 🌙");
  EXPECT_EQ(s.bookmarks[0].selection.step, 7);
}

TEST(SessionFileTest, WhatIsWrittenIsReadBack) {
  SavedSession s = readSession(kVersion1).session;
  s.model = "/models/ein Modell";
  s.request.prompt = "line\n\ttab \"quote\" 猫 🙂 \xE2\x80\x8B.";
  s.request.prompt_ids = {1, 5, 2047};
  s.request.follow = Follow::file;
  s.request.follow_ids = {3, 4};
  s.request.history = false;
  s.request.measures.hidden = true;
  SweepFigures figures;
  figures.mean_kl = 0.12345678901234567;
  s.sweep = {"abc", "8 %, 13", "0", "KV bytes", "slots held", {{"h2o:slots=13", 0, figures, {}}, {"h2o:slots=14", 0, {}, {}}}};
  s.views = {{"compare", "sort", "mean KL"}, {"atlas", "colour", "score, max"}};
  s.store = "/tmp/some store";
  const QByteArray once = sessionJson(s);
  const ReadSession back = parseSession(once, "s.kvscope");
  EXPECT_TRUE(back.notes.isEmpty());
  EXPECT_EQ(sessionJson(back.session), once);
  EXPECT_EQ(back.session.request.prompt, s.request.prompt);
  EXPECT_EQ(back.session.bookmarks, s.bookmarks);
  EXPECT_EQ(back.session.request.measures, s.request.measures);
  ASSERT_EQ(back.session.sweep.points.size(), 2u);
  EXPECT_EQ(back.session.sweep.points[1].spec, "h2o:slots=14");
  EXPECT_FALSE(back.session.sweep.points[1].figures) << "chosen, not measured";
  EXPECT_EQ(back.session.sweep.points[0].figures->mean_kl, figures.mean_kl) << "every digit";
  EXPECT_TRUE(std::isnan(back.session.sweep.points[0].figures->top1)) << "not available is no zero";
  EXPECT_EQ(back.session.views, s.views);
  const std::vector<ViewChoice> sorted{{"compare", "sort", "mean KL"}};
  EXPECT_EQ(parseSession(with("\"version\": 1", "\"version\": 1, \"sort\": \"mean KL\""), "s").session.views, sorted)
      << "as it was written first";
  EXPECT_EQ(back.session.store, "/tmp/some store");
}

TEST(SessionFileTest, OfANewerVersionWhatIsKnownIsOpenedAndTheRestIsNamed) {
  QByteArray json = with("\"version\": 1", "\"version\": 7, \"colour_of_the_sky\": {\"blue\": 1}");
  json.replace("keepkv:ratio=0.5", "policy_of_tomorrow:ratio=0.5");
  json.replace("\"page\": \"compare\"", "\"page\": \"orbit\"");
  const ReadSession read = parseSession(json, "s.kvscope");
  EXPECT_EQ(read.session.request.lanes.size(), 2u);
  EXPECT_EQ(read.session.page, "inspect");
  const std::string notes = read.notes.join("; ").toStdString();
  for (const char* part : {"version 7", "colour_of_the_sky", "policy_of_tomorrow", "orbit"})
    EXPECT_NE(notes.find(part), std::string::npos) << part;
}

TEST(SessionFileTest, WhatIsNoSessionIsRefusedWithThePlaceAndTheReason) {
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find("s.kvscope: ") == 0 && text.find(part) != std::string::npos;
  };
  const std::pair<QByteArray, const char*> cases[] = {
      {"", "got an empty file; copy the file again"},
      {" \n", "got an empty file"},
      {"\x89PNG\r\n", "expected JSON, got something else at byte 1 of 6"},
      {"[]", "session: expected an object, got a list"},
      {"{}", "got none: this is no session of kvscope"},
      {R"({"kvscope": "song"})", "session.kvscope: expected \"session\", got \"song\""},
      {R"({"kvscope": "session"})", "session.version: expected a number from 1, got nothing"},
      {with("\"version\": 1", "\"version\": 0"), "session.version"},
      {with("\"version\": 1", "\"version\": 1, \"sweep\": {\"not_measured\": [7]}"),
       "session.sweep.not_measured[0]: expected a text, got a number"},
      {with("\"version\": 1", "\"version\": \"1\""), "session.version: expected a number, got a text"},
      {with("\"generate\": 3", "\"generate\": 1e300"), "session: generate: expected a whole number in -1..1048576"},
      {with("\"generate\": 3", "\"generate\": 2.5"), "session: generate: expected a whole number"},
      {with("\"step\": 5, ", "\"step\": -1, "), "session.selection.step: expected a number of 0 or more, got -1"},
      {with("\"step\": 5, ", "\"step\": 3000000000, "), "session.selection.step: expected a number from 0 to 2147483647, got 3000000000"},
      {with("[\"full\", ", "[7, "), "session: lanes[0]: expected a text, got 7"},
      {with("\"tokens\": [4, 6]", "\"tokens\": [6, 4]"), "session.selection.tokens: expected [first, last]"},
      {with("\"layer\": 1", "\"layer\": -1"), "session.selection.layer"},
      {with("\"seed\": \"1844", "\"seed\": \"x1844"), "session: seed: expected digits"},
      {with("\"note\": \"here it goes wrong, „Moon“ 🌙\"", "\"note\": 3"), "session.bookmarks[0].note: expected a text, got a number"},
      {with("{ \"built_in\": true }", "\"kvmini\""), "session.model: expected an object, got a text"},
      {with("The house", "\xFF\xFE"), "JSON"},
      {with("\"version\": 1", "\"version\": 1, \"sweep\": []"), "session.sweep: expected an object, got a list"},
      {with("\"version\": 1", "\"version\": 1, \"sweep\": {\"runs\": [{\"mean_kl\": \"low\"}]}"),
       "session.sweep.runs[0].mean_kl: expected a number, got a text"},
  };
  for (const auto& [json, part] : cases) EXPECT_TRUE(has(refusal(json), part)) << part << " in " << refusal(json);
}

TEST(SessionFileTest, EveryTruncationIsRefusedAndDeepNestingDoesNotCrash) {
  const QByteArray json = bytesOf(kVersion1).trimmed();
  for (qsizetype n = 0; n < json.size(); n += 7) EXPECT_NE(refusal(json.left(n)), "accepted") << n;
  EXPECT_NE(refusal(QByteArray(2'000'000, '[')), "accepted");
  EXPECT_NE(refusal(QByteArray("{\"a\":").repeated(300'000)), "accepted");
  EXPECT_NE(refusal(QByteArray(kSessionBytes + 1, ' ')).find("at most"), std::string::npos);
}

TEST(SessionFileTest, AFailedWriteLeavesTheFileAsItWas) {
  QTemporaryDir folder;
  EXPECT_THROW(writeSession(folder.filePath("no such folder/s.kvscope"), SavedSession{}), Error);
  const QString path = folder.filePath("s.kvscope");
  writeSession(path, readSession(kVersion1).session);
  EXPECT_EQ(readSession(path).session.bookmarks.size(), 1u);
}

TEST(SessionJournalTest, WhatWasLeftIsFoundOnAFullDisk) {
  QTemporaryDir folder;
  const QString path = folder.filePath("unsaved-1700000000000-1.kvscope");
  write(path, "{}");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit full{0, before.rlim_max};  // no byte can be written, of a lock neither
  setrlimit(RLIMIT_FSIZE, &full);
  const QStringList left = SessionJournal::left(folder.path());
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(left, QStringList{path});
}

TEST(SessionJournalTest, WritesSoonAfterAChangeAndKeepsNothingThatIsSaved) {
  QTemporaryDir folder;
  int asked = 0;
  SessionJournal journal(folder.path(), [&] { return ++asked, QByteArray("{}"); });
  EXPECT_EQ(journal.path(), "") << "no change, no file";
  journal.touch();
  journal.touch();
  ASSERT_TRUE(waitFor([&] { return asked > 0; }, 5000)) << "within five seconds";
  EXPECT_TRUE(QFile::exists(journal.path()));
  EXPECT_TRUE(SessionJournal::left(folder.path()).isEmpty()) << "its owner lives";
  const QString path = journal.path();
  journal.discard();
  EXPECT_FALSE(QFile::exists(path));
  EXPECT_EQ(asked, 1);
}

TEST(SessionJournalTest, AFolderThatCannotBeWrittenIsSaidOnce) {
  QTemporaryDir folder;
  write(folder.filePath("file"), "x");
  SessionJournal journal(folder.filePath("file"), [] { return QByteArray("{}"); });
  int failures = 0;
  QObject::connect(&journal, &SessionJournal::failed, [&](const QString& why) { failures += !why.isEmpty(); });
  journal.writeNow();
  journal.writeNow();
  EXPECT_EQ(failures, 1);
}

TEST_F(WindowTest, WorkThatIsNotBackedUpIsSaidAtTheStart) {
  for (const char* folder : {"/proc/nope", "/dev/null", "/dev/null/journal"}) {
    window.reset();
    options.journal = folder;
    testing::internal::CaptureStderr();
    window = std::make_unique<MainWindow>(options, startState(options));
    window->show();
    EXPECT_TRUE(settle());
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(window->notices().isVisible());
    const std::string text = window->notices().text().toStdString();
    EXPECT_NE(text.find(std::string("Your work cannot be backed up (") + folder), std::string::npos) << text;
    EXPECT_NE(said.find(text), std::string::npos) << said;
    window->controller().setPrompt("Work that nobody backs up.");
    QTest::qWait(SessionJournal::kJournalPauseMs + 500);
    EXPECT_EQ(window->notices().text().toStdString(), text) << "once";
  }
}

TEST(SessionJournalTest, SavedSessionsInItsFolderAndTheFolderItselfStayAsTheyAre) {
  QTemporaryDir home;
  const QString folder = home.filePath("sessions");
  ASSERT_TRUE(QDir().mkpath(folder));
  const auto open_to_all =
      QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner | QFile::ReadGroup | QFile::ExeGroup | QFile::ReadOther | QFile::ExeOther;
  ASSERT_TRUE(QFile::setPermissions(folder, open_to_all));
  const auto modes = QFileInfo(folder).permissions();
  for (int i = 0; i < 25; ++i) write(QString("%1/mine-%2.kvscope").arg(folder).arg(i), bytesOf(kVersion1));
  write(folder + "/1700000000000-5.kvscope.old", "x");
  for (int i = 0; i < 25; ++i)
    write(QString("%1/unsaved-%2-%3.kvscope").arg(folder).arg(1700000000000 + i).arg(100 + i), bytesOf(kVersion1));
  EXPECT_EQ(SessionJournal::left(folder).size(), 20) << "the newest of its own";
  for (const QString& path : SessionJournal::left(folder))
    EXPECT_TRUE(QFileInfo(path).fileName().startsWith("unsaved-")) << path.toStdString();
  EXPECT_EQ(QDir(folder).entryList({"mine-*.kvscope"}).size(), 25);
  EXPECT_EQ(QDir(folder).entryList({"unsaved-*.kvscope"}).size(), 20);
  EXPECT_TRUE(QFile::exists(folder + "/1700000000000-5.kvscope.old"));
  EXPECT_TRUE(QDir(folder).entryList({"mine-*.lock"}).isEmpty()) << "nothing beside the files of others";
  SessionJournal journal(folder, [] { return QByteArray("{}"); });
  journal.writeNow();
  EXPECT_EQ(QFileInfo(folder).permissions(), modes);
  EXPECT_FALSE(QFileInfo(journal.path()).permissions() & (QFile::ReadGroup | QFile::ReadOther)) << "prompts are private";
  SessionJournal elsewhere(home.filePath("made/here"), [] { return QByteArray("{}"); });
  elsewhere.writeNow();
  EXPECT_FALSE(QFileInfo(home.filePath("made/here")).permissions() & (QFile::ReadGroup | QFile::ReadOther | QFile::ExeOther));
}

TEST(SessionJournalTest, AProgramThatIsKilledOrAskedToEndLeavesItsPrompt) {
  QTemporaryDir home;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  for (const char* name : {"HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"}) environment.insert(name, home.path());
  const QString kept = home.filePath("kept.json");
  ASSERT_EQ(QProcess::execute(KVSCOPE_CLI, {"trace", "--prompt", "Once upon a killed time", "--lane", "full", "--lane", "streaming:slots=4",
                                            "--generate", "1", "--out", home.filePath("t.json"), "--out-kept", kept, "--quiet"}),
            0);
  for (const int signal : {SIGKILL, SIGTERM}) {
    QProcess program;
    program.setProcessEnvironment(environment);
    // A start is nothing that could be lost, and an opened session is not either: what another program kept has no file of its own here.
    program.start(KVSCOPE_PROGRAM, {"--session", kept, "--journal", home.filePath("journal")});
    ASSERT_TRUE(program.waitForStarted(20000));
    const auto files = [&] { return QDir(home.filePath("journal")).entryList({"*.kvscope"}); };
    ASSERT_TRUE(waitFor([&] { return !files().isEmpty(); }, 60000));
    EXPECT_TRUE(SessionJournal::left(home.filePath("journal")).isEmpty());
    ::kill(static_cast<pid_t>(program.processId()), signal);
    ASSERT_TRUE(program.waitForFinished(20000));
    if (signal != SIGKILL) {
      EXPECT_EQ(program.exitStatus(), QProcess::NormalExit);
      EXPECT_EQ(program.exitCode(), 128 + signal);
      EXPECT_EQ(QDir(home.filePath("journal")).entryList(QDir::Files | QDir::Hidden).size(), 1) << "and no lock";
    }
    const QStringList left = SessionJournal::left(home.filePath("journal"));
    ASSERT_EQ(left.size(), 1);
    EXPECT_EQ(readSession(left.front()).session.request.prompt, "Once upon a killed time");
    ASSERT_TRUE(QDir(home.filePath("journal")).removeRecursively());
  }
}

TEST(RecentFilesTest, NewestFirstEachOnceAndMissingOnesAreGrey) {
  QTemporaryDir folder;
  QSettings settings(folder.filePath("s.ini"), QSettings::IniFormat);
  const QString there = folder.filePath("there.kvscope");
  write(there, "{}");
  {
    RecentFiles recent(&settings);
    for (int i = 0; i < 20; ++i) recent.add(folder.filePath(QString("gone %1 & more.txt").arg(i)));
    recent.add(there);
    recent.add(folder.filePath("gone 19 & more.txt"));
    recent.add(there);
  }
  RecentFiles recent(&settings);
  ASSERT_EQ(recent.all().size(), RecentFiles::kMost);
  EXPECT_EQ(recent.all()[0], there);
  EXPECT_TRUE(recent.all()[1].endsWith("gone 19 & more.txt"));
  QMenu menu;
  recent.attach(&menu);
  EXPECT_TRUE(menu.actions()[0]->isEnabled());
  EXPECT_FALSE(menu.actions()[1]->isEnabled());
  EXPECT_TRUE(menu.actions()[1]->text().contains("(missing)"));
  QString opened;
  QObject::connect(&recent, &RecentFiles::openRequested, [&](const QString& path) { opened = path; });
  menu.actions()[0]->trigger();
  EXPECT_EQ(opened, there);
  recent.clear();
  EXPECT_TRUE(RecentFiles(&settings).all().isEmpty());
}

// ---- through the window

TEST_F(WindowTest, ASavedSessionComesBackWithEverything) {
  QTemporaryDir folder;
  const QString path = folder.filePath("mine.kvscope");
  viz::Selection selection = window->workspace().selection();
  selection.lane = 2;
  selection.layer = 3;
  selection.kv_head = 1;
  selection.step = 2;
  selection.steps = viz::StepRange{1, 3};
  window->workspace().setSelection(selection);
  press(Qt::Key_B, Qt::ControlModifier);
  window->showPage(MainWindow::Page::compare);
  ASSERT_TRUE(window->document().save(path));
  EXPECT_EQ(window->windowTitle(), "mine – kvscope");
  const QByteArray saved = bytesOf(path);

  window->controller().removeLane(1);
  window->controller().setPrompt("something else");
  window->model().bookmarks.remove(0);
  window->showPage(MainWindow::Page::inspect);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->windowTitle(), "mine* – kvscope");
  window->openFile(path);
  ASSERT_TRUE(waitFor([&] { return window->workspace().selection().steps.has_value(); }, 30000));
  ASSERT_TRUE(settle());
  EXPECT_EQ(snapshot().prompt, *options.prompt);
  EXPECT_EQ(snapshot().lanes.size(), 5u);
  EXPECT_EQ(window->workspace().selection(), selection);
  EXPECT_EQ(window->page(), MainWindow::Page::compare);
  ASSERT_EQ(window->model().bookmarks.size(), 1);
  EXPECT_EQ(sessionJson(window->document().session()), saved);
  EXPECT_EQ(window->work().prompt().editor().toPlainText().toStdString(), *options.prompt);
}

TEST_F(WindowTest, ASessionKeepsWhatTheSweepMeasuredAndHowTheComparisonStood) {
  QTemporaryDir folder;
  const QString path = folder.filePath("swept.kvscope");
  SweepPanel& sweep = window->runActions().sweep();
  window->canvas("compare")->view().choose(0, 2);
  window->canvas("compare")->view().choose(1, 2);
  window->showPage(Page::compare);
  const auto pair = [this] {
    std::vector<std::string> names;
    for (const viz::Mark& m : window->canvas("compare")->view().marks())
      if (m.kind == "difference.name") names.push_back(m.label);
    return names;
  };
  const auto lookAt = [this](int run) {
    viz::Selection selection = window->workspace().selection();
    selection.lane = run;
    window->workspace().setSelection(selection);
    ASSERT_TRUE(waitFor([this] { return window->canvas("compare")->settled(); }, 5000));
  };
  lookAt(4);
  lookAt(1);
  const std::vector<std::string> looked_at = pair();
  ASSERT_FALSE(looked_at.empty());
  window->canvas("atlas")->view().choose(0, 1);
  sweep.grid().budgets().setText("12, 25 %");
  sweep.grid().model().clear();
  sweep.grid().model().choose("h2o", true);
  SweepFigures figures;
  figures.mean_kl = 0.25;
  ASSERT_TRUE(sweep.data().set("h2o:slots=12", figures));
  const std::vector<QWidget*> boxes = sweep.controls();
  auto *figure = qobject_cast<QComboBox*>(boxes[0]), *axis = qobject_cast<QComboBox*>(boxes[1]);
  figure->setCurrentIndex(1);
  axis->setCurrentIndex(2);
  window->model().hand.setScope(HandEdits::Scope::head);
  ASSERT_TRUE(window->document().save(path));
  window->model().hand.setScope(HandEdits::Scope::all);
  window->controller().setPrompt("something else");
  ASSERT_TRUE(settle());
  EXPECT_EQ(sweep.data().nMeasured(), 0) << "the figures held for the other text";
  window->canvas("compare")->view().choose(0, 0);
  window->canvas("compare")->view().choose(1, 0);
  window->controller().removeLane(4);
  ASSERT_TRUE(settle());
  lookAt(3);
  lookAt(2);
  window->canvas("atlas")->view().choose(0, 2);
  figure->setCurrentIndex(0);
  axis->setCurrentIndex(0);
  window->openFile(path);
  ASSERT_TRUE(settle());
  EXPECT_EQ(sweep.data().nMeasured(), 1);
  EXPECT_EQ(sweep.data().missing(), std::vector<std::string>{"h2o:ratio=0.25"}) << "the run that was chosen and not measured";
  EXPECT_EQ(sweep.facts(), "one prompt · 1 of 2 runs measured · hollow: not yet");
  EXPECT_EQ(figure->currentIndex(), 1);
  EXPECT_EQ(axis->currentIndex(), 2);
  EXPECT_EQ(sweep.grid().budgets().text(), "12, 25 %");
  EXPECT_EQ(window->canvas("compare")->view().options()[0].current, 2);
  EXPECT_EQ(window->canvas("compare")->view().options()[1].current, 2);
  ASSERT_TRUE(waitFor([this] { return window->canvas("compare")->settled(); }, 5000));
  EXPECT_EQ(window->model().hand.scope(), HandEdits::Scope::head) << "where edits by hand hold";
  EXPECT_EQ(pair(), looked_at) << "the two runs whose difference was looked at";
  EXPECT_EQ(window->canvas("atlas")->view().options()[0].current, 1);
}

TEST_F(WindowTest, ADamagedSessionIsRefusedAndNothingIsLost) {
  QTemporaryDir folder;
  const QString path = folder.filePath("bad.kvscope");
  write(path, bytesOf(kVersion1).left(200));
  const QByteArray before = sessionJson(window->document().session());
  window->openFile(path);
  EXPECT_TRUE(window->notices().isVisible());
  EXPECT_TRUE(window->notices().text().contains("expected JSON, got something else at byte")) << window->notices().text().toStdString();
  EXPECT_EQ(sessionJson(window->document().session()), before);
}

TEST_F(WindowTest, AFileThatASessionWantsReadFromElsewhereIsAskedFor) {
  const QTemporaryDir folder, elsewhere;
  QFile secret(elsewhere.filePath("secret"));
  ASSERT_TRUE(secret.open(QIODevice::WriteOnly));
  secret.write("root:topsecretwords:1000\n");
  secret.close();
  SavedSession s = window->document().session();
  const std::string before = window->controller().request().prompt;
  s.request.prompt = "The key of Ben is in the red box.";
  s.request.lanes.push_back(parse_lane_spec("headkv:slots=4,scores=" + secret.fileName().toStdString()));
  const QString path = folder.filePath("theirs.kvscope");
  writeSession(path, s);
  window->openFile(path);
  EXPECT_EQ(window->controller().request().prompt, before);
  EXPECT_TRUE(window->notices().text().contains(secret.fileName())) << window->messages().text().toStdString();
  QPushButton* read = buttonOf(*window, "Read it");
  ASSERT_NE(read, nullptr);
  read->click();
  EXPECT_EQ(window->controller().request().prompt, s.request.prompt);
  ASSERT_TRUE(settle());
  EXPECT_FALSE(window->notices().text().contains("topsecret"));

  QFile::copy(secret.fileName(), folder.filePath("secret"));
  s.request.prompt = "Ben is here.";
  s.request.lanes.back() = parse_lane_spec("headkv:slots=4,scores=" + folder.filePath("secret").toStdString());
  writeSession(path, s);
  window->openFile(path);
  EXPECT_EQ(window->controller().request().prompt, s.request.prompt) << "what lies beside it comes with it";
}

TEST_F(WindowTest, ADroppedSessionOpensAndTheOneBeforeCanComeBack) {
  window->controller().setPrompt("unsaved words");
  ASSERT_TRUE(settle());
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(kVersion1)});
  QDragEnterEvent enter(QPoint(700, 20), Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(window.get(), &enter);
  ASSERT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(700, 20), Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(window.get(), &drop);
  ASSERT_TRUE(waitFor([&] { return snapshot().lanes.size() == 3 && window->workspace().selection().step == 5; }, 30000));
  EXPECT_EQ(window->page(), MainWindow::Page::compare);
  QPushButton* back = nullptr;
  for (QPushButton* button : window->notices().findChildren<QPushButton*>())
    if (button->text().startsWith("Back to")) back = button;
  ASSERT_NE(back, nullptr);
  EXPECT_TRUE(window->notices().property("news").toBool()) << "what went well has not the colour of a failure";
  back->click();
  EXPECT_EQ(window->controller().request().prompt, "unsaved words");
  EXPECT_EQ(window->controller().request().lanes.size(), 5u);
}

TEST_F(WindowTest, BookmarksAreMadeListedFollowedAndTakenBack) {
  press(Qt::Key_Home, Qt::ControlModifier);
  press(Qt::Key_B, Qt::ControlModifier);
  press(Qt::Key_End, Qt::ControlModifier);
  window->setFocus();
  press(Qt::Key_B);
  ASSERT_EQ(window->model().bookmarks.size(), 2);
  EXPECT_TRUE(window->model().bookmarks.all()[0].name.startsWith("step 0"));
  EXPECT_EQ(window->model().bookmarks.all()[1].selection.step, 4) << "the step of now, whatever is generated later";
  QTest::qWait(100);
  int flags = 0;
  for (const viz::Mark& mark : window->canvas("timeline")->view().marks()) flags += mark.kind == "bookmark";
  EXPECT_EQ(flags, 2);
  press(Qt::Key_Left, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_EQ(window->workspace().step(), 0);
  press(Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(window->model().bookmarks.size(), 1);
  press(Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_EQ(window->model().bookmarks.size(), 2);
}

TEST_F(WindowTest, ANoteIsTypedInTheListOfBookmarks) {
  press(Qt::Key_B, Qt::ControlModifier | Qt::ShiftModifier);
  QApplication::processEvents();
  QWidget* editor = QApplication::focusWidget();
  ASSERT_NE(editor, nullptr);
  QTest::keyClicks(editor, "look here");
  QTest::keyClick(editor, Qt::Key_Return);
  QApplication::processEvents();
  ASSERT_EQ(window->model().bookmarks.size(), 1);
  ASSERT_TRUE(waitFor([&] { return window->model().bookmarks.all()[0].note == "look here"; }, 3000));
  auto* panel = window->findChild<BookmarkPanel*>();
  ASSERT_NE(panel, nullptr);
  panel->table().selectRow(0);
  QTest::keyClick(&panel->table(), Qt::Key_Delete);
  EXPECT_EQ(window->model().bookmarks.size(), 0);
}

TEST_F(WindowTest, WhatWasLeftIsOfferedAndNeverInTheWay) {
  window.reset();
  QTemporaryDir folder;
  write(folder.filePath("unsaved-1700000000000-1.kvscope"), bytesOf(kVersion1));
  options.journal = folder.path().toStdString();
  window = std::make_unique<MainWindow>(options, startState(options));
  window->show();
  ASSERT_TRUE(settle());
  ASSERT_TRUE(window->notices().isVisible()) << "the first result does not take it away";
  EXPECT_TRUE(window->notices().text().contains("3 runs, 1 bookmark")) << window->notices().text().toStdString();
  EXPECT_EQ(QApplication::activeModalWidget(), nullptr);
  for (QPushButton* button : window->notices().findChildren<QPushButton*>())
    if (button->text() == "Recover it") button->click();
  ASSERT_TRUE(waitFor([&] { return snapshot().lanes.size() == 3 && !window->workspace().stale(); }, 30000));
  EXPECT_EQ(window->model().bookmarks.size(), 1);
  EXPECT_FALSE(QFile::exists(folder.filePath("unsaved-1700000000000-1.kvscope")));
  EXPECT_EQ(QDir(folder.path()).entryList({"*.kvscope"}).size(), 1) << "it lives on in the journal of this window";
}

class BackupTest : public WindowTest {
 protected:
  /// Starts the program anew, and no script: what is dismissed is remembered.
  bool beginOn(const QTemporaryDir& folder) {
    options.picture.clear();
    options.view = "inspect";
    options.journal = folder.path().toStdString();
    window.reset();
    window = std::make_unique<MainWindow>(options, startState(options));
    window->show();
    return settle();
  }
};

TEST_F(BackupTest, AnOfferToRecoverThatWasDismissedIsNotMadeAgain) {
  QTemporaryDir folder;
  write(folder.filePath("unsaved-1700000000000-1.kvscope"), bytesOf(kVersion1));
  ASSERT_TRUE(beginOn(folder));
  ASSERT_TRUE(window->notices().isVisible());
  for (auto* button : window->notices().findChildren<QToolButton*>()) button->click();
  EXPECT_TRUE(window->notices().isHidden());
  ASSERT_TRUE(beginOn(folder));
  EXPECT_TRUE(window->notices().isHidden()) << window->notices().text().toStdString();
  EXPECT_TRUE(QFile::exists(folder.filePath("unsaved-1700000000000-1.kvscope"))) << "the welcome page still has it";
}

TEST_F(BackupTest, WhatWasTypedJustBeforeTheProgramIsAskedToEndIsBackedUp) {
  const QTemporaryDir folder;
  ASSERT_TRUE(beginOn(folder));
  int asked = 0;
  const EndFromOutside end;  // of three signals
  QObject::connect(&end, &EndFromOutside::asked, window.get(), [&](int signal) {
    asked = signal;
    EXPECT_EQ(window->document().leave(), QStringList());
  });
  PromptEditor& editor = window->work().prompt().editor();
  editor.setFocus();
  press(Qt::Key_End, Qt::ControlModifier);
  QTest::keyClicks(&editor, " MARK");
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    ::raise(signal);
    ASSERT_TRUE(waitFor([&] { return asked == signal; }, 5000));
  }
  const QStringList left = QDir(folder.path()).entryList({"unsaved-*.kvscope"});
  ASSERT_EQ(left.size(), 1);
  EXPECT_THAT(readSession(folder.filePath(left.front())).session.request.prompt, testing::EndsWith(" MARK"));
}

/// Backups of two killed programs, the older one with a text of its own.
static void leaveTwo(const QTemporaryDir& folder) {
  SavedSession older = readSession(kVersion1).session;
  older.request.prompt = "the older one ends so";
  const QString first = folder.filePath("unsaved-1700000000000-1.kvscope"), second = folder.filePath("unsaved-1700000000001-2.kvscope");
  writeSession(first, older);
  write(second, bytesOf(kVersion1));
  QFile file(first);
  ASSERT_TRUE(file.open(QIODevice::ReadWrite));
  ASSERT_TRUE(file.setFileTime(QDateTime::currentDateTime().addDays(-1), QFileDevice::FileModificationTime));
}

TEST_F(WindowTest, OfTwoBackupsEachIsOfferedAndNoneIsLost) {
  window.reset();
  QTemporaryDir folder;
  leaveTwo(folder);
  options.journal = folder.path().toStdString();
  window = std::make_unique<MainWindow>(options, startState(options));
  window->show();
  ASSERT_TRUE(settle());
  const auto said = [this] { return window->notices().text(); };
  EXPECT_TRUE(said().endsWith("One more is offered after it.")) << said().toStdString();
  EXPECT_FALSE(said().contains("ends so"));
  QPushButton* recover = buttonOf(*window, "Recover it");
  ASSERT_NE(recover, nullptr);
  recover->click();
  ASSERT_TRUE(settle());
  const std::string newer = window->controller().request().prompt;
  ASSERT_TRUE(window->notices().isVisible()) << "the other one";
  EXPECT_TRUE(said().endsWith("the older one ends so”.")) << said().toStdString();
  recover = buttonOf(*window, "Recover it");
  ASSERT_NE(recover, nullptr);
  recover->click();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->controller().request().prompt, "the older one ends so");
  EXPECT_TRUE(window->notices().isHidden()) << said().toStdString();
  std::vector<std::string> kept;
  for (const QFileInfo& file : QDir(folder.path()).entryInfoList({"unsaved-*.kvscope"}))
    kept.push_back(readSession(file.filePath()).session.request.prompt);
  EXPECT_THAT(kept, testing::UnorderedElementsAre(newer, "the older one ends so"));
}

TEST_F(BackupTest, WhatIsRecoveredIsNotOfferedInsteadOfItself) {
  const QTemporaryDir folder;
  ASSERT_TRUE(beginOn(folder));
  window->controller().setPrompt("Mine, and left behind");
  ASSERT_TRUE(settle());
  window->document().openSample();
  ASSERT_TRUE(settle());
  ASSERT_NE(buttonOf(window->notices(), "Back to the session before"), nullptr);
  window->showPage(MainWindow::Page::welcome);
  Q_EMIT window->findChild<WelcomePage*>()->recoveryRequested();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->controller().request().prompt, "Mine, and left behind");
  EXPECT_EQ(buttonOf(window->notices(), "Back to the session before"), nullptr) << window->notices().text().toStdString();
  window.reset();  // while its folder is there
}

TEST_F(BackupTest, WhereOneOfTwoBackupsIsDismissedTheOtherIsOffered) {
  window.reset();
  QTemporaryDir folder;
  leaveTwo(folder);
  ASSERT_TRUE(beginOn(folder));
  const auto cross = [this] {
    for (auto* button : window->notices().findChildren<QToolButton*>()) button->click();
  };
  EXPECT_FALSE(window->notices().text().contains("ends so"));
  cross();
  ASSERT_TRUE(window->notices().isVisible());
  EXPECT_TRUE(window->notices().text().endsWith("the older one ends so”.")) << window->notices().text().toStdString();
  ASSERT_TRUE(beginOn(folder));
  EXPECT_TRUE(window->notices().text().endsWith("the older one ends so”.")) << window->notices().text().toStdString();
  cross();
  EXPECT_TRUE(window->notices().isHidden());
  ASSERT_TRUE(beginOn(folder));
  EXPECT_TRUE(window->notices().isHidden()) << "neither is offered again";
  EXPECT_EQ(QDir(folder.path()).entryList({"unsaved-*.kvscope"}).size(), 2) << "the welcome page still has them";
}

TEST_F(WindowTest, ASessionThatWasOnlyOpenedIsNotSaidToBeUnsaved) {
  window.reset();
  QTemporaryDir folder;
  const QString saved = folder.filePath("saved.kvscope"), journal = folder.filePath("journal");
  writeSession(saved, readSession(kVersion1).session);
  options.journal = journal.toStdString();
  window = std::make_unique<MainWindow>(options, startState(options));
  window->show();
  ASSERT_TRUE(settle());
  const auto unsaved = [&] { return QDir(journal).entryList({"unsaved-*.kvscope"}).size(); };
  window->openFile(saved);
  ASSERT_TRUE(settle());
  QTest::qWait(SessionJournal::kJournalPauseMs + 500);
  EXPECT_EQ(unsaved(), 0) << "a kill now loses nothing";
  RunRequest mine = window->controller().request();
  mine.prompt += " and mine";
  window->controller().replaceRequest(mine);
  ASSERT_TRUE(waitFor([&] { return unsaved() == 1; }, 30000));
  window->openFile(saved);
  ASSERT_TRUE(settle());
  QTest::qWait(SessionJournal::kJournalPauseMs + 500);
  EXPECT_EQ(unsaved(), 1) << "that work, kept to be recovered; nothing of the session";
}

TEST_F(WindowTest, WorkThatAnotherSessionTakesThePlaceOfIsKept) {
  window.reset();
  QTemporaryDir folder;
  const QString other = folder.filePath("other.kvscope");
  writeSession(other, readSession(kVersion1).session);
  options.journal = folder.filePath("journal").toStdString();
  window = std::make_unique<MainWindow>(options, startState(options));
  window->show();
  ASSERT_TRUE(settle());
  RunRequest mine = window->controller().request();
  mine.prompt += " and mine";
  window->controller().replaceRequest(mine);
  ASSERT_TRUE(settle());
  window->openFile(other);
  ASSERT_TRUE(settle());
  const auto kept = [&] {
    QStringList out;
    for (const QFileInfo& file : QDir(folder.filePath("journal")).entryInfoList({"unsaved-*.kvscope"}))
      if (readSession(file.filePath()).session.request.prompt == mine.prompt) out << file.fileName();
    return out.size();
  };
  EXPECT_EQ(kept(), 1) << "the next start offers it, whatever becomes of this window";
  QPushButton* back = buttonOf(*window, "Back to the session before");
  ASSERT_NE(back, nullptr);
  back->click();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->controller().request().prompt, mine.prompt);
  EXPECT_EQ(kept(), 1) << "it goes on in the journal of this window alone";
}

TEST_F(WindowTest, WhoeverHasUndoneEverythingLosesNothing) {
  window.reset();
  QTemporaryDir folder;
  options.journal = folder.path().toStdString();
  window = std::make_unique<MainWindow>(options, startState(options));
  window->show();
  ASSERT_TRUE(settle());
  const RunRequest before = window->controller().request();
  RunRequest other = before;
  other.prompt += " and more";
  window->controller().replaceRequest(other);
  ASSERT_TRUE(settle());
  ASSERT_TRUE(waitFor([&] { return !QDir(folder.path()).entryList({"unsaved-*.kvscope"}).isEmpty(); }, 10000));
  window->controller().replaceRequest(before);
  ASSERT_TRUE(settle());
  EXPECT_TRUE(QDir(folder.path()).entryList({"unsaved-*.kvscope"}).isEmpty()) << "there is nothing to recover";
  window->close();
  EXPECT_TRUE(QDir(folder.path()).entryList({"unsaved-*.kvscope"}).isEmpty());
}

TEST_F(WindowTest, ClosingLeavesOneBackupWhateverTheClosingWindowDoes) {
  window.reset();
  QTemporaryDir folder;
  options.picture.clear();
  options.journal = folder.path().toStdString();
  window = std::make_unique<MainWindow>(options, startState(options));
  window->show();
  ASSERT_TRUE(settle());
  RunRequest other = window->controller().request();
  other.prompt += " and more";
  window->controller().replaceRequest(other);
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window->document().leave().isEmpty());
  viz::Selection elsewhere = window->workspace().selection();
  elsewhere.layer = elsewhere.layer == 0 ? 1 : 0;
  window->workspace().setSelection(elsewhere);  // as the pages do that go
  EXPECT_TRUE(window->document().leave().isEmpty()) << "closed twice: by the window and by the program";
  QTest::qWait(SessionJournal::kJournalPauseMs + 500);
  EXPECT_EQ(QDir(folder.path()).entryList({"unsaved-*.kvscope"}).size(), 1);
}

TEST_F(WindowTest, ABackupThatCannotBeReadIsNotCalledNothing) {
  window.reset();
  QTemporaryDir folder;
  const QString path = folder.filePath("unsaved-1700000000000-1.kvscope");
  write(path, "{ \"kvscope\": \"session\", \"version\": 1, \"lanes\": 7 }");
  options.journal = folder.path().toStdString();
  window = std::make_unique<MainWindow>(options, startState(options));
  window->show();
  ASSERT_TRUE(settle());
  const auto cards = window->findChildren<WelcomeCard*>();
  EXPECT_TRUE(std::ranges::any_of(cards, [&](const WelcomeCard* card) { return card->sentence().contains(path); }));
  EXPECT_TRUE(QFile::exists(path));
}

TEST_F(WindowTest, AsManyRunsAsASessionKeepsStandBesideEachOther) {
  QTemporaryDir folder;
  RunRequest many = window->controller().request();
  while (many.lanes.size() < kMostRuns + 1) many.lanes.push_back(parse_lane_spec("local:slots=" + std::to_string(many.lanes.size() + 8)));
  window->controller().stop();
  window->controller().replaceRequest(many);
  window->controller().stop();
  const QString path = folder.filePath("many.kvscope");
  ASSERT_TRUE(window->document().save(path));
  EXPECT_EQ(readSession(path).session.request.lanes.size(), many.lanes.size());
  window->controller().addLane("local:slots=7");
  EXPECT_EQ(window->controller().request().lanes.size(), many.lanes.size());
  EXPECT_TRUE(window->notices().text().contains("room for 256 runs") || window->messages().text().contains("room for 256 runs"))
      << window->notices().text().toStdString();
}

TEST_F(WindowTest, WhatWasLeftOfASessionWithAFileIsOfferedOverIt) {
  window.reset();
  QTemporaryDir folder;
  SavedSession saved = readSession(kVersion1).session, edited = saved;
  const QString path = folder.filePath("mine.kvscope");
  writeSession(path, saved);
  edited.request.prompt += " or 7";
  QDir(folder.path()).mkdir("journal");
  writeSession(folder.filePath("journal/unsaved-1700000000000-1.kvscope"), edited);
  options.journal = folder.filePath("journal").toStdString();
  options.session = path.toStdString();
  window = std::make_unique<MainWindow>(options, startState(options));
  window->show();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->controller().request().prompt, saved.request.prompt);
  ASSERT_TRUE(window->notices().isVisible()) << "the opening of the file does not take it away";
  EXPECT_TRUE(window->notices().text().contains("or 7”")) << window->notices().text().toStdString();
  QPushButton* recover = buttonOf(*window, "Recover it");
  ASSERT_NE(recover, nullptr);
  recover->click();
  EXPECT_EQ(window->controller().request().prompt, edited.request.prompt);
}

TEST_F(WindowTest, APageAskedForBesideASessionGoesBeforeTheOneItWasSavedWith) {
  QTemporaryDir folder;
  SavedSession saved = readSession(kVersion1).session;
  saved.page = "inspect";
  const QString path = folder.filePath("mine.kvscope");
  writeSession(path, saved);
  for (const bool given : {true, false}) {
    window.reset();
    options.session = path.toStdString();
    options.view = "compare";
    options.view_given = given;
    window = std::make_unique<MainWindow>(options, startState(options));
    window->show();
    ASSERT_TRUE(settle());
    EXPECT_EQ(window->page(), given ? MainWindow::Page::compare : MainWindow::Page::inspect);
  }
}

TEST_F(WindowTest, WhatASessionSaysIsReadBeforeAnotherOneIsOffered) {
  window.reset();
  QTemporaryDir folder;
  QJsonObject newer = QJsonDocument::fromJson(bytesOf(kVersion1)).object();
  newer["version"] = 99;
  write(folder.filePath("newer.kvscope"), QJsonDocument(newer).toJson());
  QDir(folder.path()).mkdir("journal");
  write(folder.filePath("journal/unsaved-1700000000000-1.kvscope"), bytesOf(kVersion1));
  options.journal = folder.filePath("journal").toStdString();
  options.session = folder.filePath("newer.kvscope").toStdString();
  window = std::make_unique<MainWindow>(options, startState(options));
  window->show();
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window->notices().text().contains("newer kvscope (version 99")) << window->notices().text().toStdString();
  EXPECT_EQ(buttonOf(*window, "Recover it"), nullptr);
  window->notices().dismiss();
  EXPECT_TRUE(window->notices().text().contains("was not saved")) << window->notices().text().toStdString();
  EXPECT_NE(buttonOf(*window, "Recover it"), nullptr);
}

TEST_F(WindowTest, WhatIsRecoveredIsStillOfTheFileThatItWasOf) {
  QTemporaryDir folder;
  const QString path = folder.filePath("mine.kvscope"), journal = folder.filePath("journal");
  options.journal = journal.toStdString();
  window = std::make_unique<MainWindow>(options, startState(options));
  window->show();
  ASSERT_TRUE(settle());
  ASSERT_TRUE(window->document().save(path));
  window->controller().setLaneSpec(1, QString("streaming:slots=9"));
  ASSERT_TRUE(settle());
  const auto left = [&journal] { return QDir(journal).entryList({"*.kvscope"}); };
  ASSERT_TRUE(waitFor([&] { return left().size() == 1; }, 10000));
  const QByteArray unsaved = bytesOf(QDir(journal).filePath(left().front()));
  window.reset();  // a window that is closed by a script leaves nothing
  QDir(folder.path()).mkdir("journal");
  write(QDir(journal).filePath("unsaved-1700000000000-1.kvscope"), unsaved);
  window = std::make_unique<MainWindow>(options, startState(options));
  window->show();
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window->notices().text().startsWith("The session mine of ")) << window->notices().text().toStdString();
  QPushButton* recover = buttonOf(*window, "Recover it");
  ASSERT_NE(recover, nullptr);
  recover->click();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->windowTitle(), "mine* – kvscope");
  EXPECT_EQ(readSession(path).session.request.lanes[1].text, "streaming:ratio=0.25");
  window->document().saveNow();  // asks nothing
  EXPECT_EQ(readSession(path).session.request.lanes[1].text, "streaming:slots=9");
  EXPECT_EQ(readSession(path).session.file, "") << "of a file that is shared nobody learns where it lay";
  EXPECT_EQ(window->windowTitle(), "mine – kvscope");
}

TEST_F(WindowTest, WhatIsRecoveredDoesNotTakeFromItsFileWhatWasNotReadOfIt) {
  window.reset();
  QTemporaryDir folder;
  const QString path = folder.filePath("newer.kvscope"), journal = folder.filePath("journal");
  QJsonObject newer = QJsonDocument::fromJson(bytesOf(kVersion1)).object();
  newer["future"] = QJsonObject{{"precious", 1}};
  write(path, QJsonDocument(newer).toJson());
  SavedSession edited = readSession(path).session;
  edited.request.prompt += " or 7";
  edited.file = path;
  QDir(folder.path()).mkdir("journal");
  writeSession(QDir(journal).filePath("unsaved-1700000000000-1.kvscope"), edited);
  options.journal = journal.toStdString();
  window = std::make_unique<MainWindow>(options, startState(options));
  window->show();
  ASSERT_TRUE(settle());
  QPushButton* recover = buttonOf(*window, "Recover it");
  ASSERT_NE(recover, nullptr);
  recover->click();
  ASSERT_TRUE(settle());
  ASSERT_EQ(window->windowTitle(), "newer* – kvscope");
  window->document().saveNow();
  EXPECT_TRUE(window->notices().text().contains("would be lost")) << window->notices().text().toStdString();
  EXPECT_TRUE(bytesOf(path).contains("precious"));
}

TEST_F(WindowTest, AnotherModelChangesASavedSessionAndMeasuresOfViewsDoNot) {
  QTemporaryDir folder;
  const QString path = folder.filePath("mine.kvscope"), other = folder.filePath("tiny");
  std::filesystem::copy(in_checkout("tests/golden/tiny-gqa"), other.toStdString());
  ASSERT_TRUE(window->document().save(path));
  ASSERT_EQ(window->windowTitle(), "mine – kvscope");
  window->openFile(window->controller().modelFolder());
  ASSERT_TRUE(settle());
  window->showPage(Page::inspector);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->windowTitle(), "mine – kvscope") << "the model that it has, and what the inspector measures";
  window->openFile(other);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->windowTitle(), "mine* – kvscope");
}

TEST_F(WindowTest, ARefusedModelIsNotTheSessions) {
  QTemporaryDir folder;
  const QString path = folder.filePath("mine.kvscope"), empty = folder.filePath("empty");
  QDir().mkdir(empty);
  ASSERT_TRUE(window->document().save(path));
  const QString before = window->controller().modelFolder();
  window->openFile(empty);
  ASSERT_TRUE(waitFor([&] { return snapshot().phase == RunPhase::failed; }, 30000));
  EXPECT_EQ(window->controller().modelFolder(), before) << "what is shown is still of it";
  window->document().saveNow();
  EXPECT_EQ(readSession(path).session.model, "") << "the one that comes with the program";
  EXPECT_TRUE(waitFor([&] { return !readSession(path).session.results.zlib.isEmpty(); }, 30000)) << "nothing was lost";
  window->controller().setPrompt("Another text");
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->controller().modelFolder(), before);
}

TEST_F(WindowTest, WhatAnotherWindowSavedIsNotWrittenOverUnasked) {
  QTemporaryDir folder;
  const QString path = folder.filePath("mine.kvscope");
  const auto settledFile = [&] { return waitFor([&] { return !window->document().results().busy(); }, 30000); };
  ASSERT_TRUE(window->document().save(path));
  window->document().saveNow();  // while the results of the first are being added
  EXPECT_TRUE(window->notices().isHidden()) << window->notices().text().toStdString();
  ASSERT_TRUE(settledFile());
  window->document().saveNow();
  EXPECT_TRUE(window->notices().isHidden()) << "its own results: " << window->notices().text().toStdString();
  ASSERT_TRUE(settledFile());

  SavedSession others = readSession(path).session;
  others.request.prompt = "Of another window";
  writeSession(path, others);
  window->controller().setPrompt("Of this window");
  ASSERT_TRUE(settle());
  window->document().saveNow();
  EXPECT_EQ(readSession(path).session.request.prompt, "Of another window");
  EXPECT_TRUE(window->notices().text().contains("another window")) << window->notices().text().toStdString();
  EXPECT_EQ(window->windowTitle(), "mine* – kvscope");
  QPushButton* over = buttonOf(window->notices(), "Write over it");
  ASSERT_NE(over, nullptr);
  ASSERT_NE(buttonOf(window->notices(), "Save as"), nullptr);
  over->click();
  EXPECT_EQ(readSession(path).session.request.prompt, "Of this window");
  EXPECT_TRUE(window->notices().isHidden());

  ASSERT_TRUE(settledFile());
  {
    const QDateTime before = QFileInfo(path).lastModified();
    const QByteArray swapped = bytesOf(path).replace("Of this window", "By other means");
    QTest::qWait(20);
    write(path, swapped);
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::ReadWrite));
    ASSERT_TRUE(file.setFileTime(before, QFileDevice::FileModificationTime));
  }
  window->document().saveNow();
  EXPECT_EQ(readSession(path).session.request.prompt, "By other means") << "of the same size and time";

  ASSERT_TRUE(QFile::remove(path));
  window->document().saveNow();
  EXPECT_EQ(readSession(path).session.request.prompt, "Of this window") << "a file that is gone is written anew";
}

TEST_F(WindowTest, WhatCannotBeSavedAgainWhereItsFileIsGoneIsNotSaved) {
  QTemporaryDir folder;
  ASSERT_TRUE(QDir(folder.path()).mkdir("in"));
  const QString path = folder.filePath("in/s.kvscope");
  ASSERT_TRUE(window->document().save(path));
  ASSERT_TRUE(waitFor([&] { return !window->document().results().busy(); }, 30000));
  EXPECT_EQ(window->windowTitle(), "s – kvscope");
  ASSERT_TRUE(QDir(folder.filePath("in")).removeRecursively());
  window->document().saveNow();
  EXPECT_FALSE(window->notices().isHidden());
  EXPECT_EQ(window->windowTitle(), "s* – kvscope") << "no file holds it: it is asked for when the window is closed";
  ASSERT_TRUE(QDir(folder.path()).mkdir("in"));
  window->document().saveNow();
  EXPECT_TRUE(QFileInfo::exists(path));
  EXPECT_EQ(window->windowTitle(), "s – kvscope");
}

TEST_F(WindowTest, WhatIsWrittenOverIsWhatTheQuestionSpeaksOf) {
  QTemporaryDir folder;
  const QString first = folder.filePath("first.kvscope"), second = folder.filePath("second.kvscope");
  const auto written = [&](const QString& path) { return readSession(path).session.request.prompt; };
  const auto byAnother = [&](const QString& path, const char* prompt) {
    ASSERT_TRUE(waitFor([&] { return !window->document().results().busy(); }, 30000));
    SavedSession others = readSession(path).session;
    others.request.prompt = prompt;
    writeSession(path, others);
  };
  EXPECT_FALSE(window->document().save("/no/such/folder/s.kvscope"));
  EXPECT_FALSE(window->notices().isHidden());
  ASSERT_TRUE(window->document().save(first));
  EXPECT_TRUE(window->notices().isHidden()) << "it is saved now: " << window->notices().text().toStdString();

  const auto refused = [&](const QString& path, const char* mine) {
    byAnother(path, "Of another");
    window->controller().setPrompt(mine);
    ASSERT_TRUE(settle());
    window->document().saveNow();
  };
  refused(first, "Mine");
  ASSERT_NE(buttonOf(window->notices(), "Write over it"), nullptr);
  EXPECT_FALSE(window->document().save("/no/such/folder/s.kvscope"));
  ASSERT_TRUE(window->document().save(second));
  EXPECT_TRUE(window->notices().isHidden()) << "elsewhere: " << window->notices().text().toStdString();

  refused(second, "Mine and more");
  byAnother(second, "Of another, and longer");
  buttonOf(window->notices(), "Write over it")->click();
  EXPECT_EQ(written(second), "Of another, and longer") << "nobody was asked about this one";
  QPushButton* over = buttonOf(window->notices(), "Write over it");
  ASSERT_NE(over, nullptr);
  over->click();
  EXPECT_EQ(written(second), "Mine and more");
  EXPECT_EQ(written(first), "Of another");
}

TEST_F(WindowTest, WhatASessionHoldsBeyondWhatWasReadIsNotWrittenOverUnasked) {
  QTemporaryDir folder;
  const QString path = folder.filePath("newer.kvscope");
  ASSERT_TRUE(window->document().save(path));
  ASSERT_TRUE(waitFor([&] { return !window->document().results().busy(); }, 30000));
  const auto text = [&] { return read_text(path.toStdString(), 1 << 24); };
  std::string newer = text();
  newer.insert(newer.find('{') + 1, "\"future\":{\"precious\":1},");
  write(path, QByteArray::fromStdString(newer));
  window->openFile(path);
  ASSERT_TRUE(settle());
  window->document().saveNow();
  EXPECT_NE(text().find("precious"), std::string::npos);
  EXPECT_TRUE(window->notices().text().contains("would be lost")) << window->notices().text().toStdString();
  QPushButton* over = buttonOf(window->notices(), "Write over it");
  ASSERT_NE(over, nullptr);
  over->click();
  EXPECT_EQ(text().find("precious"), std::string::npos);
  window->document().saveNow();
  EXPECT_TRUE(window->notices().isHidden()) << "nothing is left to lose";
}

TEST_F(WindowTest, WhatWasNotReadOfASessionIsNotForgottenWhileItWaits) {
  QTemporaryDir folder;
  const QString path = folder.filePath("newer.kvscope");
  ASSERT_TRUE(window->document().save(path));
  ASSERT_TRUE(waitFor([&] { return !window->document().results().busy(); }, 30000));
  std::string newer = read_text(path.toStdString(), 1 << 24);
  newer.insert(newer.find('{') + 1, "\"future\":{\"precious\":1},");
  write(path, QByteArray::fromStdString(newer));
  const auto keepsIt = [&] {
    window->document().saveNow();
    return bytesOf(path).contains("precious");
  };
  window->openFile(path);
  ASSERT_TRUE(settle());
  window->document().putAside();
  window->document().giveBack();
  ASSERT_TRUE(settle());
  EXPECT_TRUE(keepsIt()) << "after a lesson";
  window->controller().setPrompt("unsaved words");
  ASSERT_TRUE(settle());
  window->document().openSample();
  ASSERT_TRUE(settle());
  QPushButton* back = buttonOf(window->notices(), "Back to the session before");
  ASSERT_NE(back, nullptr);
  back->click();
  ASSERT_TRUE(settle());
  EXPECT_TRUE(keepsIt()) << "after another session";
}

/// Elsewhere closing asks nothing: the next start offers what was not saved.
TEST_F(WindowTest, ClosingAsksWhereNothingWouldBeLeft) {
  window.reset();
  QTemporaryDir folder;
  write(folder.filePath("file"), "no folder");
  options.picture.clear();  // a user's window
  options.journal = folder.filePath("file").toStdString();
  options.prompt = "Mine";
  window = std::make_unique<MainWindow>(options, startState(options));
  window->show();
  ASSERT_TRUE(settle());
  window->controller().setPrompt("Mine and more");
  ASSERT_TRUE(settle());
  const auto close = [&](QMessageBox::StandardButton answer) {
    QString asked;
    QTimer::singleShot(300, [&] {
      auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
      if (box == nullptr) return;
      asked = box->text();
      box->button(answer)->click();
    });
    window->close();
    return asked;
  };
  EXPECT_TRUE(close(QMessageBox::Cancel).contains("Your session, which has no file."));
  EXPECT_TRUE(window->isVisible());

  // What was left behind has no backup either: it is named, and what is saved is that.
  const QString mine = folder.filePath("mine.kvscope");
  ASSERT_TRUE(window->document().save(mine));
  ASSERT_TRUE(waitFor([&] { return !window->document().results().busy(); }, 30000));
  window->controller().setPrompt("Mine and still more");
  ASSERT_TRUE(settle());
  window->document().openSample();
  ASSERT_TRUE(settle());
  const QString asked = close(QMessageBox::Cancel);
  EXPECT_TRUE(asked.contains("The session mine of ")) << asked.toStdString();
  EXPECT_TRUE(asked.contains("“Mine and still more”")) << asked.toStdString();
  EXPECT_FALSE(asked.contains("Your session")) << "the sample is nobody's work: " << asked.toStdString();
  EXPECT_FALSE(close(QMessageBox::Save).isEmpty());
  EXPECT_FALSE(window->isVisible());
  EXPECT_EQ(readSession(mine).session.request.prompt, "Mine and still more");
}

TEST_F(WindowTest, WhatCouldNotBeBackedUpIsOnceThereIsRoom) {
  window.reset();
  QTemporaryDir folder;
  const QString journals = folder.filePath("journals");
  write(journals, "no folder");
  options.picture.clear();
  options.journal = journals.toStdString();
  options.prompt = "Mine";
  window = std::make_unique<MainWindow>(options, startState(options));
  window->show();
  ASSERT_TRUE(settle());
  for (const char* text : {"One left behind", "Another left behind"}) {
    window->controller().setPrompt(text);
    ASSERT_TRUE(settle());
    window->document().openSample();
    ASSERT_TRUE(settle());
  }
  ASSERT_TRUE(QFile::remove(journals));
  const auto left = [&] {
    std::vector<std::string> out;
    for (const QString& path : SessionJournal::left(journals)) out.push_back(readSession(path).session.request.prompt);
    return out;
  };
  window->controller().setPrompt("A third, that is written");
  ASSERT_TRUE(settle());
  QPushButton* back = buttonOf(window->notices(), "Back to the session before");
  ASSERT_NE(back, nullptr) << window->notices().text().toStdString();
  back->click();
  ASSERT_TRUE(settle());
  ASSERT_EQ(window->controller().request().prompt, "Another left behind");
  EXPECT_THAT(left(), testing::UnorderedElementsAre("One left behind", "A third, that is written")) << "not of what is on screen";
  window->close();
  EXPECT_FALSE(window->isVisible()) << "nothing to ask";
  EXPECT_THAT(left(), testing::UnorderedElementsAre("One left behind", "Another left behind", "A third, that is written"));
}

/// The runs beside it come and go.
TEST_F(WindowTest, ABookmarkLeadsToTheRunThatItWasMadeIn) {
  QTemporaryDir folder;
  const QString path = folder.filePath("s.kvscope");
  viz::Selection at = window->workspace().selection();
  at.lane = 3, at.step = 2;  // SnapKV
  window->workspace().setSelection(at);
  window->bookmarkActions().add();
  window->controller().removeLane(2);
  ASSERT_TRUE(settle());
  const auto go = [&](int from) {
    viz::Selection selection = window->workspace().selection();
    selection.lane = from;
    window->workspace().setSelection(selection);
    window->bookmarkActions().goTo(0);
    return window->workspace().lane()->spec;
  };
  EXPECT_EQ(go(0), "snapkv:ratio=0.25");
  ASSERT_TRUE(window->document().save(path));
  window->openFile(path);
  ASSERT_TRUE(settle());
  EXPECT_EQ(go(0), "snapkv:ratio=0.25");
  EXPECT_FALSE(window->rows().passing().text().contains("that it was made in"));
  window->controller().setLaneSpec(2, "snapkv:ratio=0.5");
  ASSERT_TRUE(settle());
  EXPECT_EQ(go(0), "snapkv:ratio=0.5");
  EXPECT_TRUE(window->rows().passing().text().contains("has other settings")) << window->rows().passing().text().toStdString();
  window->controller().removeLane(2);
  ASSERT_TRUE(settle());
  EXPECT_EQ(go(1), lane(1)) << "no other one in its place";
  EXPECT_TRUE(window->rows().passing().text().contains("is not here any more")) << window->rows().passing().text().toStdString();
  ASSERT_TRUE(window->document().save(path));
  window->openFile(path);
  ASSERT_TRUE(settle());
  EXPECT_EQ(go(1), lane(1)) << "nor after it was saved";
}

TEST_F(WindowTest, BackLeadsToTheRunThatWasLookedAt) {
  for (const int run : {3, 0}) {
    viz::Selection at = window->workspace().selection();
    at.lane = run;
    window->workspace().setSelection(at);
  }
  window->controller().removeLane(2);
  ASSERT_TRUE(settle());
  window->rows().crumbs().back();
  EXPECT_EQ(window->workspace().lane()->spec, "snapkv:ratio=0.25");
}

TEST_F(WindowTest, ATextIsNotCalledThePromptWhereItIsNot) {
  QTemporaryDir folder;
  write(folder.filePath("text.txt"), "Another text.");
  window->openFile(QString::fromStdString(in_checkout("tests/golden/tiny-gqa-prefill-keepkv1.json")));
  ASSERT_TRUE(waitFor([&] { return window->controller().viewOnly(); }, 20000));
  window->openFile(folder.filePath("text.txt"));
  EXPECT_FALSE(window->rows().passing().text().contains("is the prompt now"));
  EXPECT_TRUE(window->notices().text().startsWith("Nothing was changed.")) << window->notices().text().toStdString();
}

}  // namespace
}  // namespace kvscope
