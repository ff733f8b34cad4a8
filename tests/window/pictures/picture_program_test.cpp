// SPDX-License-Identifier: Apache-2.0
// The program as a process: what it writes and how it leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QImage>
#include <QImageReader>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>

#include "app/lessons/lesson.h"
#include "app/window/session/session_file.h"
#include "app/window/shell/options.h"
#include "core/error.h"
#include "policy/catalog.h"
#include "window/support/file_bytes.h"

namespace kvscope {
namespace {

struct Result {
  int status = -1;
  QString out, err;
};

Result run(const QStringList& words, bool display = true, const QString& path = {}) {
  QProcess process;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  if (!display)
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) environment.remove(name);
  if (!path.isEmpty()) environment.insert("PATH", path);
  const QTemporaryDir runtime;  // its mode is 0700: without one, Qt says so on the error stream
  environment.insert("XDG_RUNTIME_DIR", runtime.path());
  process.setProcessEnvironment(environment);
  process.start(KVSCOPE_PROGRAM, words);
  if (!process.waitForFinished(90000)) {
    process.kill();
    return {};
  }
  return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -2, process.readAllStandardOutput(),
          process.readAllStandardError()};
}

class PictureTest : public ::testing::Test {
 protected:
  QTemporaryDir folder;
  QString file(const char* name) const { return folder.filePath(name); }
};

TEST_F(PictureTest, IsWrittenInTheWantedSize) {
  const Result result =
      run({"--prompt", "Once upon a time there was a cat.", "--generate", "3", "--size", "1200x800", "--picture", file("a.png")});
  EXPECT_EQ(result.status, 0) << result.err.toStdString();
  EXPECT_EQ(result.err, "");
  const QImage image(file("a.png"));
  EXPECT_EQ(image.size(), QSize(1200, 800));
}

TEST_F(PictureTest, OfAPageWithoutCanvasesIsRefused) {
  for (const char* name : {"a.svg", "a.json", "a.csv"}) {
    const Result result = run({"--prompt", "Once upon a time", "--generate", "2", "--view", "sweep", "--picture", file(name)});
    EXPECT_EQ(result.status, 2) << name;
    EXPECT_THAT(result.err.toStdString(), ::testing::HasSubstr("of a canvas, and this page has none; --view inspect or compare has"))
        << name;
    EXPECT_FALSE(QFile::exists(file(name)));
  }
}

/// Where two windows are not the same: all but the status bar, which says how long it took.
std::string differences(const QString& one, const QString& other) {
  const QRect panels(0, 0, 1600, 970);
  const QImage a = QImage(one).copy(panels), b = QImage(other).copy(panels);
  QRect different;
  for (int y = 0; y < a.height(); ++y)
    for (int x = 0; x < a.width(); ++x)
      if (a.pixel(x, y) != b.pixel(x, y)) different |= QRect(x, y, 1, 1);
  return different.isEmpty() ? std::string()
                             : QString("%1 x %2 pixels at %3, %4")
                                   .arg(different.width())
                                   .arg(different.height())
                                   .arg(different.x())
                                   .arg(different.y())
                                   .toStdString();
}

const QStringList kWords = {"--generate", "2", "--select", "L4.H1", "--tokens", "5-8", "--step", "1", "--picture"};

TEST_F(PictureTest, IsTheSameForTheSameWords) {
  for (const char* name : {"a.png", "b.png"}) ASSERT_EQ(run(kWords + QStringList{file(name)}).status, 0);
  EXPECT_EQ(differences(file("a.png"), file("b.png")), "");
}

TEST_F(PictureTest, IsTheSameWhereverTheEngineIs) {
  const QString cli = QFileInfo(KVSCOPE_PROGRAM).dir().filePath("kvscope-cli");
  ASSERT_EQ(run(kWords + QStringList{file("here.png")}).status, 0);
  Result result = run(QStringList{"--engine", "exec:" + cli} + kWords + QStringList{file("there.png")});
  ASSERT_EQ(result.status, 0) << result.err.toStdString();
  EXPECT_EQ(differences(file("here.png"), file("there.png")), "");
  result = run(QStringList{"--engine", "exec:/nowhere/kvscope-cli"} + kWords + QStringList{file("nowhere.png")});
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(result.err.contains("/nowhere/kvscope-cli")) << result.err.toStdString();
  EXPECT_FALSE(QFile::exists(file("nowhere.png")));
}

