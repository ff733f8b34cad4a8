// SPDX-License-Identifier: Apache-2.0
#include "app/window/canvas/canvas_widget.h"

#include <array>
#include <set>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <gtest/gtest.h>
#include <QAccessible>
#include <QApplication>
#include <QLineEdit>
#include <QMouseEvent>
#include <QSignalSpy>
#include <QTest>
#include <QVBoxLayout>

#include "app/window/session/workspace.h"
#include "viz/synthetic.h"
#include "window/support/patience.h"

namespace kvscope {
namespace {

/// Draws a texture of two by two colours over its left half, counts what it sees of the mouse.
class Probe : public viz::View {
 public:
  const char* id() const override { return "probe"; }
  const char* title() const override { return "Probe"; }
  std::string facts(const viz::Frame&) const override { return "some facts"; }
  void draw(const viz::Frame& frame, std::vector<viz::Intent>& intents) override {
    const ImTextureID texture = frame.textures->texture("probe", version, 2, 2, texels);
    ImGui::GetWindowDrawList()->AddImage(texture, ImVec2(0, 0), ImVec2(frame.size.x / 2, frame.size.y));
    if (ImGui::IsMouseClicked(0)) ++clicks;
    if (ImGui::IsMouseDoubleClicked(0)) ++double_clicks;
    dim = frame.dim;
    if (ImGui::IsMousePosValid() && ImGui::GetIO().MousePos.x >= 0) intents.push_back(viz::HoverAt{{.token = 7}, {"token 7"}});
  }
  bool key(const viz::Frame&, std::string_view key, std::vector<viz::Intent>& intents) override {
    keys.emplace_back(key);
    if (key == "Enter") intents.push_back(viz::OpenInspector{});
    return key != "F9";
  }
  std::string cursor_text(const viz::Frame&) const override { return "layer 1, head 2, kept"; }
  viz::Table table(const viz::Frame&) const override { return {{"a"}, {{"1"}}, ""}; }
  const std::vector<viz::Mark>& marks() const override { return no_marks; }

  std::array<std::uint32_t, 4> texels = {0xff0000ff, 0xff00ff00, 0xffff0000, 0xffffffff};  // red, green / blue, white
  std::uint64_t version = 1;
  int clicks = 0, double_clicks = 0;
  double dim = 0;
  std::vector<std::string> keys;
  std::vector<viz::Mark> no_marks;
};

class CanvasTest : public ::testing::Test {
 protected:
  CanvasTest() : renderer(CanvasRenderer::create(&reason)) {}
  void SetUp() override { ASSERT_TRUE(renderer) << reason.toStdString(); }

  std::unique_ptr<CanvasWidget> show(viz::View& view, int width = 200, int height = 100) {
    auto canvas = std::make_unique<CanvasWidget>(view, workspace, renderer.get(), reason);
    canvas->resize(width, height);
    canvas->show();
    EXPECT_TRUE(QTest::qWaitForWindowExposed(canvas.get()));
    QTest::qWait(100);
    return canvas;
  }

  // QTest::mouseMove places the server's pointer, which says nothing when it is there already.
  static void moveMouse(QWidget& widget, QPoint at) {
    QMouseEvent move(QEvent::MouseMove, at, widget.mapToGlobal(QPointF(at)), Qt::NoButton, Qt::NoButton, Qt::NoModifier);
    QApplication::sendEvent(&widget, &move);
  }

