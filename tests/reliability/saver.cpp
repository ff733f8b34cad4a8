// SPDX-License-Identifier: Apache-2.0
// Writes one file over and over until it is killed, as the window does: saver session FILE, saver results FILE (a session, and again with
// its results), or saver journal FOLDER. Says "ready" once there is one. With "start" in front it does what the next start does: saves
// once; opens the session; offers what was left.
#include <cstdio>
#include <cstring>
#include <string>

#include <QCoreApplication>

#include "app/window/session/session_file.h"
#include "app/window/session/session_journal.h"

namespace {

using namespace kvscope;

/// Of a length of its own, so that a torn or mixed one shows: number, then as many words as it says.
SavedSession numbered(int number) {
  SavedSession session;
  session.request.prompt = std::to_string(number) + ":";
  for (int i = 0; i < number % 2000; ++i) session.request.prompt += " word";
  session.request.prompt += " end";
  return session;
}

void ready() {
  std::puts("ready");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const QCoreApplication app(argc, argv);
  const bool start = argc == 4 && std::strcmp(argv[1], "start") == 0;
  if (argc != 3 && !start)
    return std::fputs("usage: saver [start] session FILE | saver [start] results FILE | saver [start] journal FOLDER\n", stderr), 2;
  const QString place = argv[argc - 1];
  if (std::strcmp(argv[argc - 2], "session") == 0) {
    for (int i = 0;; ++i) {
      writeSession(place, numbered(i * 37));
      if (start) return 0;
      if (i == 0) ready();
    }
  }
  if (std::strcmp(argv[argc - 2], "results") == 0) {
    if (start) return takeUpSession(place), 0;
    for (int i = 0;; ++i) {
      SavedSession session = numbered(i * 37);
      writeSession(place, session);
      if (i == 0) ready();
      session.results = {QByteArray(300000 + i % 7 * 100000, 'z'), 1};
      writeSession(place, session);
    }
  }
  if (start) {
    for (const QString& left : SessionJournal::left(place)) std::puts(left.toUtf8().constData());
    return 0;
  }
  int number = 0;
  SessionJournal journal(place, [&] { return sessionJson(numbered(number)); });
  ready();  // the first file, too, may be cut
  for (;; number += 37) journal.writeNow();
}
