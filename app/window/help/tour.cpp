// SPDX-License-Identifier: Apache-2.0
#include "app/window/help/tour.h"

#include <algorithm>

#include <QEvent>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPushButton>
#include <QTimer>

#include "app/window/look/style.h"

namespace kvscope {

namespace {
constexpr int kWidth = 340, kGap = 12;  // px at 100 %
}

Tour::Tour(const QList<TourStop>& stops, QWidget* window)
    : QFrame(window),
      m_stops(stops),
      m_title(new QLabel(this)),
      m_text(new QLabel(this)),
      m_where(new QLabel(this)),
      m_back(new QPushButton("Back", this)),
      m_next(new QPushButton("Next", this)),
      m_close(new QPushButton("End the tour", this)),
      m_frame(new QFrame(window)) {
  setObjectName("tourBubble");
  setAccessibleName("Tour");
  m_frame->setObjectName("tourFrame");
  m_frame->setAttribute(Qt::WA_TransparentForMouseEvents);
  m_frame->hide();
  m_title->setFont(uiFont(15, true));
  m_text->setWordWrap(true);
  m_where->setObjectName("secondary");
  m_next->setObjectName("primary");
  m_close->setObjectName("flat");
  for (QPushButton* b : {m_back, m_next, m_close}) {
    b->setAccessibleName(b->text());
    b->setAutoDefault(true);  // Enter presses it, outside of dialogs too
  }
  auto* buttons = new QHBoxLayout;
  buttons->addWidget(m_close);
  buttons->addStretch(1);
  buttons->addWidget(m_where);
  buttons->addSpacing(8);
  buttons->addWidget(m_back);
  buttons->addWidget(m_next);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(16, 14, 16, 12);
  column->setSpacing(8);
  column->addWidget(m_title);
  column->addWidget(m_text);
  column->addSpacing(4);
  column->addLayout(buttons);
  setFixedWidth(kWidth);
  connect(m_back, &QPushButton::clicked, this, [this] { goTo(m_stop - 1); });
  connect(m_next, &QPushButton::clicked, this, [this] { goTo(m_stop + 1); });
  connect(m_close, &QPushButton::clicked, this, &Tour::end);
  window->installEventFilter(this);
  hide();
}

QString Tour::text() const { return m_title->text() + ". " + m_text->text(); }

void Tour::start() { goTo(0); }

void Tour::goTo(int stop) {
  if (stop >= m_stops.size()) return end();
  m_stop = std::max(0, stop);
  const TourStop& now = m_stops[m_stop];
  m_title->setText(now.title);
  m_text->setText(now.text);
  m_where->setText(QString("%1 of %2").arg(m_stop + 1).arg(m_stops.size()));
  m_back->setEnabled(m_stop > 0);
  m_next->setText(m_stop + 1 == m_stops.size() ? "Done" : "Next");
  m_next->setAccessibleName(m_next->text());
  setAccessibleDescription(text());
  show();
  place();
  QTimer::singleShot(0, this, &Tour::place);  // a panel that was behind another one has its place by then
  m_next->setFocus(Qt::OtherFocusReason);     // Enter goes on, Tab reaches the others, Esc ends
}

void Tour::end() {
  if (m_stop < 0) return;
  m_stop = -1;
  Q_EMIT ended();  // while it still has the focus, which hiding gives to whatever comes next
  hide();
  m_frame->hide();
}

/// Beside the target where there is room, or over or under it, else inside of it.
void Tour::place() {
  if (m_stop < 0) return;
  QWidget* window = parentWidget();
  QWidget* target = m_stops[m_stop].target ? m_stops[m_stop].target() : nullptr;
  layout()->activate();
  resize(kWidth, heightForWidth(kWidth) > 0 ? heightForWidth(kWidth) : sizeHint().height());
  const QRect room = window->rect().adjusted(kGap, kGap, -kGap, -kGap);
  QPoint at = room.center() - rect().center();
  m_frame->setVisible(target && target->isVisible());
  if (target && target->isVisible()) {
    const QRect around(target->mapTo(window, QPoint()), target->size());
    m_frame->setGeometry(around.adjusted(-2, -2, 2, 2));
    m_frame->raise();
    if (around.right() + kGap + width() <= room.right())
      at = {around.right() + kGap, around.top()};
    else if (around.left() - kGap - width() >= room.left())
      at = {around.left() - kGap - width(), around.top()};
    else if (around.bottom() + kGap + height() <= room.bottom())
      at = {around.center().x() - width() / 2, around.bottom() + kGap};
    else if (around.top() - kGap - height() >= room.top())
      at = {around.center().x() - width() / 2, around.top() - kGap - height()};
    else
      at = {around.center().x() - width() / 2, around.bottom() - height() - kGap};
  }
  at.setX(std::clamp(at.x(), room.left(), std::max(room.left(), room.right() - width())));
  at.setY(std::clamp(at.y(), room.top(), std::max(room.top(), room.bottom() - height())));
  move(at);
  raise();
}

bool Tour::eventFilter(QObject* watched, QEvent* event) {
  if (watched == parentWidget() && event->type() == QEvent::Resize) place();
  return QFrame::eventFilter(watched, event);
}

void Tour::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) return end();
  QFrame::keyPressEvent(event);
}

}  // namespace kvscope
