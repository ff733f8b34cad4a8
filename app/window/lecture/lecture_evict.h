// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPushButton>

namespace kvscope {

class HandEdits;
class PromptEditor;
class Workspace;

/// In a lecture, beside the title of the text: what to do with the selected tokens. E is a letter while the text has the focus, so the
/// button says which keys work now. Hidden where there is nothing to evict.
class LectureEvict : public QPushButton {
  Q_OBJECT

 public:
  LectureEvict(Workspace& workspace, HandEdits& hand, PromptEditor& editor, QWidget* parent = nullptr);

 private:
  void refresh();

  Workspace& m_workspace;
  HandEdits& m_hand;
  PromptEditor& m_editor;
};

}  // namespace kvscope
