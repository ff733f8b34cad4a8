// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/stored_results.h"

#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <QFile>

#include <fmt/format.h>
#include <zlib.h>

#include "arch/model_parts.h"
#include "core/error.h"
#include "core/failure.h"
#include "io/file_hash.h"
#include "io/files.h"
#include "trace/request_json.h"
#include "trace/trace_writer.h"

namespace kvscope {

namespace {

constexpr int kFast = 3;                          // levels above take many times as long for some percent less
constexpr std::size_t kMostExamined = 32u << 20;  // of a text: half a second on another thread
constexpr std::size_t kMostRatio = 64;            // real ones have 3 to 10; some hundred bytes must not become a gigabyte

/// Compresses a text as it is made: what a long run has recorded is a gigabyte of it.
class Compressor {
 public:
  struct TooLarge {};

  explicit Compressor(std::size_t most) : m_most(most), m_buffer(1 << 16, '\0') {
    if (deflateInit(&m_stream, kFast) != Z_OK) refuse();
  }
  ~Compressor() { deflateEnd(&m_stream); }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  /// Throws TooLarge: more than is wanted, or than is read again.
  void take(std::string_view piece) {
    m_out.bytes += piece.size();
    if (m_out.bytes > kMaxTraceBytes) throw TooLarge{};
    m_stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));  // which is only read
    m_stream.avail_in = static_cast<uInt>(piece.size());
    run(Z_NO_FLUSH);
    if (static_cast<std::size_t>(m_out.zlib.size()) > m_most) throw TooLarge{};
  }
  PackedTrace end() {
    run(Z_FINISH);
    return std::move(m_out);
  }

 private:
  [[noreturn]] static void refuse() { throw Error("results: too little memory to compress them"); }
  void run(int flush) {
    do {
      m_stream.next_out = reinterpret_cast<Bytef*>(m_buffer.data());
      m_stream.avail_out = static_cast<uInt>(m_buffer.size());
      if (deflate(&m_stream, flush) == Z_STREAM_ERROR) refuse();
      m_out.zlib.append(m_buffer.data(), static_cast<qsizetype>(m_buffer.size() - m_stream.avail_out));
    } while (m_stream.avail_out == 0);
  }

  std::size_t m_most;
  std::string m_buffer;
  PackedTrace m_out;
  z_stream m_stream{};
};

}  // namespace

PackedTrace packTrace(const Snapshot& results, const RunRequest& request, const CancelToken* cancel, const PackedAtMost& most) {
  for (const auto& [detail, bytes] : {std::pair(Detail::why, most.why), std::pair(Detail::slots, most.slots)}) {
    try {
      Compressor out(bytes);
      write_trace(results, {.detail = detail, .seed = request.seed, .cancel = cancel}, [&out](std::string_view piece) { out.take(piece); });
      return out.end();
    } catch (const Compressor::TooLarge&) {
    }
  }
  throw Error(fmt::format("they are larger than the {} MiB that a session has for them", kMostPacked >> 20));
}

void writeTrace(const Snapshot& results, std::uint64_t seed, const TakesText& take) {
  write_trace(results, {.detail = Detail::why, .seed = seed}, take);
}

/// The trace as it was packed. Throws Error: it is damaged.
static std::string unpackedText(const PackedTrace& packed, const QString& name) {
  const auto refuse = [&name](const QString& what) { return Error((name + ": results: " + what).toStdString()); };
  if (packed.bytes > kMaxTraceBytes) throw refuse(QString("expected at most %1 bytes, got %2").arg(kMaxTraceBytes).arg(packed.bytes));
  if (packed.bytes > static_cast<std::size_t>(packed.zlib.size()) * kMostRatio)
    throw refuse(QString("%1 bytes cannot come of %2 compressed ones: the file is damaged").arg(packed.bytes).arg(packed.zlib.size()));
  std::string text(packed.bytes, '\0');
  uLongf size = text.size();
  const int status = uncompress(reinterpret_cast<Bytef*>(text.data()), &size, reinterpret_cast<const Bytef*>(packed.zlib.constData()),
                                static_cast<uLong>(packed.zlib.size()));
  if (status != Z_OK || size != text.size())
    throw refuse("not readable by zlib as the " + QString::number(packed.bytes) + " bytes they should be: the file is damaged");
  return text;
}

Trace unpackTrace(const PackedTrace& packed, const QString& name) {
  return read_trace(unpackedText(packed, name), name.toStdString() + ": results");
}

StoredResults::StoredResults(QObject* parent) : QObject(parent) { m_thread.setMaxThreadCount(1); }

StoredResults::~StoredResults() { m_thread.waitForDone(); }

template <class Work>
void StoredResults::start(Work work, Newest* newest) {
  const auto own = std::make_shared<CancelToken>();
  if (newest) {
    if (*newest) (*newest)->cancel();
    *newest = own;
  }
  ++m_running;
  m_thread.start([this, work = std::move(work), mine = own] {
    std::function<void()> said;
    try {
      said = work(*mine);
    } catch (const Cancelled&) {
    }
    QMetaObject::invokeMethod(
        this,
        [this, said = std::move(said), mine] {
          --m_running;
          if (said && !mine->cancelled()) said();
        },
        Qt::QueuedConnection);
  });
}