TEST_F(PictureTest, OfAllStepsIsAFilm) {
  if (QStandardPaths::findExecutable("ffmpeg").isEmpty()) GTEST_SKIP() << "ffmpeg is not installed";
  const QStringList words = {"--prompt", "Once upon a time there was a cat.", "--generate", "3", "--size", "1001x701"};
  Result result = run(words + QStringList{"--canvas", "atlas", "--picture", file("a.gif")});
  ASSERT_EQ(result.status, 0) << result.err.toStdString();
  QImageReader gif(file("a.gif"));
  ASSERT_GE(gif.imageCount(), 4) << "the prompt's step and three more, and the last one for longer";
  std::vector<QImage> steps;
  for (int i = 0; i < 4; ++i) steps.push_back(gif.read());
  for (std::size_t i = 1; i < 4; ++i) EXPECT_NE(steps[i - 1], steps[i]) << i;
  result = run(words + QStringList{"--picture", file("a.mp4")});
  ASSERT_EQ(result.status, 0) << result.err.toStdString();
  QFile mp4(file("a.mp4"));
  ASSERT_TRUE(mp4.open(QIODevice::ReadOnly));
  EXPECT_EQ(mp4.read(8).mid(4), "ftyp");
  result = run(words + QStringList{"--picture", "/nowhere/a.gif"});
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(result.err.contains("/nowhere")) << result.err.toStdString();
}

TEST_F(PictureTest, WithoutFfmpegAFilmSaysWhatIsMissing) {
  const Result result = run({"--prompt", "Once", "--generate", "1", "--picture", file("a.mp4")}, true, folder.path());
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(result.err.contains("films are written by ffmpeg, which is not installed (apt-get install ffmpeg)"))
      << result.err.toStdString();
  EXPECT_FALSE(QFile::exists(file("a.mp4")));
}

TEST_F(PictureTest, OfAFilmWhoseFfmpegWasEndedSaysSo) {
  const QString ffmpeg = file("ffmpeg");
  write(ffmpeg, "#!/bin/sh\nkill -9 $$\n");
  QFile::setPermissions(ffmpeg, QFile::ReadOwner | QFile::ExeOwner);
  const Result result = run({"--prompt", "Once", "--generate", "1", "--picture", file("a.mp4")}, true, folder.path());
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(result.err.contains("a.mp4: ffmpeg did not write it: it was ended before it was done")) << result.err.toStdString();
}

// The inspector asks for more to be measured once it is shown: the run is computed twice.
TEST_F(PictureTest, OfTheInspectorShowsTheStepThatWasAskedFor) {
  const Result result = run({"--prompt", "Once upon a time there was a cat.", "--generate", "6", "--lane", "keepkv:ratio=0.5", "--view",
                             "inspector", "--select", "L4.H1", "--step", "2", "--canvas", "inspector", "--picture", file("a.svg")});
  ASSERT_EQ(result.status, 0) << result.err.toStdString();
  QFile svg(file("a.svg"));
  ASSERT_TRUE(svg.open(QIODevice::ReadOnly));
  EXPECT_THAT(svg.readAll().toStdString(), ::testing::HasSubstr("step 2 of 6"));
}

TEST_F(PictureTest, ShowsTheThemeThatWasAskedFor) {
  ASSERT_EQ(run({"--generate", "1", "--theme", "light", "--picture", file("light.png")}).status, 0);
  ASSERT_EQ(run({"--generate", "1", "--theme", "dark", "--picture", file("dark.png")}).status, 0);
  EXPECT_GT(QImage(file("light.png")).pixelColor(3, 500).lightness(), 240);
  EXPECT_LT(QImage(file("dark.png")).pixelColor(3, 500).lightness(), 40);
}

TEST_F(PictureTest, OfEveryView) {
  for (const char* view : {"inspect", "inspector", "compare"})
    EXPECT_EQ(run({"--generate", "1", "--view", view, "--picture", file(view)}).status, 0) << view;
}

TEST_F(PictureTest, CannotBeWrittenIntoAFolderThatDoesNotExist) {
  const Result result = run({"--generate", "0", "--picture", file("no/such/folder.png")});
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(result.err.contains("folder.png")) << result.err.toStdString();
}

