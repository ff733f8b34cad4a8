// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "app/window/rows/playback.h"
#include "app/window/session/bookmarks.h"
#include "app/window/session/break_points.h"
#include "app/window/session/causal_heads.h"
#include "app/window/session/first_difference.h"
#include "app/window/session/hand/hand_edits.h"
#include "app/window/session/kept_settings.h"
#include "app/window/session/run_queue.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/step_answer.h"
#include "app/window/session/undo/undo_steps.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/options.h"

namespace kvscope {

/// What a window shows and changes, without a widget of it: made before all of them, gone after them.
struct WindowModel {
  WindowModel(const Options& given, const StartState& begin)
      : options(given), start(begin), settings(given.scripted() ? nullptr : std::make_unique<KeptSettings>()) {}

  const Options options;
  const StartState start;
  std::unique_ptr<KeptSettings> settings;  // nullptr: nothing is remembered
  Workspace workspace;
  SessionController controller{workspace};
  RunQueue runs{controller, workspace};
  HandEdits hand{workspace, controller};
  CausalHeads causes{workspace, controller, runs};
  BreakPoints breaks{workspace, controller, runs};
  UndoSteps undo;
  Bookmarks bookmarks{undo};
  Playback playback{workspace};
  FirstDifference difference{workspace, controller};
  StepAnswer answer{workspace, controller, difference};
};

}  // namespace kvscope
