// SPDX-License-Identifier: Apache-2.0
// The main layouts in both themes against pictures that somebody has looked at (screens/README.md says how to make them anew). What
// canvases drew is compared first; pixels after it, without text.
#include <QDir>
#include <QFile>
#include <QFontDatabase>
#include <QFontInfo>
#include <QFontMetricsF>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QRegularExpression>

#include "app/window/diagnostics/scene_dump.h"
#include "app/window/lecture/lecture_guide.h"
#include "app/window/look/style.h"
#include "paths.h"
#include "window/support/screens.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

const QString kFolder = QString::fromStdString(in_checkout("tests/window/screens/"));
constexpr QSize kSize{1280, 800};

bool blessing() { return qEnvironmentVariableIntValue("KVSCOPE_BLESS") == 1; }

/// Layouts depend on the widths of words: with other fonts, everything stands elsewhere and there is nothing to compare.
QString fonts() {
  QStringList out;
  for (const QFont& font : {uiFont(13), uiFont(12, true), monoFont(12)})
    out << QString("%1 %2")
               .arg(QFontInfo(font).family())
               .arg(QFontMetricsF(font).horizontalAdvance("Head inspector 0123456789"), 0, 'f', 1);
  for (const char* file : {"NotoSans-Regular.ttf", "NotoSans-Bold.ttf", "NotoSansMono-Regular.ttf"})
    out << QString("%1 %2").arg(file, findFontFile(file).isEmpty() ? "is missing" : "is there");
  return out.join('\n') + '\n';
}

/// Marks a line each: what, where to the nearest two pixels, and what is printed, digits aside: they are another test's matter.
QString marks(const std::vector<CanvasWidget*>& canvases) {
  static const QRegularExpression number("[0-9]+");
  QStringList out;
  for (const QJsonValue& canvas : QJsonDocument::fromJson(sceneDump(canvases))["canvases"].toArray()) {
    out << QString("%1 %2 x %3").arg(canvas["view"].toString()).arg(canvas["size"][0].toInt()).arg(canvas["size"][1].toInt());
    for (const QJsonValue& m : canvas["marks"].toArray()) {
      QString value = m["value"].toString();
      QStringList rect;
      for (const QJsonValue& edge : m["rect"].toArray()) rect << QString::number(2 * qRound(edge.toDouble() / 2));
      out << QString(" %1 '%2' %3 %4")
                 .arg(m["kind"].toString(), m["label"].toString(), rect.join(' '), value.replace(number, "0"))
                 .trimmed();
    }
  }
  return out.join('\n') + '\n';
}

struct Layout {
  const char* name;
  const char* view;
};

void PrintTo(const Layout& layout, std::ostream* out) { *out << layout.name; }

class ScreensTest : public ::testing::TestWithParam<std::tuple<Layout, const char*>> {
 protected:
  QString name() const { return QString("%1-%2").arg(std::get<0>(GetParam()).name, std::get<1>(GetParam())); }

  void SetUp() override {
    if (blessing()) return;
    QFile of(kFolder + "fonts.txt");
    ASSERT_TRUE(of.open(QIODevice::ReadOnly));
    if (const QString want = QString::fromUtf8(of.readAll()); want != fonts())
      GTEST_SKIP() << "the references were made with other fonts:\n" << want.toStdString() << "here:\n" << fonts().toStdString();
  }

  std::unique_ptr<MainWindow> shown() {
    Options options;
    options.picture = "unused.png";
    options.view = std::get<0>(GetParam()).view;
    options.theme = std::get<1>(GetParam());
    options.size = kSize;
    options.layer = 4;
    options.kv_head = 1;
    options.generate = 6;
    options.lanes = {"h2o:ratio=0.25", "streaming:ratio=0.25", "keepkv:ratio=0.25"};
    QApplication::setCursorFlashTime(0);
    auto window = std::make_unique<MainWindow>(options, startState(options));
    window->setAttribute(Qt::WA_DontShowOnScreen);
    if (options.view == "lecture") window->document().openSampleLecture();
    window->show();
    EXPECT_TRUE(waitUntilSettled(*window, 60000));
    EXPECT_EQ(window->workspace().snapshot().phase, RunPhase::idle) << window->workspace().snapshot().failure;
    return window;
  }

  static std::vector<CanvasWidget*> canvasesOf(MainWindow& window) {
    std::vector<CanvasWidget*> out;
    for (CanvasWidget* c : window.findChildren<CanvasWidget*>())
      if (c->isVisible()) out.push_back(c);
    std::ranges::sort(out, {}, [](const CanvasWidget* c) { return std::string_view(c->view().id()); });
    return out;
  }

  /// Half the window's picture; text is transparent in it.
  static QImage picture(MainWindow& window) {
    const QImage whole = window.exports().picture().toImage();
    testing::TextBoxes text(whole.size());
    window.render(&text);
    for (CanvasWidget* canvas : canvasesOf(window)) {
      const QPointF at = canvas->mapTo(&window, QPoint());
      for (const viz::SceneCommand& c : canvas->scene().commands) {
        if (c.kind != viz::SceneCommand::Kind::text || c.points.empty()) continue;
        const double x = c.points[0].x, y = c.points[0].y, em = c.em, w = c.width;
        text.boxes.push_back((c.vertical ? QRectF(x - em, y, 2 * em, w) : QRectF(x, y - em * 0.75, w, em * 1.5)).translated(at));
      }
    }
    EXPECT_GT(text.boxes.size(), 20u);
    // What a run took and what the machine is called has no fixed width.
    text.boxes.emplace_back(whole.width() / 2, 0, whole.width() / 2, 30);
    text.boxes.emplace_back(0, whole.height() - 26, whole.width(), 26);
    return testing::reduced(whole, text.boxes);
  }
};