TEST(ProgramTest, BadWordsLeaveWithTwoAndSayWhatWasExpected) {
  const QStringList cases[] = {{"--no-such-word"},    {"--select", "4.1"},        {"--select", "L4H1"},         {"--tokens", "9-3"},
                               {"--size", "859x460"}, {"--size", "big"},          {"--theme", "green"},         {"--view", "everything"},
                               {"--generate", "-1"},  {"--prompt-mode", "magic"}, {"--lane", "nobody:slots=3"}, {"--lane", "full:slots="}};
  for (const QStringList& words : cases) {
    const Result result = run(words);
    EXPECT_EQ(result.status, 2) << words.join(' ').toStdString() << ": " << result.err.toStdString();
    EXPECT_FALSE(result.err.isEmpty()) << words.join(' ').toStdString();
  }
}

TEST(ProgramTest, ANumberThatIsNoneIsSaidAsItWasTyped) {
  const std::pair<QStringList, std::string> cases[] = {
      {{"--step", "-1"}, "--step: expected a whole number, 0 or more, got \"-1\"\n"},
      {{"--show", "-7"}, "--show: expected a whole number, 0 or more, got \"-7\"\n"},
      {{"--step", "1.5"}, "--step: expected a whole number, 0 or more, got \"1.5\"\n"},
      {{"--step", "99999999999"}, "--step: expected a whole number, from 0 to 2147483647, got \"99999999999\"\n"},
      {{"--generate", "-1"}, "--generate: expected a whole number, from 0 to 1048576, got \"-1\"\n"},
      {{"--ghosts", "x"}, "--ghosts: expected a whole number, from 0 to 1048576, got \"x\"\n"},
      {{"--canvas", "atlas", "--scale", "9"}, "--scale: expected a number from 0.5 to 8, got 9\n"}};
  for (const auto& [words, said] : cases) {
    const Result result = run(words);
    EXPECT_EQ(result.status, 2) << words.join(' ').toStdString();
    EXPECT_THAT(result.err.toStdString(), ::testing::StartsWith(said));
  }
}

/// Qt has no names that are no UTF-8, so that it would write another file, or say of one that is there that it is not.
TEST_F(PictureTest, ANameThatIsNoUtf8IsRefusedWithAWord) {
  const auto status = [&](const std::string& words) {  // bytes that QProcess would change
    return std::system((std::string(KVSCOPE_PROGRAM) + " --generate 0 " + words + " 2>" + file("err").toStdString()).c_str()) >> 8;
  };
  const std::string bad = file("a").toStdString() + "$(printf '\\377')";
  for (const std::string& words : {"--picture " + bad + ".png", "--session " + bad + ".kvscope --picture p.png", bad + ".kvscope",
                                   "--model " + bad, "--journal " + bad, "--prompt-file " + bad}) {
    EXPECT_EQ(status(words), 2) << words;
    EXPECT_THAT(bytesOf(file("err")).toStdString(), ::testing::HasSubstr("expected a name in UTF-8, got")) << words;
  }
  EXPECT_EQ(QDir(folder.path()).entryList({"a*"}).size(), 0);
}

TEST_F(PictureTest, SaysWhatTheRunTakesWhereThatIsMuch) {
  const QStringList words = {"--lane", "local:slots=9", "--prompt", "Once upon a time there was a cat.", "--picture", file("a.png")};
  const Result small = run(words + QStringList{"--generate", "60", "--memory", "1M"});
  EXPECT_EQ(small.status, 0);
  EXPECT_THAT(small.err.toStdString(), ::testing::HasSubstr("the limit is 1.0 MiB: older steps will keep only figures"));
}

