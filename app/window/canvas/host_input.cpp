// SPDX-License-Identifier: Apache-2.0
#include "app/window/canvas/host_input.h"

#include "viz/modifiers.h"

namespace kvscope {

void CanvasInput::push(const Event& event) {
  // Only the last of consecutive moves matters.
  if (event.kind == Event::Kind::move && !m_events.empty() && m_events.back().kind == Event::Kind::move) m_events.pop_back();
  m_events.push_back(event);
}

bool CanvasInput::apply(ImGuiIO& io) {
  bool changed[3] = {false, false, false};
  bool button_seen = false;
  bool shift = io.KeyShift, ctrl = io.KeyCtrl, alt = io.KeyAlt;
  io.MouseWheel = io.MouseWheelH = 0;
  while (!m_events.empty()) {
    const Event& event = m_events.front();
    // A move after a press belongs to the next frame: the press must be seen where it happened.
    if (event.kind == Event::Kind::button && changed[event.button]) break;
    if (event.kind != Event::Kind::button && button_seen) break;
    switch (event.kind) {
      case Event::Kind::move:
        m_mouse = event.at;
        break;
      case Event::Kind::leave:
        m_mouse = ImVec2(-FLT_MAX, -FLT_MAX);
        break;
      case Event::Kind::button:
        m_mouse = event.at;
        m_down[event.button] = event.down;
        changed[event.button] = button_seen = true;
        break;
      case Event::Kind::wheel:
        m_mouse = event.at;
        io.MouseWheel += event.dy;
        io.MouseWheelH += event.dx;
        break;
    }
    shift = event.shift;
    ctrl = event.ctrl;
    alt = event.alt;
    m_events.pop_front();
  }
  viz::set_modifiers(io, shift, ctrl, alt);
  io.MousePos = m_mouse;
  for (int i = 0; i < 3; ++i) io.MouseDown[i] = m_down[i];
  return !m_events.empty();
}

void CanvasInput::reset() {
  m_events.clear();
  m_mouse = ImVec2(-FLT_MAX, -FLT_MAX);
  for (bool& down : m_down) down = false;
}

}  // namespace kvscope
