// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QLineEdit>
#include <QStyle>
#include <QWidget>

namespace kvscope {

/// Rules of the style sheet that depend on a widget's name or properties are looked up again after one of them has changed.
inline void restyle(QWidget& widget) {
  widget.style()->unpolish(&widget);
  widget.style()->polish(&widget);
}

/// Before a box of numbers goes. What Qt's style sheets know of the line within it they would keep for good: they look it up while the box
/// is made, and hear that a widget goes only of those that they may dress themselves, which a line without a box is.
inline void forgetLinesIn(QWidget& box) {
  for (QLineEdit* line : box.findChildren<QLineEdit*>()) {
    QWidget* const within = line->parentWidget();
    line->setParent(nullptr);
    line->style()->styleHint(QStyle::SH_LineEdit_PasswordCharacter, nullptr, line);  // a question of any kind
    line->setParent(within);
  }
}

}  // namespace kvscope