/// What the command line refuses of a session's runs is not left out of a picture without a word.
TEST_F(PictureTest, OfASessionHasTheRunsThatItAsksFor) {
  const QString path = file("s.kvscope");
  const auto both = [&](const QString& edits) {
    QFile f(path);
    EXPECT_TRUE(f.open(QIODevice::WriteOnly));
    f.write(QString(R"({"kvscope": "session", "version": 1, "model": {"built_in": true}, "prompt": "The cat sat on the mat. The dog sat on",
                        "lanes": ["full", "h2o:slots=8%1"], "generate": 2})")
                .arg(edits)
                .toUtf8());
    f.close();
    const Result picture = run({"--session", path, "--picture", file("p.png")});
    QProcess cli;
    cli.start(KVSCOPE_CLI, {"run", "--quiet", "--session", path});
    EXPECT_TRUE(cli.waitForFinished(60000));
    const QString said = cli.readAllStandardError();
    EXPECT_EQ(picture.status == 0, cli.exitCode() == 0) << edits.toStdString() << "\n" << picture.err.toStdString() << said.toStdString();
    if (cli.exitCode() != 0) {
      EXPECT_TRUE(picture.err.contains(said.mid(QString("kvscope-cli: ").size()).trimmed())) << picture.err.toStdString() << "\n"
                                                                                             << said.toStdString();
    }
    return picture.status == 0;
  };
  for (const char* edits : {"@evict=-1,step=1", "@merge=3,into=3,step=1", "@evict=3", "@evict=3,step=1,layers=99", "@slots=0",
                            "@factor=nan", "@bogus=1,step=1", "@evict=99999999999,step=1"})
    EXPECT_FALSE(both(edits)) << edits;
  for (const char* edits : {"", "@evict=3,step=900", "@evict=4,step=1@merge=3,into=4,step=1", "@pin=4@evict=4,step=1"})
    EXPECT_TRUE(both(edits)) << edits;
}

TEST_F(PictureTest, OfAPlaceThatIsNotThereIsNotWrittenAndSaysWhatIs) {
  const std::pair<QStringList, const char*> cases[] = {{{"--select", "L99.H99"}, "--select: expected L0 to L5 and H0 to H3, got L99.H99"},
                                                       {{"--select", "L1.H9"}, "got L1.H9"},
                                                       {{"--step", "999999"}, "--step: expected a step from 0 to 2, got 999999"},
                                                       {{"--steps", "1-900"}, "--steps: expected steps from 0 to 2, got 1-900"},
                                                       {{"--tokens", "5-4000"}, "got 5-4000"},
                                                       {{"--show", "40"}, "--show: expected a run from 0 to 4, got 40"}};
  for (const auto& [words, said] : cases) {
    const Result result = run(QStringList{"--generate", "2", "--picture", file("a.png")} + words);
    EXPECT_EQ(result.status, 1) << words.join(' ').toStdString();
    EXPECT_THAT(result.err.toStdString(), ::testing::HasSubstr(said));
    EXPECT_FALSE(QFile::exists(file("a.png"))) << words.join(' ').toStdString();
  }
  const Result report = run({"--generate", "2", "--report", file("a.html"), "--step", "3"});
  EXPECT_EQ(report.status, 1);
  EXPECT_THAT(report.err.toStdString(), ::testing::HasSubstr("--step: expected a step from 0 to 2, got 3"));
  EXPECT_FALSE(QFile::exists(file("a.html")));
}

/// What a session says is looked at where the command line says nothing else.
TEST_F(PictureTest, OfASessionIsOfThePlaceThatIsAskedFor) {
  SavedSession session;
  session.request.prompt = "Once upon a time there was a cat.";
  session.request.lanes = parse_lane_specs({"full", "h2o:slots=5"});
  session.request.n_generate = 4;
  session.selection.step = 1;
  writeSession(file("s.kvscope"), session);
  const Result result = run({"--session", file("s.kvscope"), "--step", "3", "--canvas", "atlas", "--picture", file("a.svg")});
  ASSERT_EQ(result.status, 0) << result.err.toStdString();
  EXPECT_THAT(bytesOf(file("a.svg")).toStdString(), ::testing::HasSubstr("step 3"));
  const Result beyond = run({"--session", file("s.kvscope"), "--step", "30", "--picture", file("b.png")});
  EXPECT_EQ(beyond.status, 1);
  EXPECT_THAT(beyond.err.toStdString(), ::testing::HasSubstr("--step: expected a step from 0 to 4, got 30"));
}

TEST_F(PictureTest, NeverTakesThePlaceOfWhatItIsMadeOf) {
  const QString text = folder.filePath("story.json"), config = folder.filePath("config.json"), weights = folder.filePath("a.safetensors");
  for (const QString& path : {text, config, weights}) write(path, "Once upon a time");
  const Result of_text = run({"--prompt-file", text, "--picture", text});
  EXPECT_EQ(of_text.status, 2);
  EXPECT_TRUE(of_text.err.contains("this file is read for the result")) << of_text.err.toStdString();
  const Result of_model = run({"--generate", "0", "--picture", config});
  EXPECT_EQ(of_model.status, 1);
  EXPECT_TRUE(of_model.err.contains("this is a file of a model by its name")) << of_model.err.toStdString();
  EXPECT_THROW(writeSession(weights, SavedSession()), Error);
  for (const QString& path : {text, config, weights}) EXPECT_EQ(bytesOf(path), "Once upon a time");
}