  QString reason;
  std::unique_ptr<CanvasRenderer> renderer;
  Workspace workspace;
  Probe probe;
};

TEST_F(CanvasTest, ShowsTheTexelsWithTheirColoursAndTheFirstRowOnTop) {
  auto canvas = show(probe);
  const QImage image = canvas->grab().toImage();
  EXPECT_EQ(image.pixelColor(25, 25), QColor(255, 0, 0));
  EXPECT_EQ(image.pixelColor(75, 25), QColor(0, 255, 0));
  EXPECT_EQ(image.pixelColor(25, 75), QColor(0, 0, 255));
  EXPECT_EQ(image.pixelColor(75, 75), QColor(255, 255, 255));
  const viz::Rgb panel = workspace.theme().panel;
  EXPECT_EQ(image.pixelColor(150, 50), QColor(panel.r(), panel.g(), panel.b()));
}

TEST_F(CanvasTest, ReadsTexelsAgainOnlyWhenTheirVersionGrows) {
  auto canvas = show(probe);
  probe.texels.fill(0xff112233);
  canvas->invalidate();
  EXPECT_EQ(canvas->grab().toImage().pixelColor(25, 25), QColor(255, 0, 0));
  ++probe.version;
  canvas->invalidate();
  EXPECT_EQ(canvas->grab().toImage().pixelColor(25, 25), QColor(0x33, 0x22, 0x11));
}

/// Fonts live as long as the window does, for every size of type that was ever shown or copied.
TEST_F(CanvasTest, FontsOfALargeSizeTakeLittleMemoryOnceTheyAreDrawn) {
  ASSERT_TRUE(renderer->device().makeCurrent());
  ImFontAtlas& atlas = renderer->fonts(1).atlas();
  EXPECT_TRUE(atlas.IsBuilt());
  EXPECT_EQ(atlas.TexPixelsAlpha8, nullptr) << "the texture has them";
  EXPECT_EQ(atlas.TexPixelsRGBA32, nullptr);
  EXPECT_TRUE(atlas.ConfigData.empty()) << "nor are the fonts' files needed";
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const auto held = [] {
    const auto m = ::mallinfo2();
    return static_cast<double>(m.uordblks + m.hblkhd) / (1 << 20);
  };
  const double before = held();
  renderer->fonts(2);
  EXPECT_LT(held() - before, 16) << "MiB, a texture of software OpenGL included";
#endif
}

TEST_F(CanvasTest, DoesNotPaintWhenNothingHappens) {
  auto canvas = show(probe);
  QTest::qWait(200);
  const int paints = canvas->paints(), frames = canvas->framesDrawn();
  QTest::qWait(1000);
  EXPECT_EQ(canvas->paints() - paints, 0);
  EXPECT_EQ(canvas->framesDrawn() - frames, 0);
}

TEST_F(CanvasTest, SettlesWithinThreeFramesAfterAMouseMove) {
  auto canvas = show(probe);
  const int frames = canvas->framesDrawn();
  moveMouse(*canvas, QPoint(20, 20));
  QTest::qWait(300);
  EXPECT_GE(canvas->framesDrawn() - frames, 2);
  EXPECT_LE(canvas->framesDrawn() - frames, 4) << "two for the move, one or two for the hover it made";
}

TEST_F(CanvasTest, APressAndReleaseInOneTurnIsOneClick) {
  auto canvas = show(probe);
  moveMouse(*canvas, QPoint(20, 20));
  QTest::mouseClick(canvas.get(), Qt::LeftButton, {}, QPoint(20, 20));
  QTest::qWait(200);
  EXPECT_EQ(probe.clicks, 1);
}

TEST_F(CanvasTest, ADoubleClickIsADoubleClick) {
  auto canvas = show(probe);
  QTest::mouseClick(canvas.get(), Qt::LeftButton, {}, QPoint(20, 20));
  QTest::mouseDClick(canvas.get(), Qt::LeftButton, {}, QPoint(20, 20));
  QTest::mouseRelease(canvas.get(), Qt::LeftButton, {}, QPoint(20, 20));
  QTest::qWait(200);
  EXPECT_EQ(probe.clicks, 2);
  EXPECT_EQ(probe.double_clicks, 1);
}

TEST_F(CanvasTest, HoverIsPublishedAndGoesWhenTheMouseLeaves) {
  auto canvas = show(probe);
  moveMouse(*canvas, QPoint(20, 20));
  EXPECT_TRUE(waitFor([this] { return workspace.hover().token == 7; }, 3000));
  QEvent leave(QEvent::Leave);
  QApplication::sendEvent(canvas.get(), &leave);
  QTest::qWait(200);
  EXPECT_FALSE(workspace.hover().token);
}

TEST_F(CanvasTest, KeysGoToTheViewByNameAndTabLeaves) {
  QWidget window;
  auto* column = new QVBoxLayout(&window);
  auto* canvas = new CanvasWidget(probe, workspace, renderer.get(), reason);
  auto* edit = new QLineEdit;
  column->addWidget(canvas);
  column->addWidget(edit);
  window.show();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&window));
  window.activateWindow();
  canvas->setFocus();
  QSignalSpy opened(canvas, &CanvasWidget::openInspectorRequested);
  QTest::keyClick(canvas, Qt::Key_Right, Qt::ShiftModifier);
  QTest::keyClick(canvas, Qt::Key_Return);
  QTest::keyClick(canvas, Qt::Key_Home);
  QTest::keyClick(canvas, Qt::Key_P);
  EXPECT_EQ(probe.keys, (std::vector<std::string>{"Shift+Right", "Enter", "Home", "P"}));
  EXPECT_EQ(opened.count(), 1);
  QTest::keyClick(canvas, Qt::Key_Tab);
  EXPECT_TRUE(edit->hasFocus() || window.focusWidget() == edit);
}

