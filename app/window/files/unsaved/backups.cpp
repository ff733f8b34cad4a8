// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/unsaved/backups.h"

#include <QFileInfo>

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

QString wordsOfLost(const QString& file) {
  return file.isEmpty() ? QString("Your session, which has no file.")
                        : QString("What is new in the session %1.").arg(QFileInfo(file).completeBaseName());
}

}  // namespace

Backups::Backups(SessionController& controller, const QString& folder, const Sources& sources)
    : m_folder(folder),
      m_shown(sources.shown),
      m_own_file(sources.own_file),
      m_journal(folder, [sources] { return forLater(sources.own(), sources.own_file()); }),
      m_typed(controller, folder, [sources] { return forLater(sources.shown()); }) {
  constexpr int kAgainMs = 30000;
  m_again.setInterval(kAgainMs);
  connect(&m_again, &QTimer::timeout, this, &Backups::writeHeld);
  connect(&m_journal, &SessionJournal::failed, this, &Backups::failed);
  connect(&m_typed, &LessonWork::failed, this, &Backups::failed);
  connect(this, &Backups::failed, this, [this](const QString& why) {
    if (m_left) m_left->sayWhyNot(why);
  });
}

bool Backups::follow(const std::string& key) {
  if (!m_work.follow(key)) return false;
  m_journal.follow(any());
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

void Backups::leave(Aside& own) { keep(own, m_journal.leave().value_or(QString())); }

Aside Backups::leaveTyped() {
  if (!m_typed.any()) return {};
  Aside out{m_shown(), {}, {}, true};
  keep(out, m_typed.leave());
  return out;
}

void Backups::keep(Aside& aside, const QString& journal) {
  aside.left = journal;
  aside.backed_up = !journal.isEmpty();
  if (!m_left) return;
  if (aside.backed_up) {
    m_left->add(journal);
    writeHeld();
  } else {
    aside.left = m_left->hold(aside.session, aside.file);
    m_again.start();
  }
}

/// There may be room now.
void Backups::writeHeld() {
  if (!m_left) return;
  for (const LeftSession& held : m_left->held()) {
    SessionJournal journal(m_folder, [&held] { return forLater(held.session, held.file.path); });
    journal.saySoNoMore();
    const QString path = journal.leave().value_or(QString());
    if (path.isEmpty()) return;
    m_left->written(held.path, path);
  }
  m_again.stop();
}

void Backups::offer(WelcomePage& welcome, MessageBar& notices, const Pages& pages, QSettings* settings,
                    const LeftOffers::Recover& recover) {
  m_left = std::make_unique<LeftOffers>(m_folder, welcome, notices, pages, settings, recover);
  const QString why = m_journal.findFailure();
  if (why.isEmpty()) return;
  m_left->sayWhyNot(why);
  notices.showAfter(why, why);
}

void Backups::goesOn(const QString& left) {
  if (!m_left) return;
  if (m_journal.writeNow() || m_left->unwritten(left)) m_left->remove(left);  // what is on screen has it
}

std::optional<LeftSession> Backups::held() const {
  if (any() || m_typed.any() || !m_left || m_left->held().empty()) return std::nullopt;
  return m_left->held().front();
}

QStringList Backups::close(bool scripted) {
  QStringList lost;
  if (scripted) m_typed.end();
  const bool own = any() && !scripted;
  if (own && !m_journal.writeNow()) lost << wordsOfLost(m_own_file());
  if (!m_typed.writeNow()) lost << "The text that is written in the lesson's place.";
  if (!scripted) writeHeld();
  if (m_left && !scripted)
    for (const LeftSession& held : m_left->held()) lost << held.words;
  if (!lost.isEmpty()) return lost;
  m_typed.close();
  m_journal.close(own);
  return {};
}

void Backups::stop() {
  m_typed.stop();
  m_journal.stop();
}

}  // namespace kvscope
