// SPDX-License-Identifier: Apache-2.0
#include "app/window/rows/passing_words.h"

#include <algorithm>

#include <QEvent>

#include "app/window/look/spoken.h"

namespace kvscope {

namespace {
constexpr int kShownMs = 4000, kMargin = 16;
}

PassingWords::PassingWords(QWidget* parent) : QLabel(parent) {
  setObjectName("passingWords");
  setSpoken(*this);
  setAttribute(Qt::WA_TransparentForMouseEvents);
  setTextFormat(Qt::PlainText);
  m_end.setSingleShot(true);
  m_end.setInterval(kShownMs);
  connect(&m_end, &QTimer::timeout, this, &QWidget::hide);
  hide();
}

void PassingWords::say(const QString& words, const QWidget& over) {
  m_words = words;
  m_over = &over;
  ensurePolished();
  setAccessibleName(words);
  place();
  speak(*this);
  show();
  raise();
  m_end.start();
}

void PassingWords::place() {
  const QWidget& over = m_over && m_over->isVisible() ? *m_over : *parentWidget();
  setText(fontMetrics().elidedText(m_words, Qt::ElideMiddle, over.width() - 2 * kMargin - 2 * kMargin));
  resize(sizeHint());
  const int below = over.height() > 2 * height() ? kMargin : 0;  // a row is covered whole
  move(over.mapTo(parentWidget(), QPoint(kMargin, over.height() - height() - below)));
}

/// A lecture has larger type, and begins while something is still said.
void PassingWords::changeEvent(QEvent* event) {
  QLabel::changeEvent(event);
  if ((event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) && isVisible()) place();
}

}  // namespace kvscope