TEST_F(CanvasTest, AnOutdatedPictureIsDimmedByAFifth) {
  auto canvas = show(probe);
  EXPECT_EQ(probe.dim, 0);
  const int frames = canvas->framesDrawn();
  workspace.setStale(true);
  workspace.setStale(false);
  QTest::qWait(2 * Workspace::kDimAfterMs);
  EXPECT_EQ(canvas->framesDrawn(), frames) << "an answer that comes at once needs no dimming";
  workspace.setStale(true);
  EXPECT_TRUE(waitFor([&] { return probe.dim == 0.2; }, 5000)) << probe.dim;
  workspace.setStale(false);
  EXPECT_TRUE(waitFor([&] { return probe.dim == 0; }, 5000));
}

TEST_F(CanvasTest, TellsAScreenReaderWhatIsUnderTheCursor) {
  auto canvas = show(probe);
  QAccessibleInterface* interface = QAccessible::queryAccessibleInterface(canvas.get());
  ASSERT_NE(interface, nullptr);
  EXPECT_EQ(interface->text(QAccessible::Name), "Probe");
  EXPECT_EQ(interface->text(QAccessible::Value), "layer 1, head 2, kept");
}

TEST_F(CanvasTest, CanvasesDoNotShareMouseOrTextures) {
  Probe other;
  other.texels.fill(0xff0000ff);
  auto first = show(probe), second = show(other);
  QTest::mouseClick(first.get(), Qt::LeftButton, {}, QPoint(20, 20));
  QTest::qWait(200);
  EXPECT_EQ(probe.clicks, 1);
  EXPECT_EQ(other.clicks, 0);
  EXPECT_EQ(second->grab().toImage().pixelColor(75, 75), QColor(255, 0, 0));
  EXPECT_EQ(first->grab().toImage().pixelColor(75, 75), QColor(255, 255, 255));
}

TEST(CanvasWithoutOpenGl, SaysWhatToDoAndItsTableStillWorks) {
  Workspace workspace;
  Probe probe;
  CanvasWidget canvas(probe, workspace, nullptr, "The pictures need OpenGL 3.3. Start with LIBGL_ALWAYS_SOFTWARE=1.");
  canvas.resize(300, 100);
  const QImage image = canvas.grab().toImage();
  std::set<QRgb> colours;
  for (int x = 0; x < image.width(); ++x)
    for (int y = 0; y < image.height(); ++y) colours.insert(image.pixel(x, y));
  EXPECT_GT(colours.size(), 3u) << "a sentence, not an empty panel";
  EXPECT_EQ(canvas.table().rows.size(), 1u);
}

