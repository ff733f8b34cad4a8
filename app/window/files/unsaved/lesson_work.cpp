// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/unsaved/lesson_work.h"

#include <utility>

#include "app/window/session/session_controller.h"

namespace kvscope {

LessonWork::LessonWork(SessionController& controller, const QString& folder, SessionJournal::Source source, QObject* parent)
    : QObject(parent), m_controller(controller), m_journal(folder, std::move(source)) {
  connect(&m_journal, &SessionJournal::failed, this, &LessonWork::failed);
  connect(&controller, &SessionController::requestChanged, this, &LessonWork::follow);
}

void LessonWork::begin(const std::string& text) {
  m_text = text;
  m_any = false;
  m_journal.discard();
  if (std::exchange(m_told, false)) Q_EMIT changed(false);
}

void LessonWork::end() {
  begin({});
  m_text.reset();
}

void LessonWork::follow() {
  if (!m_text) return;
  m_any = m_controller.request().prompt != *m_text;
  m_journal.follow(m_any);
  if (std::exchange(m_told, m_any) != m_any) Q_EMIT changed(m_any);
}

QString LessonWork::leave() {
  const QString left = m_journal.leave().value_or(QString());
  m_text.reset();
  m_any = false;
  return left;
}

void LessonWork::stop() {
  m_text.reset();
  m_journal.stop();
}

}  // namespace kvscope
