// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QByteArray>
#include <QString>
#include <QStringList>

#include "app/window/panels/runs/sweep_data.h"
#include "app/window/session/bookmarks.h"
#include "runtime/model/run_files.h"
#include "runtime/session/run_request.h"
#include "viz/selection.h"

namespace kvscope {

/// Text of a trace, compressed by zlib.
struct PackedTrace {
  QByteArray zlib;                      // empty: there is none
  std::size_t bytes = 0;                // of the text
  QString model_sha256;                 // of the model that computed it (hash_of_read_model() of arch/model_parts.h); empty: not known
  std::vector<RunFileHash> files = {};  // that the runs read beside it, by their names in them
};

/// What a budget sweep measured, and what was chosen for it.
struct SavedSweep {
  QString text;                    // textDigest() of the text that the figures hold for; empty: nothing was measured or chosen
  QString budgets, seeds;          // as typed
  QString figure, axis;            // what the curves show and by what, in the words of the window; empty: the first there is
  std::vector<SweepPoint> points;  // chosen ones; those without figures were not measured
};

/// What was chosen in the header of a view, by the words that stand there: "compare", "sort", "mean KL".
struct ViewChoice {
  QString view, option, choice;
  bool operator==(const ViewChoice&) const = default;
};

/// What a *.kvscope file holds: how to compute everything again, where the user was, and, where the model is missing, what was
/// computed. No weights.
struct SavedSession {
  QString model;  // folder; empty: the model that comes with the program
  RunRequest request;
  viz::Selection selection;
  QString page = "inspect";  // inspect | inspector | compare | sweep | lecture
  std::vector<Bookmark> bookmarks;
  SavedSweep sweep;
  QString store;                  // folder with a sweep over many texts that the page of sweeps shows; empty: it shows this text's
  std::vector<ViewChoice> views;  // those that a session keeps (viz::Option::kept); one that is not named is the first that there is
  PackedTrace results;            // stored_results.h
  QString file;                   // of what is kept against a crash: where it was saved; empty: nowhere, or this is that file
};

struct ReadSession {
  SavedSession session;
  QStringList notes;  // what could not be taken over; empty: everything was
};

inline constexpr qint64 kSessionBytes = 64 << 20;

/// JSON text (UTF-8): { "kvscope": "session", "version": 1, "model": …, "prompt": …, "lanes": […], … }.
QByteArray sessionJson(const SavedSession& session);
/// Throws Error (what is wrong, where, what was expected). A file of a newer version is read as far as it is understood, and says so.
ReadSession parseSession(const QByteArray& json, const QString& name);
/// Throws Error (the file, too).
ReadSession readSession(const QString& path);
/// The same to go on with: what a program that was killed left beside the file while it wrote it goes. With all runs, as for a script,
/// which nobody can ask, it throws Error or UsageError as well where a run or a word of the request would be noted and left out: as
/// kvscope-cli does of the same file.
enum class Runs : std::uint8_t { known, all };
ReadSession takeUpSession(const QString& path, Runs runs = Runs::known);
/// Files that the runs of the file at `path` name, a session's or a lesson's, and that lie neither beside it nor in the model's folder:
/// nobody has chosen them.
QStringList filesOutside(const std::vector<LaneSpec>& runs, const QString& path, const QString& model_folder);
/// Why it is not opened unasked, then.
QString whyNotUnasked(const QString& path, const QStringList& outside);
/// What is asked beside it.
inline QString readThem(const QStringList& outside) { return outside.size() == 1 ? "Read it" : "Read them"; }
/// Replaces the file only once everything is written, and no file of a model. Throws Error.
void writeSession(const QString& path, const SavedSession& session);

}  // namespace kvscope
