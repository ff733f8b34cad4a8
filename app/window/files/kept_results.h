// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <QObject>

#include "app/window/session/seen_file.h"
#include "app/window/session/session_file.h"

namespace kvscope {

class MessageBar;
class StoredResults;
struct WindowModel;

/// What a session holds, for as long as it is computed anew by the model that it names: to be shown in its place where that is refused, or
/// is another one than the one that computed it.
class KeptResults : public QObject {
  Q_OBJECT

 public:
  KeptResults(WindowModel& model, StoredResults& results, MessageBar& notices);

  /// Of the session that was opened from `path` just now with the model in `folder`; `loads`: which is being opened, too.
  /// left_out: what of its file is not in it, and has been said, for what is said in its place.
  void follow(const SavedSession& session, const QString& path, const QString& folder, bool loads, const QStringList& left_out);
  void forget();  // another session, or one without its model
  /// Of results, when their session was saved: behind "Saved to" and its path, and why the file is left without them; empty: it is not.
  struct Said {
    QString words, why_not = {};
  };
  /// The results that a file has by now.
  void know(const SavedSession& written, const QString& path);
  /// The results on screen, into the file of the session that was just written; those that are still being computed once they are there.
  Said keep(const QString& path, const SavedSession& written);
  /// Files beside the model that the runs of the results on screen read.
  const std::vector<SeenTable>& tables() const { return m_tables; }
  /// With the results that are known to be the session's own, so that saving it anew does not write it without them first; files that its
  /// runs name as they are named from `path`, where it is going. `before`: its file until now.
  SavedSession completed(SavedSession session, const QString& path, const QString& before) const;
  void takeSnapshot();

 Q_SIGNALS:
  /// Those that were to be written once they are computed.
  void notKept(const QString& path, const QString& why);
  /// They are to be shown. `why` the model is not used goes on "the model of this session …".
  void wanted(const kvscope::SavedSession& session, const QString& why);
  /// To a script, which nobody can ask.
  void refused(const QString& why);

 private:
  /// A session that was saved while its results were being computed, and of what they are.
  struct Awaited {
    QString path, model;
    SavedSession written;
    std::string work;
  };
  bool stillComputed() const;
  void keepAwaited();
  void giveUp(const QString& why);
  void sayAnother(const QString& path, bool known);
  void sayOtherFiles(const QString& path, const QStringList& names);
  void say(const QString& path, const QString& text, const QString& why);
  void seeTables();
  void sayUnusable(const QString& path, const QString& why);
  QString withLeftOut(QString text) const;

  WindowModel& m_model;
  StoredResults& m_results;
  MessageBar& m_notices;
  std::optional<SavedSession> m_session;
  std::optional<Awaited> m_awaited;
  std::optional<SavedSession> m_known;  // whose results are those of its request
  QString m_path;
  QStringList m_left_out;
  std::vector<SeenTable> m_tables;  // that the results on screen were computed with
  std::uint64_t m_tables_of = 0;    // their generation
  bool m_loads = false;
};

}  // namespace kvscope
