// SPDX-License-Identifier: Apache-2.0
#include "app/window/shell/application.h"

#include <chrono>

#include <QThread>

namespace kvscope {

bool Application::notify(QObject* receiver, QEvent* event) {
  if (QThread::currentThread() != thread()) return QApplication::notify(receiver, event);
  if (m_depth > 0 && QThread::currentThread()->loopLevel() > 1) m_waited = true;
  if (m_depth++ > 0) {
    const bool done = QApplication::notify(receiver, event);
    --m_depth;
    return done;
  }
  m_waited = false;
  const char* const name = receiver->metaObject()->className();  // the receiver may be gone afterwards
  const int type = event->type();
  const auto begin = std::chrono::steady_clock::now();
  const bool done = QApplication::notify(receiver, event);
  --m_depth;
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
  if (!m_waited) Q_EMIT eventDone(taken.count(), name, type);
  return done;
}

}  // namespace kvscope
