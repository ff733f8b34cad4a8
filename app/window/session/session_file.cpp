// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/session_file.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "app/window/session/page_names.h"
#include "core/error.h"
#include "io/files.h"
#include "io/json_cursor.h"
#include "io/result_files.h"
#include "runtime/model/run_files.h"
#include "trace/json_text.h"
#include "trace/request_json.h"

namespace kvscope {

namespace {

constexpr int kMostViewChoices = 64, kMostBookmarks = 10000, kMostPoints = 10000, kMostFiles = 1000, kMostTokens = 1 << 20,
              kLongestName = 1000;
constexpr qsizetype kMostNotes = 20;
constexpr const char *kResultsSchema = "kvscope.trace/1", *kResultsPacking = "zlib, base64";
constexpr const char* kCopyAgain = "copy the file again from where it was saved";
constexpr int kLargest = std::numeric_limits<int>::max();

QString typeName(const JsonCursor& value) {
  return value.is_null()     ? "null"
         : value.is_number() ? "a number"
         : value.is_string() ? "a text"
         : value.is_array()  ? "a list"
         : value.is_object() ? "an object"
                             : "true or false";
}

[[noreturn]] void refuse(const QString& where, const QString& expected, const QString& got) {
  throw Error((where + ": expected " + expected + ", got " + got).toStdString());
}

/// A limit that is that of the type says nothing, unless it is exceeded.
QString rangeWords(double least, double most, double got) {
  const auto plain = [](double v) { return QString::number(v, 'g', 15); };
  return most >= kLargest && got < least ? QString("a number of %1 or more").arg(plain(least))
                                         : QString("a number from %1 to %2").arg(plain(least), plain(most));
}

QString textOf(const JsonCursor& value) {
  const std::string_view text = value.view();
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

/// One object of the file: what is there must have its type and range, what is missing keeps its default, what is unknown is noted.
class Fields {
 public:
  Fields(const JsonCursor& object, QString where) : m_object(object), m_where(std::move(where)) {
    if (!object.is_object()) refuse(m_where, "an object", typeName(object));
  }
  /// nullopt: missing or null.
  std::optional<JsonCursor> get(const char* key) {
    m_asked.insert(key);
    return m_object.given(key) ? std::optional(m_object.at(key)) : std::nullopt;
  }
  QString at(const QString& key) const { return m_where + "." + key; }

  QString text(const char* key, const QString& otherwise = {}, qsizetype longest = kLongestName) {
    const auto value = get(key);
    if (!value) return otherwise;
    if (!value->is_string()) refuse(at(key), "a text", typeName(*value));
    if (static_cast<qsizetype>(value->view().size()) > 4 * longest)
      refuse(at(key), QString("at most %1 characters").arg(longest), QString("%1 bytes").arg(value->view().size()));
    const QString text = textOf(*value);
    if (text.size() > longest) refuse(at(key), QString("at most %1 characters").arg(longest), QString::number(text.size()));
    return text;
  }
  bool boolean(const char* key, bool otherwise) {
    const auto value = get(key);
    if (!value) return otherwise;
    if (value->is_number() || value->is_string() || value->is_array() || value->is_object())
      refuse(at(key), "true or false", typeName(*value));
    return value->flag();
  }
  double number(const char* key, double otherwise, double least, double most) {
    const auto value = get(key);
    if (!value) return otherwise;
    if (!value->is_number()) refuse(at(key), "a number", typeName(*value));
    const double v = value->real();
    if (!(v >= least && v <= most)) refuse(at(key), rangeWords(least, most, v), QString::fromStdString(value->shown()));
    return v;
  }
  int integer(const char* key, int otherwise, int least, int most) {
    const double v = number(key, otherwise, least, most);
    if (v != std::floor(v)) refuse(at(key), "a whole number", QString::fromStdString(get(key)->shown()));
    return static_cast<int>(v);
  }
  std::optional<int> index(const char* key) { return get(key) ? std::optional(integer(key, 0, 0, kLargest)) : std::nullopt; }
  /// nullopt: empty.
  std::optional<JsonCursor> list(const char* key, int longest) {
    const auto value = get(key);
    if (!value) return std::nullopt;
    if (!value->is_array()) refuse(at(key), "a list", typeName(*value));
    if (value->size() > static_cast<std::size_t>(longest))
      refuse(at(key), QString("at most %1 entries").arg(longest), QString::number(value->size()));
    return value;
  }
  std::vector<int> integers(const char* key) {
    std::vector<int> out;
    const auto values = list(key, kMostTokens);
    for (std::size_t i = 0; values && i < values->size(); ++i) {
      const JsonCursor value = values->at(i);
      const double v = value.is_number() ? value.real() : -1;
      if (v != std::floor(v) || v < 0 || v > kLargest)
        refuse(at(key), "whole numbers from 0", value.is_number() ? QString::fromStdString(value.shown()) : typeName(value));
      out.push_back(static_cast<int>(v));
    }
    return out;
  }
  /// One of the words; another one is noted and the default stays.
  QString word(const char* key, const QStringList& words, QStringList& notes) {
    const QString got = text(key, words.front());
    if (words.contains(got)) return got;
    notes << QString("%1 \"%2\" is not known here: %3 is used").arg(at(key), got, words.front());
    return words.front();
  }
  /// [first, last]
  std::optional<std::pair<int, int>> range(const char* key) {
    if (!get(key)) return std::nullopt;
    const std::vector<int> ends = integers(key);
    if (ends.size() != 2 || ends[0] > ends[1]) refuse(at(key), "[first, last]", QString("%1 numbers").arg(ends.size()));
    return std::pair(ends[0], ends[1]);
  }
  /// of_request: what a run is asked to be stands among them, and has been read.
  void noteOthers(QStringList& notes, bool of_request = false) const {
    for (std::size_t i = 0; i < m_object.n_members(); ++i) {
      const std::string_view key = m_object.member_name(i);
      if (m_asked.contains(key) || (of_request && is_request_key(key))) continue;
      if (notes.size() >= kMostNotes) return;
      notes << at(QString::fromUtf8(key.data(), static_cast<qsizetype>(std::min<std::size_t>(key.size(), 100)))) +
                   " is not known here and was left out";
    }
  }

 private:
  const JsonCursor m_object;
  QString m_where;
  std::set<std::string, std::less<>> m_asked;
};

QJsonArray pair(int first, int last) { return {first, last}; }

QJsonObject selectionJson(const viz::Selection& s) {
  QJsonObject out{{"lane", s.lane}};
  if (s.layer) out["layer"] = *s.layer;
  if (s.kv_head) out["kv_head"] = *s.kv_head;
  if (s.tokens) out["tokens"] = pair(s.tokens->first, s.tokens->last);
  if (!s.more_tokens.empty()) {  // first, last, first, last, …
    QJsonArray ends;
    for (const viz::TokenRange& r : s.more_tokens) ends.append(r.first), ends.append(r.last);
    out["more_tokens"] = ends;
  }
  if (s.slot) out["slot"] = *s.slot;
  if (s.step) out["step"] = *s.step;
  if (s.steps) out["steps"] = pair(s.steps->first, s.steps->last);
  return out;
}

viz::Selection selectionOf(const std::optional<JsonCursor>& value, const QString& where, QStringList& notes) {
  viz::Selection s;
  if (!value) return s;
  Fields f(*value, where);
  s.lane = f.integer("lane", 0, 0, kLargest);
  s.layer = f.index("layer");
  s.kv_head = f.index("kv_head");
  if (const auto r = f.range("tokens")) s.tokens = viz::TokenRange{r->first, r->second};
  const std::vector<int> more = f.integers("more_tokens");
  if (more.size() % 2 != 0) refuse(f.at("more_tokens"), "pairs of first and last", QString("%1 numbers").arg(more.size()));
  for (std::size_t i = 0; s.tokens && i < more.size(); i += 2) {
    const viz::TokenRange range{more[i], more[i + 1]};
    if (range.last < range.first || viz::has_token(s, range.first) || viz::has_token(s, range.last))
      refuse(f.at("more_tokens"), "ranges apart from each other", QString("%1–%2").arg(range.first).arg(range.last));
    s.more_tokens.push_back(range);
  }
  s.slot = f.index("slot");
  s.step = f.index("step");
  if (const auto r = f.range("steps")) s.steps = viz::StepRange{r->first, r->second};
  f.noteOthers(notes);
  return s;
}

Bookmark bookmarkOf(const JsonCursor& value, const QString& where, QStringList& notes) {
  Fields f(value, where);
  Bookmark b;
  b.name = f.text("name");
  b.note = f.text("note", {}, 1 << 16);
  b.colour = f.integer("colour", 0, 0, 1000);
  b.page = f.word("page", pageNames(), notes);
  b.selection = selectionOf(f.get("selection"), where + ".selection", notes);
  f.noteOthers(notes);
  return b;
}

/// Of another schema or packing: left out, with a note.
PackedTrace resultsOf(const JsonCursor& value, QStringList& notes) {
  const QString where = "session.results";
  Fields f(value, where);
  const QString schema = f.text("schema"), packing = f.text("packed");
  const double bytes = f.number("bytes", 0, 0, 1e12);
  const QString model = f.text("model_sha256");
  std::vector<RunFileHash> hashes;
  const auto files = f.list("files", kMostFiles);
  for (std::size_t i = 0; files && i < files->size(); ++i) {
    Fields file(files->at(i), QString("%1.files[%2]").arg(where).arg(i));
    hashes.push_back({file.text("file", {}, 1 << 16).toStdString(), file.text("sha256").toStdString()});
    file.noteOthers(notes);
  }
  const auto data = f.get("data");
  if (data && !data->is_string()) refuse(f.at("data"), "a text", typeName(*data));
  f.noteOthers(notes);
  if (schema != kResultsSchema || packing != kResultsPacking) {
    notes << QString("%1: schema \"%2\", packed as \"%3\", is not known here and was left out").arg(where, schema, packing);
    return {};
  }
  const std::string_view base64 = data ? data->view() : std::string_view();
  const auto read = QByteArray::fromBase64Encoding(QByteArray::fromRawData(base64.data(), static_cast<qsizetype>(base64.size())),
                                                   QByteArray::Base64Encoding | QByteArray::AbortOnBase64DecodingErrors);
  if (!read) {
    notes << QString("%1 are damaged (data: expected base64, got something else) and were left out: they are computed anew").arg(where);
    return {};
  }
  return {*read, static_cast<std::size_t>(bytes), model, std::move(hashes)};
}

struct FigureName {
  const char* name;
  double SweepFigures::*figure;
};
constexpr FigureName kFigures[] = {{"mean_kl", &SweepFigures::mean_kl},
                                   {"top1_same", &SweepFigures::top1},
                                   {"kv_bytes", &SweepFigures::bytes},
                                   {"ms_per_step", &SweepFigures::ms},
                                   {"slots_at_end", &SweepFigures::slots}};

QJsonObject sweepJson(const SavedSweep& sweep) {
  QJsonArray runs, not_measured;
  for (const SweepPoint& p : sweep.points) {
    if (!p.figures) {
      not_measured.append(QString::fromStdString(p.spec));
      continue;
    }
    QJsonObject run{{"run", QString::fromStdString(p.spec)}};
    for (const FigureName& f : kFigures)
      if (std::isfinite((*p.figures).*f.figure)) run[f.name] = (*p.figures).*f.figure;  // what is missing is not available
    runs.append(run);
  }
  return {{"text", sweep.text}, {"budgets", sweep.budgets},    {"seeds", sweep.seeds}, {"figure", sweep.figure}, {"axis", sweep.axis},
          {"runs", runs},       {"not_measured", not_measured}};
}

SavedSweep sweepOf(const JsonCursor& value, QStringList& notes) {
  SavedSweep out;
  Fields f(value, "session.sweep");
  out.text = f.text("text");
  out.budgets = f.text("budgets");
  out.seeds = f.text("seeds");
  out.figure = f.text("figure");
  out.axis = f.text("axis");
  const auto runs = f.list("runs", kMostPoints);
  for (std::size_t i = 0; runs && i < runs->size(); ++i) {
    Fields run(runs->at(i), QString("session.sweep.runs[%1]").arg(i));
    SweepPoint point;
    point.spec = run.text("run").toStdString();
    point.figures.emplace();
    for (const FigureName& figure : kFigures) (*point.figures).*figure.figure = run.number(figure.name, kNotAvailable, 0, 1e18);
    run.get("slots_held");  // as it was written first: a mean over the steps, which nothing shows any more
    run.noteOthers(notes);
    out.points.push_back(std::move(point));
  }
  const auto not_measured = f.list("not_measured", kMostPoints);
  for (std::size_t i = 0; not_measured && i < not_measured->size(); ++i) {
    const JsonCursor run = not_measured->at(i);
    if (!run.is_string()) refuse(f.at(QString("not_measured[%1]").arg(i)), "a text", typeName(run));
    out.points.push_back({.spec = textOf(run).toStdString(), .figures = {}, .failure = {}});
  }
  f.noteOthers(notes);
  return out;
}

/// As the engine writes it everywhere.
QJsonObject requestJson(const RunRequest& request) {
  JsonText text;
  text.begin_object();
  write_request(text, request);
  text.end_object();
  return QJsonDocument::fromJson(QByteArray::fromStdString(text.text())).object();
}

}  // namespace

QByteArray sessionJson(const SavedSession& session) {
  QJsonArray bookmarks;
  for (const Bookmark& b : session.bookmarks)
    bookmarks.append(
        QJsonObject{{"name", b.name}, {"note", b.note}, {"colour", b.colour}, {"page", b.page}, {"selection", selectionJson(b.selection)}});
  QJsonObject out = requestJson(session.request);
  out["kvscope"] = "session";
  out["version"] = kSessionVersion;
  out["model"] = session.model.isEmpty() ? QJsonObject{{"built_in", true}} : QJsonObject{{"folder", session.model}};
  out["selection"] = selectionJson(session.selection);
  out["page"] = session.page;
  out["bookmarks"] = bookmarks;
  if (!session.sweep.points.empty()) out["sweep"] = sweepJson(session.sweep);
  if (!session.store.isEmpty()) out["store"] = session.store;
  QJsonArray views;
  for (const ViewChoice& v : session.views) views.append(QJsonObject{{"view", v.view}, {"option", v.option}, {"choice", v.choice}});
  if (!views.isEmpty()) out["views"] = views;
  if (!session.file.isEmpty()) out["file"] = session.file;
  if (!session.results.zlib.isEmpty()) {
    QJsonObject results{{"schema", kResultsSchema},
                        {"packed", kResultsPacking},
                        {"bytes", static_cast<qint64>(session.results.bytes)},
                        {"model_sha256", session.results.model_sha256},
                        {"data", QString::fromLatin1(session.results.zlib.toBase64())}};
    QJsonArray files;
    for (const RunFileHash& file : session.results.files)
      files.append(QJsonObject{{"file", QString::fromStdString(file.name)}, {"sha256", QString::fromStdString(file.sha256)}});
    if (!files.isEmpty()) results["files"] = files;
    out["results"] = results;
  }
  return QJsonDocument(out).toJson();
}

ReadSession parseSession(const QByteArray& json, const QString& name) {
  try {
    if (json.size() > kSessionBytes) refuse("session", QString("at most %1 bytes").arg(kSessionBytes), QString::number(json.size()));
    if (json.trimmed().isEmpty()) throw Error(std::string("expected a session, got an empty file; ") + kCopyAgain);
    const JsonDocument document = JsonDocument::parse(std::string_view(json.constData(), static_cast<std::size_t>(json.size())), "session");
    ReadSession out;
    const JsonCursor root(document);
    Fields f(root, "session");
    if (!f.get("kvscope"))
      refuse("session", "\"kvscope\": \"session\"", "none: this is no session of kvscope; to use its text as a prompt, paste it");
    if (f.text("kvscope") != "session")
      refuse("session.kvscope", "\"session\"",
             "\"" + f.text("kvscope") + "\": this is no session of kvscope; to use its text as a prompt, paste it");
    if (!f.get("version")) refuse("session.version", QString("a number from 1"), "nothing");
    const int version = f.integer("version", 0, 1, kLargest);
    if (const std::string newer = newer_session_notice(version); !newer.empty()) out.notes << QString::fromStdString(newer);
    SavedSession& s = out.session;
    if (const auto where = f.get("model")) {
      Fields model(*where, "session.model");
      const bool built_in = model.boolean("built_in", false);
      s.model = built_in ? QString() : model.text("folder", {}, 1 << 16);
      if (!built_in && s.model.isEmpty()) refuse("session.model", "a \"folder\", or \"built_in\": true", "neither");
      model.noteOthers(out.notes);
    }
    std::vector<std::string> remarks;
    s.request = read_request(root, &remarks);
    for (const std::string& remark : remarks) out.notes << QString::fromStdString(remark);
    s.selection = selectionOf(f.get("selection"), "session.selection", out.notes);
    s.page = f.word("page", pageNames(), out.notes);
    if (const auto sweep = f.get("sweep")) s.sweep = sweepOf(*sweep, out.notes);
    s.store = f.text("store");
    if (const QString sort = f.text("sort"); !sort.isEmpty()) s.views.push_back({"compare", "sort", sort});  // as it was written first
    const auto views = f.list("views", kMostViewChoices);
    for (std::size_t i = 0; views && i < views->size(); ++i) {
      Fields view(views->at(i), QString("session.views[%1]").arg(i));
      s.views.push_back({view.text("view"), view.text("option"), view.text("choice")});
      view.noteOthers(out.notes);
    }
    s.file = f.text("file");
    if (const auto results = f.get("results")) s.results = resultsOf(*results, out.notes);
    const auto bookmarks = f.list("bookmarks", kMostBookmarks);
    for (std::size_t i = 0; bookmarks && i < bookmarks->size(); ++i)
      s.bookmarks.push_back(bookmarkOf(bookmarks->at(i), QString("session.bookmarks[%1]").arg(i), out.notes));
    f.noteOthers(out.notes, /*of_request=*/true);
    return out;
  } catch (const Error& error) {
    throw Error(name.toStdString() + ": " + error.what());
  }
}

ReadSession readSession(const QString& path) {
  const std::string text = read_text(path.toStdString(), static_cast<std::size_t>(kSessionBytes));
  return parseSession(QByteArray(text.data(), static_cast<qsizetype>(text.size())), path);
}

ReadSession takeUpSession(const QString& path, Runs runs) {
  ReadSession read = readSession(path);
  if (runs == Runs::all) {
    const JsonDocument document = JsonDocument::read(path.toStdString());
    read_request(JsonCursor(document));
  }
  const QString file = QFileInfo(path).canonicalFilePath();  // what a link leads to was written, not the link
  if (!file.isEmpty()) remove_unfinished(file.toStdString());
  return read;
}

QStringList filesOutside(const std::vector<LaneSpec>& runs, const QString& path, const QString& model_folder) {
  QStringList out;
  for (const std::string& file : named_files_outside(runs, model_folder.toStdString(), QFileInfo(path).absoluteFilePath().toStdString()))
    out << QString::fromStdString(file);
  return out;
}

QString whyNotUnasked(const QString& path, const QStringList& outside) {
  return QString("%1 was not opened yet: its runs read %2, outside of its folder; open it only if you know why")
      .arg(QFileInfo(path).fileName(), outside.join(", "));
}

void writeSession(const QString& path, const SavedSession& session) {
  check_no_model_file(path.toStdString());
  const QByteArray json = sessionJson(session);
  if (json.size() > kSessionBytes)  // nobody could read it
    throw Error(fmt::format("{}: not written: expected at most {} bytes, got {}", path.toStdString(), kSessionBytes, json.size()));
  write_atomically(path.toStdString(), std::string_view(json.constData(), static_cast<std::size_t>(json.size())));
}

}  // namespace kvscope
