// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include <QString>

#include "app/window/files/unsaved/aside.h"
#include "app/window/session/session_file.h"
#include "snapshot/snapshot.h"

namespace kvscope {

class MessageBar;
class StoredResults;

/// Results that are shown in place of computed ones.
struct Shown {
  SnapshotPtr results;  // null: they are computed
  QString why = {};     // nothing is
};

/// Takes the place of what there is; returns that.
using Take = std::function<Aside(const Shown&)>;

/// What is being read to be shown, which may be given up. Nothing takes the place of what there is before it is there.
class AwaitedResults {
 public:
  AwaitedResults(StoredResults& results, MessageBar& notices) : m_results(results), m_notices(notices) {}

  struct OfSession {
    SavedSession session;
    Take take;
    QString refusal = {};  // why its model is not used; empty: it is not there
  };
  /// Those that a session holds.
  void read(const OfSession& of, const QString& path);
  /// A file that is read by what is called next.
  void say(const QString& path);
  /// Something else takes the place of what there is.
  void stop();
  /// They are there, or cannot be read. The session that they are of; nullopt: a file of its own.
  std::optional<OfSession> end();

 private:
  StoredResults& m_results;
  MessageBar& m_notices;
  std::optional<OfSession> m_of;
  QString m_said;  // of what is being read; empty: nothing is
};

}  // namespace kvscope
