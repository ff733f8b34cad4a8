// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfloat>
#include <deque>

#include <imgui.h>

namespace kvscope {

/// Mouse events of one canvas on their way into ImGui. ImGui 1.86 reads levels once per frame, so a press and a release between two frames
/// would be lost: here at most one transition per button goes into a frame, the rest waits for the next one.
class CanvasInput {
 public:
  struct Event {
    enum class Kind { move, leave, button, wheel } kind = Kind::move;
    ImVec2 at = {0, 0};    // move; logical pixels
    int button = 0;        // button: 0 left, 1 right, 2 middle
    bool down = false;     // button
    float dx = 0, dy = 0;  // wheel, notches
    bool shift = false, ctrl = false, alt = false;
  };

  void push(const Event& event);
  /// Writes the next frame's worth of events into `io`. True if some are left for another frame.
  bool apply(ImGuiIO& io);
  /// Focus or visibility lost: everything is released, the mouse is away.
  void reset();
  bool empty() const { return m_events.empty(); }
  bool anyButtonDown() const { return m_down[0] || m_down[1] || m_down[2]; }

 private:
  std::deque<Event> m_events;
  ImVec2 m_mouse = {-FLT_MAX, -FLT_MAX};
  bool m_down[3] = {false, false, false};
};

}  // namespace kvscope
