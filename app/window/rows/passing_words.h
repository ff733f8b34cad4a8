// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QLabel>
#include <QPointer>
#include <QTimer>

namespace kvscope {

/// What was just done, where nothing else on the screen shows it: a few words in a corner that go away by themselves.
class PassingWords : public QLabel {
  Q_OBJECT

 public:
  explicit PassingWords(QWidget* parent);
  /// In the lower left corner of `over`, a widget inside the parent.
  void say(const QString& words, const QWidget& over);
  /// Anew, where that has moved.
  void place();

 protected:
  void changeEvent(QEvent* event) override;

 private:
  QString m_words;
  QPointer<const QWidget> m_over;
  QTimer m_end;
};

}  // namespace kvscope
