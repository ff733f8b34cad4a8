// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStyle>
#include <QWidget>

namespace kvscope {

/// Rules of the style sheet that depend on a widget's name or properties are looked up again after one of them has changed.
inline void restyle(QWidget& widget) {
  widget.style()->unpolish(&widget);
  widget.style()->polish(&widget);
}

}  // namespace kvscope
