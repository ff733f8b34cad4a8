// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/unsaved/left_session.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QSettings>

#include "app/window/help/welcome_page.h"
#include "app/window/rows/rows.h"
#include "app/window/session/session_journal.h"
#include "app/window/shell/pages.h"
#include "app/window/shell/panel_paint.h"
#include "core/error.h"

namespace kvscope {

namespace {

constexpr const char* kDismissed = "recovery/dismissed";  // paths of journals

QString wordsOf(const SavedSession& s, const QDateTime& when) {
  constexpr qsizetype kLastWords = 40;  // characters
  const QString prompt = QString::fromStdString(s.request.prompt).simplified();
  return QString("The session %1of %2 was not saved: %3, %4, and a text that ends “%5%6”.")
      .arg(s.file.isEmpty() ? QString() : QFileInfo(s.file).completeBaseName() + " ", when.toString("d MMMM, hh:mm"),
           counted(s.request.lanes.size(), "run", "runs"), counted(s.bookmarks.size(), "bookmark", "bookmarks"),
           prompt.size() > kLastWords ? "…" : "", prompt.right(kLastWords));
}

QString withMore(const QString& words, std::ptrdiff_t n_more) {
  if (n_more == 0) return words;
  return QString("%1 %2 offered after it.").arg(words, n_more == 1 ? QString("One more is") : QString("%1 more are").arg(n_more));
}

}  // namespace

QStringList LeftSession::notRead() const {
  try {
    return file.path.isEmpty() ? QStringList() : readSession(file.path).notes;
  } catch (const Error&) {
    return {};  // gone, or no session any more
  }
}

/// Throws Error: it cannot be read.
static LeftSession readLeft(const QString& path) {
  const SavedSession s = readSession(path).session;
  const QFileInfo journal(path);
  // A journal of before had the name as it was given, and nobody knows of which folder it is.
  return {s, path, wordsOf(s, journal.lastModified()),
          QDir::isAbsolutePath(s.file) ? SeenFile::notAfter(s.file, journal.lastModified()) : SeenFile()};
}

std::vector<LeftSession> leftSessions(const QString& folder, QString* unread) {
  std::vector<LeftSession> out;
  for (const QString& path : SessionJournal::left(folder)) {
    try {
      out.push_back(readLeft(path));
    } catch (const Error& error) {  // damaged, or of a newer program: the next one
      if (unread->isEmpty()) *unread = QString("A backup of unsaved work cannot be read: %1.").arg(QString::fromUtf8(error.what()));
    }
  }
  return out;
}

LeftOffers::LeftOffers(const QString& folder, WelcomePage& welcome, MessageBar& notices, const Pages& pages, QSettings* settings,
                       Recover recover)
    : m_welcome(welcome), m_notices(notices), m_pages(pages), m_settings(settings), m_recover(std::move(recover)) {
  QString unread;
  m_left = leftSessions(folder, &unread);
  if (m_left.empty() && !unread.isEmpty()) m_welcome.sayUnread(unread);
  const QStringList dismissed = m_settings ? m_settings->value(kDismissed).toStringList() : QStringList();
  for (LeftSession& left : m_left) left.dismissed = dismissed.contains(left.path);
  connect(&m_welcome, &WelcomePage::recoveryRequested, this, [this] {
    if (!m_left.empty()) this->recover(m_left.front().path);
  });
  connect(&m_notices, &MessageBar::dismissed, this, &LeftOffers::dismiss);
  if (!m_left.empty()) offer();
}

void LeftOffers::add(const QString& path) {
  if (path.isEmpty()) return;
  try {
    LeftSession left = readLeft(path);
    left.left_here = true;
    m_left.insert(m_left.begin(), std::move(left));
    offer();
  } catch (const Error&) {  // of a folder that went meanwhile
  }
}

QString LeftOffers::hold(SavedSession session, const SeenFile& file) {
  session.file = file.path;
  const QString name = QString("held %1").arg(++m_n_held);
  m_left.insert(m_left.begin(), {.session = session,
                                 .path = name,
                                 .words = wordsOf(session, QDateTime::currentDateTime()),
                                 .file = file,
                                 .left_here = true,
                                 .unwritten = true});
  offer();
  return name;
}

void LeftOffers::sayWhyNot(const QString& why) {
  m_why_not = why;
  offer();
}

std::vector<LeftSession> LeftOffers::held() const {
  std::vector<LeftSession> out;
  std::ranges::copy_if(m_left, std::back_inserter(out), &LeftSession::unwritten);
  return out;
}

bool LeftOffers::unwritten(const QString& path) const {
  return std::ranges::any_of(m_left, [&](const LeftSession& left) { return left.unwritten && left.path == path; });
}

void LeftOffers::written(const QString& held_as, const QString& path) {
  for (LeftSession& left : m_left) {
    if (left.path != held_as) continue;
    left.path = path;
    left.held_as = held_as;
    left.unwritten = false;
  }
}

void LeftOffers::remove(const QString& path) {
  const auto meant = [&](const LeftSession& left) { return left.path == path || left.held_as == path; };
  const auto place = std::ranges::find_if(m_left, meant);
  if (place == m_left.end() || !place->unwritten) QFile::remove(place == m_left.end() ? path : place->path);
  std::erase_if(m_left, meant);
  offer();
}

/// Another program that was started meanwhile may have taken one up.
void LeftOffers::offer() {
  std::erase_if(m_left, [](const LeftSession& left) { return !left.unwritten && !QFile::exists(left.path); });
  const auto n_more = std::ssize(m_left) - 1;
  m_welcome.setRecovery(m_left.empty() ? QString() : withMore(m_left.front().words, n_more));
  if (m_left.empty() && !m_why_not.isEmpty()) m_welcome.sayUnread(m_why_not);
  const auto offered = [](const LeftSession& left) { return !left.dismissed && !left.left_here; };
  const auto next = std::ranges::find_if(m_left, offered);
  if (next == m_left.end() || m_pages.shows(Page::welcome)) return;
  m_said = withMore(next->words, std::ranges::count_if(m_left, offered) - 1);
  m_notices.showAfter(m_said, next->path, "Recover it", [this, path = next->path] { recover(path); });
}

void LeftOffers::recover(const QString& path) {
  const auto place = std::ranges::find(m_left, path, &LeftSession::path);
  if (place == m_left.end()) return;
  const LeftSession left = *place;
  if (!left.unwritten) m_left.erase(place);  // nothing else has it until it is the window's session
  m_notices.takeBack(m_said);
  m_recover(left);
  offer();
}

/// The welcome page still has it.
void LeftOffers::dismiss(const QString& path) {
  const auto place = std::ranges::find(m_left, path, &LeftSession::path);
  if (place == m_left.end()) return;
  place->dismissed = true;
  QStringList all;
  for (const LeftSession& left : m_left)
    if (left.dismissed) all << left.path;
  if (m_settings) m_settings->setValue(kDismissed, all);
  offer();
}

}  // namespace kvscope