TEST(ProgramTest, AMissingModelOrFileLeavesWithOneAndASentence) {
  const Result no_model = run({"--model", "/no/such/model", "--picture", "/tmp/never.png"});
  EXPECT_EQ(no_model.status, 1);
  EXPECT_TRUE(no_model.err.contains("/no/such/model")) << no_model.err.toStdString();
  const Result no_file = run({"--prompt-file", "/no/such/prompt.txt", "--picture", "/tmp/never.png"});
  EXPECT_EQ(no_file.status, 1);
  EXPECT_TRUE(no_file.err.contains("/no/such/prompt.txt")) << no_file.err.toStdString();
}

TEST_F(PictureTest, OfASessionThatCannotBeOpenedIsNotOfSomethingElse) {
  const auto written = [this](const char* name, const QByteArray& bytes) {
    QFile f(file(name));
    EXPECT_TRUE(f.open(QIODevice::WriteOnly));
    f.write(bytes);
    return file(name);
  };
  const QByteArray session =
      R"({"kvscope": "session", "version": 1, "model": {"built_in": true}, "prompt": "Once", "lanes": ["full"], "generate": 1})";
  ASSERT_TRUE(QDir().mkpath(file("empty")));
  const std::pair<QString, const char*> cases[] = {
      {written("cut.kvscope", session.left(60)), "cut short"},
      {file("missing.kvscope"), "missing.kvscope"},
      {written("type.kvscope", QByteArray(session).replace("\"Once\"", "7")), "session: prompt: expected a text"},
      {written("model.kvscope", QByteArray(session).replace("\"built_in\": true", "\"folder\": \"/no/such/model\"")), "/no/such/model"},
      {written("broken.kvscope", QByteArray(session).replace("\"built_in\": true", "\"folder\": \"" + file("empty").toUtf8() + "\"")),
       "config.json"},
      {written("numbers.json", "[1, 2]"), "session"},
      {written("text.txt", "Once upon a time"), "expected a session"},
      {file("empty"), "expected a session"},
      {written("trace.json", "{\"schema\": \"kvscope.trace/1\", \"lanes\": 7}"), "trace.json"},
      {written("kept.json", "{\"schema\": \"kvscope.kept/1\", \"model\": 7}"), "kept.json"},
  };
  for (const auto& [path, why] : cases)
    for (const QStringList& wanted : {QStringList{"--report", file("r.html")}, {"--picture", file("p.svg")}}) {
      const Result result = run(QStringList{"--session", path} + wanted);
      EXPECT_EQ(result.status, 1) << path.toStdString();
      EXPECT_TRUE(result.err.contains(why)) << path.toStdString() << ": " << result.err.toStdString();
      EXPECT_FALSE(QFile::exists(wanted.back())) << path.toStdString();
      QFile::remove(wanted.back());
    }
  const Result good = run({"--session", written("good.kvscope", session), "--report", file("good.html")});
  EXPECT_EQ(good.status, 0) << good.err.toStdString();
  EXPECT_TRUE(QFile::exists(file("good.html")));
}

TEST_F(PictureTest, AFileByItselfIsOpenedForWhatItIs) {
  const auto written = [this](const char* name, const QByteArray& bytes) {
    QFile f(file(name));
    EXPECT_TRUE(f.open(QIODevice::WriteOnly));
    f.write(bytes);
    return file(name);
  };
  const auto report = [this](const QStringList& words) {
    const Result result = run(words + QStringList{"--report", file("r.html")});
    EXPECT_EQ(result.status, 0) << result.err.toStdString();
    QFile f(file("r.html"));
    EXPECT_TRUE(f.open(QIODevice::ReadOnly));
    return QString::fromUtf8(f.readAll());
  };
  const QByteArray session =
      R"({"kvscope": "session", "version": 1, "model": {"built_in": true}, "prompt": "Tom lives in Oslo.", "lanes": ["full"], "generate": 1})";
  EXPECT_TRUE(report({written("text", "Alice lives in Paris.")}).contains("Alice lives in Paris."));
  EXPECT_TRUE(report({written("s.kvscope", session)}).contains("Tom lives in Oslo."));
  EXPECT_TRUE(report({written("s.data", session)}).contains("Tom lives in Oslo.")) << "by its content";
  EXPECT_TRUE(report({QString::fromStdString(builtInModel()), "--prompt", "Mary"}).contains("Mary")) << "a model folder";
  const std::pair<QStringList, const char*> wrong[] = {
      {{file("missing.kvscope")}, "no such file"},
      {{written("text", "x"), "--prompt", "y"}, "--prompt is given already"},
      {{file("s.kvscope"), "--session", file("s.data")}, "--session is given already"},
      {{written("k.json", "{\"schema\": \"kvscope.kept/1\"}"), "--session", file("s.data")}, "--session is given already"},
  };
  for (const auto& [words, why] : wrong) {
    const Result result = run(words + QStringList{"--picture", file("p.png")});
    EXPECT_EQ(result.status, 2) << why;
    EXPECT_TRUE(result.err.contains(why)) << result.err.toStdString();
    EXPECT_FALSE(QFile::exists(file("p.png")));
  }
}

