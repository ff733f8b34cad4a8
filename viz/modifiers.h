// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <imgui.h>

namespace kvscope::viz {

/// Shift, Ctrl and Alt as they are held in the coming frame. Newer ImGui makes its flags anew from events in every frame, older reads them.
inline void set_modifiers(ImGuiIO& io, bool shift, bool ctrl, bool alt) {
#if IMGUI_VERSION_NUM >= 18900
  io.AddKeyEvent(ImGuiMod_Shift, shift);
  io.AddKeyEvent(ImGuiMod_Ctrl, ctrl);
  io.AddKeyEvent(ImGuiMod_Alt, alt);
#endif
  io.KeyShift = shift;
  io.KeyCtrl = ctrl;
  io.KeyAlt = alt;
}

}  // namespace kvscope::viz
