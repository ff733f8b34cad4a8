// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

class QPushButton;

namespace kvscope {

class HandEdits;
class PromptEditor;
class Workspace;

/// In a lecture, beside the title of the text: what to do with the selected tokens, as the head that is looked at has them. One that is
/// there can be evicted; of one that is gone it can be asked why, and it can be brought back. The keys are letters while the text is
/// written, so the buttons say which work now. Hidden where there is nothing to do.
class LectureHand : public QWidget {
  Q_OBJECT

 public:
  LectureHand(Workspace& workspace, HandEdits& hand, PromptEditor& editor, QWidget* parent = nullptr);

  /// For a picture: hidden.
  void setOnPaper(bool on);

 Q_SIGNALS:
  /// Why the token is gone, or still there.
  void whyAsked();
  /// An edit was made: keys are about its run from now on.
  void edited();

 protected:
  void changeEvent(QEvent* event) override;

 private:
  QPushButton* button(const QString& name);
  void refresh();
  bool gone() const;

  Workspace& m_workspace;
  HandEdits& m_hand;
  PromptEditor& m_editor;
  QPushButton *m_evict, *m_why, *m_restore;
  bool m_on_paper = false;
};

}  // namespace kvscope