TEST_F(PictureTest, AScaleOrSceneThatIsNoneIsNotDrawnAsAnother) {
  const std::pair<QStringList, const char*> wrong[] = {
      {{"--scale", "2"}, "--scale: expected --canvas NAME with it"},
      {{"--report-sheets"}, "--report-sheets: expected --report FILE.pdf with it"},
      {{"--view", "inspect", "--scene", "sink"}, "--scene: expected --view lecture with it, got --view inspect"},
      {{"--canvas", "head_grid", "--scale", "nan"}, "--scale: expected a number from 0.5 to 8, got nan"},
      {{"--view", "lecture", "--scene", "nothing"}, "--scene: expected one of "},
      {{"--view", "lecture", "--scenes", QString::fromStdString(built_in_lessons()[2]), "--scene", "nothing"}, "got \"nothing\""},
  };
  for (const auto& [words, why] : wrong) {
    const Result result = run(words + QStringList{"--generate", "0", "--picture", file("p.png")});
    EXPECT_EQ(result.status, 2) << why;
    EXPECT_TRUE(result.err.contains(why)) << result.err.toStdString();
    EXPECT_FALSE(QFile::exists(file("p.png"))) << why;
  }
}

TEST_F(PictureTest, ALessonOrStoreThatCannotBeReadIsNoOtherOne) {
  QFile f(file("none.json"));
  ASSERT_TRUE(f.open(QIODevice::WriteOnly));
  f.write(R"({"kvscope": "scenes", "version": 1, "scenes": []})");
  f.close();
  const std::pair<QStringList, const char*> wrong[] = {
      {{"--scenes", file("none.json"), "--view", "lecture"}, "expected at least one scene"},
      {{file("none.json")}, "expected at least one scene"},
      {{"--scenes", file("missing.json")}, "missing.json"},
      {{"--store", file("missing")}, "missing"},
  };
  for (const auto& [words, why] : wrong) {
    const Result result = run(words + QStringList{"--generate", "0", "--picture", file("p.png")});
    EXPECT_EQ(result.status, 1) << why;
    EXPECT_TRUE(result.err.contains(why)) << result.err.toStdString();
    EXPECT_FALSE(QFile::exists(file("p.png"))) << why;
  }
}

