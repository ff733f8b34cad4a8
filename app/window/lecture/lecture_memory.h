// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

namespace kvscope {

class Workspace;

/// What a cache takes in models that people know, one bar a model and length of text: all on one scale.
class LectureMemory : public QWidget {
  Q_OBJECT

 public:
  explicit LectureMemory(Workspace& workspace, QWidget* parent = nullptr);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Workspace& m_workspace;
};

}  // namespace kvscope
