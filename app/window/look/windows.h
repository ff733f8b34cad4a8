// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSize>

class QRect;
class QWidget;

namespace kvscope {

/// What the frame of a window takes at most, before there is one to measure.
inline constexpr QSize kWindowFrame{8, 48};

/// Makes a window no larger than `room`, with its frame, and puts it there: what its content asks for beyond that is scrolled to.
void keepWithin(QWidget& window, const QRect& room);
/// The same in the room of its screen; as soon as it is shown, and once more when its frame is known.
void keepOnScreen(QWidget& window);

}  // namespace kvscope