TEST_F(PictureTest, WhatAFileSaysItselfIsNotSaidBesideIt) {
  SavedSession session;
  session.request.prompt = "Tom is here.";
  session.request.lanes = {parse_lane_spec("full")};
  writeSession(file("s.kvscope"), session);
  ASSERT_EQ(QProcess::execute(KVSCOPE_CLI, {"trace", "--quiet", "--prompt", "Tom is here.", "--lane", "local:slots=3", "--detail", "why",
                                            "--out", file("t.json"), "--out-kept", file("k.json")}),
            0);
  QFile text(file("x.txt"));
  ASSERT_TRUE(text.open(QIODevice::WriteOnly));
  text.write("Ben is there.");
  text.close();
  const QStringList options[] = {{"--prompt", "Hello there"}, {"--prompt-file", file("x.txt")}, {"--lane", "h2o:slots=3"},
                                 {"--generate", "2"},         {"--prompt-mode", "stream"},      {"--model", KVSCOPE_PROGRAM}};
  const auto refused = [&](const QString& path, const QStringList& option, const char* why) {
    const Result result = run(QStringList{path} + option + QStringList{"--report", file("r.html")});
    EXPECT_EQ(result.status, 2) << option.front().toStdString();
    EXPECT_TRUE(result.err.contains("unexpected '" + option.front() + "' beside " + path + ": " + why)) << result.err.toStdString();
    EXPECT_FALSE(QFile::exists(file("r.html")));
  };
  for (const QStringList& option : options) {
    refused(file("s.kvscope"), option, "a session says itself what is run");
    refused(file("t.json"), option, "a stored run is given alone");
  }
  for (const int i : {0, 1}) refused(file("k.json"), options[i], "kept tokens say themselves what is run");
  const QString lesson = QString::fromStdString(built_in_lessons()[1]);
  for (const int i : {0, 1, 2, 3, 4}) refused(lesson, options[i], "the lesson says it itself");
  const Result kept = run({file("k.json"), "--generate", "3", "--report", file("r.html")});
  EXPECT_EQ(kept.status, 0) << kept.err.toStdString();
  QFile report(file("r.html"));
  ASSERT_TRUE(report.open(QIODevice::ReadOnly));
  EXPECT_TRUE(report.readAll().contains("--generate 3")) << "what the file does not say is taken";
  report.remove();
  const Result streamed = run({file("k.json"), "--prompt-mode", "stream", "--report", file("r.html")});
  EXPECT_EQ(streamed.status, 1);
  EXPECT_TRUE(streamed.err.contains("expected prompt mode prefill")) << streamed.err.toStdString();
}

TEST_F(PictureTest, OfNoTextOrIntoNoFileIsRefused) {
  QFile empty(file("empty.txt"));
  ASSERT_TRUE(empty.open(QIODevice::WriteOnly));
  empty.close();
  const std::pair<QStringList, QString> wrong[] = {
      {{"--prompt-file", file("empty.txt"), "--report", file("r.html")}, "empty.txt: expected a text, got an empty one"},
      {{"--prompt", "", "--picture", file("p.png")}, "--prompt: expected a text, got an empty one"},
      {{"--picture", "-"}, "--picture: expected a file, got -: ./- is a file of this name"},
      {{"--report", "-"}, "--report: expected a file, got -"}};
  for (const auto& [words, why] : wrong) {
    const Result result = run(words + QStringList{"--generate", "0"});
    EXPECT_EQ(result.status, 2) << why.toStdString();
    EXPECT_TRUE(result.err.contains(why)) << result.err.toStdString();
  }
}

TEST_F(PictureTest, ALessonBeginsWithTheMarkOfAnEditorOrWithout) {
  QFile f(file("bom.json"));
  ASSERT_TRUE(f.open(QIODevice::WriteOnly));
  f.write(
      "\xef\xbb\xbf"
      R"({"kvscope":"scenes","version":1,"stage":{"prompt":"Tom is here."},"scenes":[{"id":"a","variants":[{"message":"m"}]}]})");
  f.close();
  const Result result = run({file("bom.json"), "--generate", "0", "--picture", file("p.png")});
  EXPECT_EQ(result.status, 0) << result.err.toStdString();
}

TEST_F(PictureTest, OfALessonThatWantsAFileReadFromElsewhereIsNotMade) {
  const QTemporaryDir elsewhere;
  const QString secret = elsewhere.filePath("secret.json");
  QFile(secret).open(QIODevice::WriteOnly);
  QFile f(file("l.json"));
  ASSERT_TRUE(f.open(QIODevice::WriteOnly));
  f.write(QString(R"({"kvscope":"scenes","version":1,"stage":{"prompt":"Tom is here.","runs":["duo:ratio=0.3,heads=%1"]},
    "scenes":[{"id":"a","variants":[{"message":"m"}]}]})")
              .arg(secret)
              .toUtf8());
  f.close();
  const Result result = run({file("l.json"), "--generate", "0", "--picture", file("p.png")});
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(result.err.contains("l.json was not opened yet: its runs read " + secret + ", outside of its folder"))
      << result.err.toStdString();
  EXPECT_FALSE(QFile::exists(file("p.png")));
}

