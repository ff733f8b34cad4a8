// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "app/window/session/session_file.h"

namespace kvscope {

class Canvases;
class HandEdits;
class StartPlace;

/// What was chosen in the views, and where edits by hand hold, as a session keeps it.
std::vector<ViewChoice> keptChoices(const Canvases& canvases, const HandEdits& edits);
/// Views as they were when these were kept; what is not among them is as nobody has chosen.
void restoreChoices(const Canvases& canvases, const std::vector<ViewChoice>& kept);
/// The same, and once more when the place is reached: runs that come with the result make a choice among those before meaningless.
void restoreChoices(const Canvases& canvases, const std::vector<ViewChoice>& kept, const StartPlace& place, HandEdits& edits);

}  // namespace kvscope
