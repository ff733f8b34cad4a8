// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include <QByteArray>
#include <QMutex>
#include <QObject>
#include <QString>
#include <QThreadPool>

#include "app/window/session/kept_opening.h"
#include "app/window/session/seen_file.h"
#include "app/window/session/session_file.h"
#include "core/cancel.h"
#include "io/files.h"
#include "trace/trace_reader.h"

namespace kvscope {

/// Compressed bytes: whys that are more are too large to be handed out, and what is more than kMostPacked has no room in a session, whose
/// text has four for three of them and something else as well.
inline constexpr std::size_t kMostPacked = std::size_t(kSessionBytes) / 4 * 3 - (std::size_t(12) << 20);
struct PackedAtMost {
  std::size_t why = std::size_t(24) << 20, slots = kMostPacked;
};

/// Results beside what computes them: the trace that kvscope-cli writes with --detail why (of long runs, where that would be too large,
/// with --detail slots), compressed by zlib. request: what they are of. Throws Cancelled, Error (still too large).
PackedTrace packTrace(const Snapshot& results, const RunRequest& request, const CancelToken* cancel = nullptr,
                      const PackedAtMost& most = {});
/// The trace of results as kvscope-cli writes it with --detail why, in pieces as they are made.
void writeTrace(const Snapshot& results, std::uint64_t seed, const TakesText& take);
/// Throws Error (damaged, too large, no trace); `name` begins its message.
Trace unpackTrace(const PackedTrace& packed, const QString& name);

using TracePtr = std::shared_ptr<const Trace>;

/// Writes and reads results on a thread of its own; one after the other. What is read is given up for what is to be read next, what is
/// written for what is to be written into the same file. Signals come on the thread of this object.
class StoredResults : public QObject {
  Q_OBJECT

 public:
  explicit StoredResults(QObject* parent = nullptr);
  ~StoredResults() override;  // finishes the file that is being written

  /// Writes the session that `path` holds again, with its results; nothing where the file is gone or another one by then.
  /// `model`: its folder, as this machine sees it; empty: it does not. `tables`: files that the runs read beside it.
  void keep(const QString& path, const SavedSession& session, const SnapshotPtr& results, const QString& model,
            const std::vector<SeenTable>& tables = {});
  /// modelIsAnother(path, known) where `model` is not what computed the results of the session that `path` holds (known: false where that
  /// had changed before they were written, so that nobody can tell), filesAreOthers(path, names) where files that its runs read beside it
  /// have changed since.
  void compareModel(const SavedSession& session, const QString& path, const QString& model);
  /// unusable(path, why) where the results of the session that `path` holds are damaged, or not of what it asks for. Those that would take
  /// long to read are only unpacked.
  void examine(const SavedSession& session, const QString& path);
  /// Of a session.
  void read(const PackedTrace& packed, const QString& name);
  /// A file of schema kvscope.trace/1.
  void read(const QString& path);
  /// A file of tokens that another program kept; `present`: the model that is open.
  void readKept(const QString& path, const QString& present);
  /// What is being read is not wanted any more.
  void giveUpReading();
  bool busy() const { return m_running > 0; }
  /// `file` is what keep() made of it last. Waits while it writes.
  bool wrote(const SeenFile& file) const;

 Q_SIGNALS:
  /// Empty `why`: the file has them, and `written` is what it holds.
  void kept(const QString& path, const QString& why, const kvscope::SavedSession& written);
  void opened(const kvscope::TracePtr& trace, const QString& name);
  void keptOpened(const kvscope::KeptOpening& opening);
  void failed(const QString& why);
  void modelIsAnother(const QString& path, bool known);
  void filesAreOthers(const QString& path, const QStringList& names);
  void unusable(const QString& path, const QString& why);

 private:
  using Newest = std::shared_ptr<CancelToken>;
  /// newest: of its kind, which is given up for this one; null: none is.
  template <class Work>
  void start(Work work, Newest* newest);
  /// `read(cancel)` gives what is to be said.
  template <class Read>
  void open(Read read);

  QThreadPool m_thread;  // one
  Newest m_read;
  std::map<QString, Newest> m_kept;  // by the path that is written
  int m_running = 0;
  mutable QMutex m_writing;
  SeenFile m_written;  // by keep(); with m_writing
};

}  // namespace kvscope
