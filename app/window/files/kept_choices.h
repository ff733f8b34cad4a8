// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "app/window/session/session_file.h"

namespace kvscope {

class Canvases;
class StartPlace;

/// What was chosen in the views, as a session keeps it.
std::vector<ViewChoice> keptChoices(const Canvases& canvases);
/// Views as they were when these were kept; what is not among them is as nobody has chosen.
void restoreChoices(const Canvases& canvases, const std::vector<ViewChoice>& kept);
/// The same, and once more when the place is reached: runs that come with the result make a choice among those before meaningless.
void restoreChoices(const Canvases& canvases, const std::vector<ViewChoice>& kept, const StartPlace& place);

}  // namespace kvscope
