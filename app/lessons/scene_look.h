// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "app/lessons/lesson.h"
#include "viz/selection.h"

namespace kvscope {

struct Snapshot;

/// Where a scene looks, begun from `now`: its run, its step, and the head and token that show its point. Nothing where it wants nothing
/// else, or where there is no such place.
std::optional<viz::Selection> look_of(const Scene& scene, const Snapshot& snapshot, const viz::Selection& now);

}  // namespace kvscope
