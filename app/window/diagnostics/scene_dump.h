// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QByteArray>

namespace kvscope {

class CanvasWidget;

/// What canvases show, as JSON: the generation that they have drawn, the marks with places and printed values, size and hash of every
/// texture. Two pictures with the same dump show the same things.
QByteArray sceneDump(const std::vector<CanvasWidget*>& canvases);

}  // namespace kvscope
