// SPDX-License-Identifier: Apache-2.0
#pragma once

class QComboBox;
class QString;
class QToolButton;

namespace kvscope {

class CanvasWidget;
class Panel;
class Workspace;

// What panels have at the right of their headers.
QComboBox* headerBox(const QString& name);
QToolButton* headerButton(const QString& text, const QString& help);
/// The choices of a view, a list each.
void addOptionBoxes(Panel& panel, CanvasWidget& canvas);
/// Chooses the head of the selection.
void addHeadBox(Panel& panel, Workspace& workspace);

}  // namespace kvscope
