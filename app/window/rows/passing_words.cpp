// SPDX-License-Identifier: Apache-2.0
#include "app/window/rows/passing_words.h"

#include <algorithm>

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
  ensurePolished();
  setAccessibleName(words);
  const int room = over.width() - 2 * kMargin - 2 * kMargin;
  setText(fontMetrics().elidedText(words, Qt::ElideMiddle, room));
  resize(sizeHint());
  const int below = over.height() > 2 * height() ? kMargin : 0;  // a row is covered whole
  move(over.mapTo(parentWidget(), QPoint(kMargin, over.height() - height() - below)));
  speak(*this);
  show();
  raise();
  m_end.start();
}

}  // namespace kvscope