TEST_F(PictureTest, WhatAnotherProgramKeptStandsBesideARunOfOurs) {
  QProcess cli;
  cli.start(KVSCOPE_CLI, {"trace", "--prompt", "Alice lives in Paris. Tom lives in Rome. Alice lives in", "--lane", "local:slots=7",
                          "--out", file("t.json"), "--out-kept", file("k.json"), "--quiet"});
  ASSERT_TRUE(cli.waitForFinished(60000));
  ASSERT_EQ(cli.exitCode(), 0) << cli.readAllStandardError().toStdString();
  const Result result = run({file("k.json"), "--lane", "snapkv:slots=7", "--report", file("r.html")});
  ASSERT_EQ(result.status, 0) << result.err.toStdString();
  QFile f(file("r.html"));
  ASSERT_TRUE(f.open(QIODevice::ReadOnly));
  const QString report = QString::fromUtf8(f.readAll());
  for (const char* words : {"Alice lives in Paris.", "B SnapKV", "C local:slots=7"}) EXPECT_TRUE(report.contains(words)) << words;
}

TEST(ProgramTest, HelpAndVersionNeedNoDisplay) {
  const Result help = run({"--help"}, false);
  EXPECT_EQ(help.status, 0);
  EXPECT_TRUE(help.out.contains("--picture"));
  EXPECT_TRUE(help.out.contains("Ctrl+Shift+P")) << "the keys";
  EXPECT_TRUE(help.out.contains("evict=")) << "how edits are written";
  const Result version = run({"--version"}, false);
  EXPECT_EQ(version.status, 0);
  EXPECT_TRUE(version.out.startsWith("kvscope "));
}

TEST(ProgramTest, HelpAndVersionThatCannotBeWrittenAreAFailure) {
  for (const char* option : {"--help", "--version"})
    for (const char* where : {">/dev/full", ">&-"}) {
      QProcess shell;
      shell.start("sh", {"-c", QString("\"$0\" %1 %2").arg(option, where), KVSCOPE_PROGRAM});
      ASSERT_TRUE(shell.waitForFinished(30000));
      EXPECT_EQ(shell.exitCode(), 1) << option << where;
      EXPECT_TRUE(shell.readAllStandardError().startsWith("kvscope: stdout: expected to write the whole result")) << option << where;
    }
}

/// A driver maps the file of its shaders: where it does not fit, the first touch would end the program.
TEST_F(PictureTest, ADiskThatIsFullKeepsNoShaders) {
  QTemporaryDir cache;
  const auto mounted = [&](const QString& script) {
    QProcess shell;
    const QStringList run{"bash",          "-c", "mount -t tmpfs -o size=20k none \"$0\" && " + script, cache.path(), KVSCOPE_PROGRAM,
                          file("full.png")};
    shell.start("unshare", QStringList{::geteuid() == 0 ? "-m" : "-rm"} + run);
    shell.waitForFinished(90000);
    return shell.exitStatus() == QProcess::NormalExit ? shell.exitCode() : -1;
  };
  if (mounted("true") != 0) GTEST_SKIP() << "no private mounts here: the full disk is not tested";
  EXPECT_EQ(mounted("XDG_CACHE_HOME=\"$0\" exec \"$1\" --prompt Once --generate 0 --picture \"$2\""), 0);
}

TEST(ProgramTest, WithoutADisplayItSaysSo) {
  const Result result = run({"--picture", "/tmp/never.png"}, false);
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(result.err.contains("display")) << result.err.toStdString();
}

TEST(ProgramTest, ADisplayThatDoesNotAnswerIsASentence) {
  QProcess process;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  for (const char* name : {"WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) environment.remove(name);
  const QTemporaryDir runtime;
  environment.insert("XDG_RUNTIME_DIR", runtime.path());
  int nobody = 4711;  // a number that no server on this machine has
  while (QFile::exists(QString("/tmp/.X11-unix/X%1").arg(nobody))) nobody++;
  const QString display = QString(":%1").arg(nobody);
  environment.insert("DISPLAY", display);
  process.setProcessEnvironment(environment);
  process.start(KVSCOPE_PROGRAM, {"--picture", "/tmp/never.png"});
  ASSERT_TRUE(process.waitForFinished(60000));
  EXPECT_EQ(process.exitStatus(), QProcess::NormalExit);
  EXPECT_EQ(process.exitCode(), 1);
  const QByteArray said = process.readAllStandardError();
  EXPECT_TRUE(said.startsWith(("kvscope: the display " + display + " cannot be opened").toUtf8()) && said.count('\n') == 1)
      << said.toStdString();
}

}  // namespace
}  // namespace kvscope
