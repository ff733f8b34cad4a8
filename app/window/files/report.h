// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <QImage>
#include <QSizeF>
#include <QString>
#include <QTextDocument>

#include "app/share/how_made.h"
#include "app/window/session/bookmarks.h"
#include "app/window/session/seen_file.h"
#include "snapshot/snapshot.h"
#include "viz/canvas.h"

namespace kvscope {

struct ReportPicture {
  QString title, caption;
  QImage image;  // device pixel ratio set: its width in points is what the page gives it
};

/// What a report says. Every number of it is read from the same tables that the window shows.
struct Report {
  SnapshotPtr snapshot;
  share::Asked asked;
  QString model_folder;           // empty: not known by which files it was computed
  std::vector<SeenTable> tables;  // that runs read beside it
  viz::Table runs;                // of the comparison
  viz::Table sweep;               // empty: none was measured
  std::vector<ReportPicture> pictures;
  std::vector<Bookmark> bookmarks;
  QString written;  // when, as text
};

/// One page that stands for itself: pictures inside, no links to anything outside.
QString reportHtml(const Report& report);
/// The same as a document whose page is as tall as it has to be.
std::unique_ptr<QTextDocument> reportOnOnePage(const Report& report);
/// The same laid on sheets of paper of this size (points); no heading is parted from what follows it, and no row
/// of a table is split.
std::unique_ptr<QTextDocument> reportOnPaper(const Report& report, const QSizeF& paper);
/// Of a .pdf: one page for the screen, or A4 sheets for a printer.
enum class ReportPaper { one_page, a4_sheets };
/// Writes the page as .html or .pdf. False: `error` says why and what to do.
bool writeReport(const Report& report, const QString& path, ReportPaper paper, QString* error);

/// Names and SHA-256 of what the numbers depend on: program, model files, prompt. Of a file of more than 256 MiB parts are
/// hashed (io/file_hash.h), and it says so.
std::vector<std::pair<QString, QString>> reportVersions(const Report& report);

}  // namespace kvscope