TEST_P(ScreensTest, LooksAsItDid) {
  const auto window = shown();
  if (window->devicePixelRatio() != 1) GTEST_SKIP() << "pixels of another size: " << window->devicePixelRatio();
  const QImage got = picture(*window);
  const QString dump = marks(canvasesOf(*window));
  if (blessing()) {
    QDir().mkpath(kFolder);
    QFile fonts_file(kFolder + "fonts.txt"), marks_file(kFolder + name() + ".txt");
    ASSERT_TRUE(got.save(kFolder + name() + ".png"));
    ASSERT_TRUE(marks_file.open(QIODevice::WriteOnly) && marks_file.write(dump.toUtf8()) >= 0);
    ASSERT_TRUE(fonts_file.open(QIODevice::WriteOnly) && fonts_file.write(fonts().toUtf8()) > 0);
    GTEST_SKIP() << "reference written: look at " << (kFolder + name()).toStdString() << ".png before it is committed";
  }
  QFile marks_file(kFolder + name() + ".txt");
  ASSERT_TRUE(marks_file.open(QIODevice::ReadOnly)) << "no reference: screens/README.md";
  const QStringList want_marks = QString::fromUtf8(marks_file.readAll()).split('\n'), got_marks = dump.split('\n');
  QStringList missing, added;
  const QSet<QString> want_set(want_marks.begin(), want_marks.end()), got_set(got_marks.begin(), got_marks.end());
  for (const QString& line : want_marks)
    if (!got_set.contains(line)) missing << line;
  for (const QString& line : got_marks)
    if (!want_set.contains(line)) added << line;
  EXPECT_TRUE(missing.isEmpty() && added.isEmpty()) << missing.size() << " marks gone, e.g.\n"
                                                    << missing.mid(0, 5).join('\n').toStdString() << "\n"
                                                    << added.size() << " new, e.g.\n"
                                                    << added.mid(0, 5).join('\n').toStdString();
  const QImage want(kFolder + name() + ".png");
  const testing::ScreenDifference d = testing::compare(got, want.convertToFormat(QImage::Format_ARGB32));
  EXPECT_GT(d.counted, 0.4) << "most of the picture is compared";
  if (!d.same() || HasFailure()) {
    const QString out = QDir::temp().filePath("kvscope-screens/");
    QDir().mkpath(out);
    got.save(out + name() + "-got.png");
    want.save(out + name() + "-want.png");
    d.picture.save(out + name() + "-diff.png");
    ADD_FAILURE() << "mean Delta E " << d.mean << " (0.5), over 10: " << 100 * d.far << " % (0.1 %); want, got and diff are in "
                  << out.toStdString();
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, ScreensTest,
                         ::testing::Combine(::testing::Values(Layout{"inspect", "inspect"}, Layout{"inspector", "inspector"},
                                                              Layout{"compare", "compare"}, Layout{"lecture", "lecture"},
                                                              Layout{"welcome", "welcome"}),
                                            ::testing::Values("dark", "light")),
                         [](const auto& layout) { return std::string(std::get<0>(layout.param).name) + "_" + std::get<1>(layout.param); });

TEST(ScreenCompareTest, ToleratesSmallShadesAndSeesWhatIsGone) {
  QImage want(400, 300, QImage::Format_ARGB32);
  want.fill(QColor(20, 23, 28));
  QPainter(&want).fillRect(40, 40, 120, 60, QColor(112, 162, 240));
  EXPECT_TRUE(testing::compare(want, want).same());
  QImage shade = want;
  for (int y = 0; y < 300; ++y)
    for (int x = 0; x < 400; ++x) shade.setPixelColor(x, y, QColor(want.pixel(x, y)).lighter(101));
  EXPECT_TRUE(testing::compare(shade, want).same()) << testing::compare(shade, want).mean;
  QImage gone = want;
  QPainter(&gone).fillRect(40, 40, 20, 10, QColor(20, 23, 28));
  EXPECT_FALSE(testing::compare(gone, want).same());
  QImage other = want;
  other.fill(QColor(26, 30, 36));
  EXPECT_FALSE(testing::compare(other, want).same()) << "a colour of the theme that changed everywhere";
  QImage masked = gone;
  for (int y = 40; y < 50; ++y)
    for (int x = 40; x < 60; ++x) masked.setPixel(x, y, 0);
  EXPECT_TRUE(testing::compare(masked, want).same()) << "text lies there";
  EXPECT_FALSE(testing::compare(want.copy(0, 0, 200, 300), want).same());
}

TEST(ScreenCompareTest, TextIsFoundWhereWidgetsPaintIt) {
  QWidget widget;
  widget.resize(300, 100);
  auto* label = new QLabel("some words", &widget);
  label->setGeometry(40, 30, 120, 20);
  widget.setAttribute(Qt::WA_DontShowOnScreen);
  widget.show();
  testing::TextBoxes text(widget.size());
  widget.render(&text);
  ASSERT_FALSE(text.boxes.empty());
  for (const QRectF& box : text.boxes) EXPECT_TRUE(QRectF(38, 26, 124, 30).contains(box)) << box.x() << " " << box.y();
  const QImage half = testing::reduced(widget.grab().toImage(), text.boxes);
  EXPECT_EQ(half.size(), QSize(150, 50));
  EXPECT_EQ(qAlpha(half.pixel(25, 20)), 0);
  EXPECT_EQ(qAlpha(half.pixel(5, 5)), 255);
}

}  // namespace
}  // namespace kvscope