TEST_F(CanvasTest, AClickOnACellOfTheHeadGridSelectsThatHead) {
  workspace.setSnapshot(std::make_shared<const Snapshot>(synthetic::make_snapshot()));
  std::vector<std::unique_ptr<viz::View>> views = viz::make_views();
  for (const auto& view : views) {
    if (std::string(view->id()) != "head_grid") continue;
    auto canvas = show(*view, 342, 307);
    QPoint at;
    for (const viz::Mark& mark : view->marks())
      if (mark.kind == "cell" && mark.label == "L4 H1") at = QPoint(int(mark.min.x + mark.max.x) / 2, int(mark.min.y + mark.max.y) / 2);
    ASSERT_FALSE(at.isNull());
    moveMouse(*canvas, at);
    QTest::mouseClick(canvas.get(), Qt::LeftButton, {}, at);
    QTest::qWait(200);
    EXPECT_EQ(workspace.selection().layer, 4);
    EXPECT_EQ(workspace.selection().kv_head, 1);
    return;
  }
  FAIL() << "there is no head grid";
}

class TextAtlasTest : public CanvasTest {
 protected:
  void SetUp() override {
    CanvasTest::SetUp();
    renderer->device().makeCurrent();
    renderer->text().beginFrame(1);
  }
};

TEST_F(TextAtlasTest, PaintsEveryScript) {
  for (const char* text : {"the", "Привет", "漢字", "مرحبا", "🐟", "e\u0301", "↵"}) {
    const auto sprite = renderer->text().sprite(text, 12, false, false);
    EXPECT_NE(sprite.texture, nullptr) << text;
    EXPECT_GT(sprite.size.x, 3) << text;
    EXPECT_GT(sprite.size.y, 10) << text;
  }
}

TEST_F(TextAtlasTest, KeepsTheColoursOfEmojiAndLeavesTextToTheTint) {
  EXPECT_FALSE(renderer->text().sprite("the", 12, false, false).coloured);
  EXPECT_TRUE(renderer->text().sprite("🐟", 16, false, false).coloured);
}

TEST_F(TextAtlasTest, TurnsVerticalTextByARightAngle) {
  const auto flat = renderer->text().sprite("number", 12, false, false), tall = renderer->text().sprite("number", 12, false, true);
  EXPECT_FLOAT_EQ(flat.size.x, tall.size.y);
  EXPECT_FLOAT_EQ(flat.size.y, tall.size.x);
}

TEST_F(TextAtlasTest, GivesTheSameSpriteForTheSameText) {
  const auto a = renderer->text().sprite("again", 12, true, false), b = renderer->text().sprite("again", 12, true, false);
  EXPECT_EQ(a.texture, b.texture);
  EXPECT_EQ(a.uv0.x, b.uv0.x);
  EXPECT_EQ(a.uv1.y, b.uv1.y);
}

TEST_F(TextAtlasTest, ForgetsTheLeastUsedTextWhenItsPagesAreFull) {
  // 30 000 words of about 70 x 17 pixels need more than the sixteen pages of 2048 x 512.
  for (int i = 0; i < 30000; ++i) {
    if (i % 200 == 0) renderer->text().beginFrame(1);
    ASSERT_NE(renderer->text().sprite("word " + std::to_string(i), 12, false, false).texture, nullptr) << i;
  }
  EXPECT_LE(renderer->text().pages(), 16);
  renderer->text().upload();
}

TEST_F(TextAtlasTest, MakesRoomForTextThatIsHigherThanAPage) {
  const auto tall = renderer->text().sprite(std::string(150, 'm'), 12, false, true);
  EXPECT_NE(tall.texture, nullptr);
  EXPECT_GT(tall.size.y, 600);
  EXPECT_LE(tall.uv1.y, 1);
  EXPECT_NE(renderer->text().sprite("small", 12, false, false).texture, nullptr);
  renderer->text().upload();
}

TEST_F(TextAtlasTest, SurvivesTextThatIsNoTextAndTextThatIsTooLong) {
  EXPECT_EQ(renderer->text().sprite("", 12, false, false).texture, nullptr);
  renderer->text().sprite("\xff\xfe\x80", 12, false, false);
  const auto wide = renderer->text().sprite(std::string(100000, 'm'), 12, false, false);
  EXPECT_LE(wide.size.x, 2048);
}

}  // namespace
}  // namespace kvscope
