// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/unsaved/backups.h"

#include "app/window/help/welcome_page.h"
#include "app/window/rows/rows.h"
#include "app/window/session/session_controller.h"
#include "policy/catalog.h"

namespace kvscope {

namespace {

/// The next start may be from another folder.
QByteArray forLater(SavedSession s, const QString& file = {}) {
  s.file = file;
  s.request.lanes = with_files_told(s.request.lanes, {});
  return sessionJson(s);
}

}  // namespace

Backups::Backups(SessionController& controller, const QString& folder, const Sources& sources)
    : m_folder(folder),
      m_journal(folder, [sources] { return forLater(sources.own(), sources.own_file()); }),
      m_typed(controller, folder, [sources] { return forLater(sources.shown()); }) {
  connect(&m_journal, &SessionJournal::failed, this, &Backups::failed);
  connect(&m_typed, &LessonWork::failed, this, &Backups::failed);
}

bool Backups::follow(const std::string& key) {
  if (!m_work.follow(key)) return false;
  any() ? m_journal.touch() : m_journal.discard();
  return true;
}

void Backups::changed() {
  m_work.changed();
  m_journal.touch();
}

void Backups::touch() {
  if (any()) m_journal.touch();
}

void Backups::clean(bool modified) {
  m_work.clean();
  modified ? changed() : m_journal.discard();
}

QString Backups::leave() { return left(m_journal.leave().value_or(QString())); }

QString Backups::leaveTyped() { return left(m_typed.leave()); }

QString Backups::left(const QString& path) {
  if (m_left) m_left->add(path);
  return path;
}

void Backups::offer(WelcomePage& welcome, MessageBar& notices, const Pages& pages, QSettings* settings,
                    const LeftOffers::Recover& recover) {
  m_left = std::make_unique<LeftOffers>(m_folder, welcome, notices, pages, settings, recover);
  const QString why = m_journal.findFailure();
  if (why.isEmpty()) return;
  welcome.sayUnread(why);
  notices.showAfter(why, why);
}

void Backups::goesOn(const QString& left) {
  if (m_journal.writeNow() && m_left) m_left->remove(left);
}

bool Backups::close(bool scripted) {
  if (scripted) m_typed.end();
  const bool typed = m_typed.close();
  if (any() && !scripted) return m_journal.end() && typed;
  m_journal.discard();
  return typed;
}

void Backups::stop() {
  m_typed.stop();
  m_journal.stop();
}

}  // namespace kvscope
