// SPDX-License-Identifier: Apache-2.0
#include "app/window/look/windows.h"

#include <algorithm>

#include <QLayout>
#include <QRect>
#include <QScreen>
#include <QScrollArea>
#include <QTimer>
#include <QVBoxLayout>
#include <QWidget>

namespace kvscope {

namespace {

void scrollContent(QWidget& window) {
  auto* scroll = new QScrollArea(&window);
  auto* content = new QWidget;
  content->setLayout(window.layout());  // which leaves the window for it, with all that it lays out
  scroll->setWidget(content);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setFocusPolicy(Qt::NoFocus);
  auto* whole = new QVBoxLayout(&window);
  whole->setContentsMargins(0, 0, 0, 0);
  whole->addWidget(scroll);
}

}  // namespace

void keepWithin(QWidget& window, const QRect& room) {
  const QSize frame = window.frameGeometry().size() - window.size(), most = room.size() - frame;
  if (window.layout()) {
    const QSize least = window.layout()->totalMinimumSize();
    const bool scrolls = least.width() > most.width() || least.height() > most.height();
    if (scrolls && window.inherits("QDialog")) scrollContent(window);
  }
  if (const QSize size = window.size().boundedTo(most); size != window.size()) {
    window.setMinimumSize(window.minimumSize().boundedTo(most));
    window.resize(size);
  }
  const QRect now = window.frameGeometry();
  const QPoint at(std::clamp(now.x(), room.x(), std::max(room.x(), room.right() + 1 - now.width())),
                  std::clamp(now.y(), room.y(), std::max(room.y(), room.bottom() + 1 - now.height())));
  if (at != now.topLeft()) window.move(at);
}

void keepOnScreen(QWidget& window) {
  const auto keep = [&window] {
    if (!window.isWindow() || !window.isVisible() || !window.screen()) return;
    QRect room = window.screen()->availableGeometry();
    const bool framed = !window.windowFlags().testFlag(Qt::FramelessWindowHint);
    if (framed && window.frameGeometry() == window.geometry()) room.setSize(room.size() - kWindowFrame);
    keepWithin(window, room);
  };
  keep();
  QTimer::singleShot(0, &window, keep);
}

}  // namespace kvscope
