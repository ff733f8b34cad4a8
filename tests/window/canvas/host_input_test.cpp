// SPDX-License-Identifier: Apache-2.0
#include "app/window/canvas/host_input.h"

#include <gtest/gtest.h>

namespace kvscope {
namespace {

using Kind = CanvasInput::Event::Kind;

CanvasInput::Event button(bool down, float x = 5, float y = 6) {
  CanvasInput::Event event;
  event.kind = Kind::button;
  event.down = down;
  event.at = ImVec2(x, y);
  return event;
}

CanvasInput::Event move(float x, float y) {
  CanvasInput::Event event;
  event.at = ImVec2(x, y);
  return event;
}

class InputTest : public ::testing::Test {
 protected:
  InputTest() : context(ImGui::CreateContext()) {
    ImGui::SetCurrentContext(context);
    ImGui::GetIO().IniFilename = nullptr;  // else it leaves a file where the test was started
  }
  ~InputTest() override {
    ImGui::DestroyContext(context);
    ImGui::SetCurrentContext(nullptr);
  }
  ImGuiContext* context;
  CanvasInput input;
};

TEST_F(InputTest, APressAndReleaseInOneTurnTakeTwoFrames) {
  ImGuiIO& io = ImGui::GetIO();
  input.push(button(true));
  input.push(button(false));
  EXPECT_TRUE(input.apply(io));
  EXPECT_TRUE(io.MouseDown[0]);
  EXPECT_FALSE(input.apply(io));
  EXPECT_FALSE(io.MouseDown[0]);
}

TEST_F(InputTest, ADoubleClickTakesFourFrames) {
  ImGuiIO& io = ImGui::GetIO();
  for (const bool down : {true, false, true, false}) input.push(button(down));
  for (const bool down : {true, false, true}) {
    EXPECT_TRUE(input.apply(io));
    EXPECT_EQ(io.MouseDown[0], down);
  }
  EXPECT_FALSE(input.apply(io));
}

TEST_F(InputTest, APressIsSeenWhereItHappenedThoughTheMouseMovedOn) {
  ImGuiIO& io = ImGui::GetIO();
  input.push(button(true, 10, 20));
  input.push(move(300, 400));
  EXPECT_TRUE(input.apply(io));
  EXPECT_FLOAT_EQ(io.MousePos.x, 10);
  EXPECT_FALSE(input.apply(io));
  EXPECT_FLOAT_EQ(io.MousePos.x, 300);
  EXPECT_TRUE(io.MouseDown[0]) << "still held: a drag";
}

TEST_F(InputTest, AThousandMovesAreOneFrame) {
  ImGuiIO& io = ImGui::GetIO();
  for (int i = 0; i < 1000; ++i) input.push(move(static_cast<float>(i), 0));
  EXPECT_FALSE(input.apply(io));
  EXPECT_FLOAT_EQ(io.MousePos.x, 999);
}

TEST_F(InputTest, WheelNotchesOfOneFrameAddUpAndDoNotRepeat) {
  ImGuiIO& io = ImGui::GetIO();
  CanvasInput::Event wheel;
  wheel.kind = Kind::wheel;
  wheel.dy = 1;
  input.push(wheel);
  input.push(wheel);
  EXPECT_FALSE(input.apply(io));
  EXPECT_FLOAT_EQ(io.MouseWheel, 2);
  EXPECT_FALSE(input.apply(io));
  EXPECT_FLOAT_EQ(io.MouseWheel, 0);
}

TEST_F(InputTest, AViewSeesTheModifiersOfTheLastEventOfItsFrame) {
  ImGuiIO& io = ImGui::GetIO();
  io.Fonts->Build();
  io.DisplaySize = {100, 100};
  for (const bool held : {true, false}) {
    CanvasInput::Event to = move(5, 5);
    to.shift = to.ctrl = to.alt = !held;
    input.push(to);
    CanvasInput::Event wheel;
    wheel.kind = Kind::wheel;
    wheel.shift = wheel.ctrl = held;
    input.push(wheel);
    for (int frame = 0; frame < 2; ++frame) {  // and in the next, without any event
      input.apply(io);
      ImGui::NewFrame();
      EXPECT_EQ(io.KeyShift, held);
      EXPECT_EQ(io.KeyCtrl, held);
      EXPECT_FALSE(io.KeyAlt);
      ImGui::EndFrame();
    }
  }
}

TEST_F(InputTest, LosingTheFocusReleasesTheButtons) {
  ImGuiIO& io = ImGui::GetIO();
  input.push(button(true));
  input.apply(io);
  input.reset();
  EXPECT_FALSE(input.apply(io));
  EXPECT_FALSE(io.MouseDown[0]);
  EXPECT_FALSE(ImGui::IsMousePosValid(&io.MousePos));
}

}  // namespace
}  // namespace kvscope
