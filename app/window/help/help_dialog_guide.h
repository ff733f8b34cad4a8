// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

namespace kvscope {

class Workspace;

/// How to read the screen: the categories with their swatches and one sentence each, and the rules that hold for every picture.
class HelpGuide : public QWidget {
  Q_OBJECT

 public:
  explicit HelpGuide(Workspace& workspace, QWidget* parent = nullptr);
};

}  // namespace kvscope