/// Empty: it cannot be read, or not from here. stamp: what the files were when they were read; empty: as they are now.
static QString hashOf(const QString& model, const std::string& stamp = {}) {
  const std::string files = model.toStdString();
  try {
    return files.empty() ? QString() : QString::fromStdString(stamp.empty() ? hash_of_model(files) : hash_of_read_model(files, stamp));
  } catch (const Error&) {
    return {};
  }
}

void StoredResults::compareModel(const SavedSession& session, const QString& path, const QString& model) {
  start(
      [this, session, path, model](const CancelToken&) -> std::function<void()> {
        const QString was = session.results.model_sha256, now = was.isEmpty() ? QString() : hashOf(model);
        if (!now.isEmpty() && now != was) return [this, path, known = was != kChangedSinceRead] { Q_EMIT modelIsAnother(path, known); };
        QStringList names;
        try {
          const std::string folder = folder_of(path.toStdString());
          std::vector<RunFileHash> known = session.results.files;
          for (RunFileHash& file : known) file.name = name_beside(file.name, folder);  // as the runs have it here
          for (const std::string& name : changed_files(known, session.request.lanes, model.toStdString()))
            names << QString::fromStdString(name);
        } catch (const Error&) {
          return {};  // whoever computes them says what is wrong
        }
        if (names.isEmpty()) return {};
        return [this, path, names] { Q_EMIT filesAreOthers(path, names); };
      },
      nullptr);
}

void StoredResults::examine(const SavedSession& session, const QString& path) {
  start(
      [this, session, path](const CancelToken&) -> std::function<void()> {
        QString why;
        try {
          const std::string text = unpackedText(session.results, path);
          if (text.size() > kMostExamined) return {};
          const Trace trace = read_trace(text, "results");
          RunRequest told = session.request;  // as it stands in the file
          told.lanes = with_files_told(told.lanes, folder_of(path.toStdString()));
          const char* const other = not_of(told, trace) ? not_of(session.request, trace) : nullptr;
          if (other) why = QString("are those of another request (%1) than its own").arg(other);
        } catch (const std::exception& error) {  // memory, too
          why = QString("are damaged (%1)").arg(QString::fromUtf8(words_of(error)));
        }
        if (why.isEmpty()) return {};
        return [this, path, why] { Q_EMIT unusable(path, why); };
      },
      nullptr);
}

/// Of what is another file by now nobody can tell it any more: then words, which are no file's hash.
static RunFileHash hashOf(const SeenTable& table) {
  const QString path = table.file.path;
  if (SeenFile::now(path) != table.file) return {table.name, kChangedSinceRead};
  try {
    return {table.name, hash_of_file(path.toStdString()).sha256};
  } catch (const Error&) {
    return {table.name, "not readable"};
  }
}

void StoredResults::keep(const QString& path, const SavedSession& session, const SnapshotPtr& results, const QString& model,
                         const std::vector<SeenTable>& tables) {
  start(
      [this, path, session, results, model, tables](const CancelToken& cancel) -> std::function<void()> {
        QString why;
        SavedSession whole = session;
        try {
          whole.results = packTrace(*results, session.request, &cancel);
          whole.results.model_sha256 = hashOf(model, results->model_stamp);
          for (const SeenTable& table : tables) whole.results.files.push_back(hashOf(table));
          cancel.check();
          const QMutexLocker writing(&m_writing);
          QFile file(path);
          if (!file.open(QIODevice::ReadOnly) || file.readAll() != sessionJson(session)) return {};
          file.close();
          writeSession(path, whole);
          m_written = SeenFile::now(path);
        } catch (const Cancelled&) {
          throw;
        } catch (const std::exception& error) {  // memory, too
          why = QString::fromUtf8(words_of(error));
        }
        return [this, path, why, whole] { Q_EMIT kept(path, why, whole); };
      },
      &m_kept[path]);
}

bool StoredResults::wrote(const SeenFile& file) const {
  const QMutexLocker writing(&m_writing);
  return file == m_written;
}

template <class Read>
void StoredResults::open(Read read) {
  start(
      [this, read](const CancelToken& cancel) -> std::function<void()> {
        cancel.check();
        try {
          return read(cancel);
        } catch (const Cancelled&) {
          throw;
        } catch (const std::exception& error) {
          return [this, why = QString::fromUtf8(words_of(error))] { Q_EMIT failed(why); };
        }
      },
      &m_read);
}

void StoredResults::giveUpReading() {
  if (m_read) m_read->cancel();
}

void StoredResults::read(const PackedTrace& packed, const QString& name) {
  open([this, packed, name](const CancelToken&) {
    return [this, name, trace = std::make_shared<const Trace>(unpackTrace(packed, name))] { Q_EMIT opened(trace, name); };
  });
}

void StoredResults::read(const QString& path) {
  open([this, path](const CancelToken&) {
    return [this, path, trace = std::make_shared<const Trace>(read_trace_file(path.toStdString()))] { Q_EMIT opened(trace, path); };
  });
}

void StoredResults::readKept(const QString& path, const QString& present) {
  open([this, path, present](const CancelToken& cancel) {
    return [this, opening = openKeptFile(path, present, cancel)] { Q_EMIT keptOpened(opening); };
  });
}

}  // namespace kvscope
