// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QColor>
#include <QPushButton>
#include <QStringList>

#include "app/window/look/spoken.h"
#include "app/window/shell/panel.h"
#include "app/window/shell/panel_paint.h"

namespace kvscope {

/// The sentence of the row, in two lines where one is too short. It is what is to be read: in a narrow window the chips say less, then the
/// questions.
class CrumbSentence final : public ElidedLabel {
 public:
  /// What a part says, and in fewer words.
  struct ShownChip {
    QPushButton* of;
    QString full, brief;
  };
  /// A question and its answer stand in one place of one width: a pointer that goes from one to the next must not miss it.
  struct Question {
    QPushButton* of;
    QStringList says;         // the first is the whole; each of the others has fewer words
    QStringList full, brief;  // what it may say: the room for it
    bool menu = false;        // a click lists what can be done: it looks like that
  };
  std::vector<ShownChip> chips;
  std::vector<Question> questions;
  QWidget* dispensable = nullptr;  // what a key and the chips' own crosses do as well: it goes when all others have few words
  QString heard;                   // by a screen reader, in full
  int heard_of = -1;               // run
  QColor accent;                   // of the ring around it
  bool wanted = true;              // where there is room
  QString latest,                  // of the sentence: what it says anew, where all of it has no room
      foreseen;  // a sentence that an answer may put in its place: it has room from the start, or the questions would move under the hand

  explicit CrumbSentence(QWidget* row);

  void fit();

  QSize minimumSizeHint() const override;
  QSize sizeHint() const override;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void paintEvent(QPaintEvent*) override;

 private:
  bool m_ringed = false;  // the focus came by key
  QString m_row_of;       // how wide the row is and what stands in it, when words were last taken out
  int m_brief = 0;        // how many times

  /// A number and its unit stay in one line.
  static QString bound(QString words);

  /// Two lines, of which the second is cut.
  QString cutLines(const QString& of) const;
  /// A chip of two lines is higher, and its letters are smaller.
  static void setLines(QPushButton& button, bool two);
  static void ask(const Question& question, const QStringList& may_say);
  bool fits(const QString& words, int width) const;
};

}  // namespace kvscope
