// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/export_actions.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QDateTime>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMessageBox>

#include "app/window/canvas/canvases.h"
#include "app/window/commands/command_table.h"
#include "app/window/files/document.h"
#include "app/window/files/export.h"
#include "app/window/files/share_page.h"
#include "app/window/files/usual_folder.h"
#include "app/window/lecture/lecture_mode.h"
#include "app/window/panels/runs/table_panel.h"
#include "app/window/panels/stores/sweep_page.h"
#include "app/window/rows/rows.h"
#include "app/window/rows/window_rows.h"
#include "app/window/session/stored_results.h"
#include "app/window/session/window_model.h"
#include "app/window/shell/inspect_page.h"
#include "app/window/shell/pages.h"
#include "app/window/shell/panel.h"
#include "viz/draw/format.h"
#include "viz/draw/svg.h"
#include "viz/draw/theme.h"
#include "viz/reduce/compare.h"
#include "viz/views.h"

namespace kvscope {

namespace {

constexpr int kReportWidth = 1000;
constexpr double kReportScale = 2;
const char* const kTitleOfSweep = "Quality and budget";

/// The ending of a file that a view can be written as; empty: none of them was typed.
QString typedKind(const QString& path) {
  for (const char* ending : {".svg", ".png", ".csv"})
    if (path.endsWith(ending, Qt::CaseInsensitive)) return ending;
  return {};
}

}  // namespace

ExportActions::ExportActions(const Parts& parts) : m(parts) {
  connect(&m_writer, &FileWriter::written, this, [this](const QString& path, const QString& why) {
    const std::string large =
        why.isEmpty() && path == m_trace ? too_large_to_read(static_cast<std::uintmax_t>(QFileInfo(path).size())) : "";
    const QString words = !why.isEmpty() ? why : large.empty() ? QString() : path + " is written, but " + QString::fromStdString(large);
    m.rows.notices().takeBack(std::exchange(m_said, words));
    words.isEmpty() ? m.rows.say("Written to " + path) : m.rows.notices().show(words, words);
  });
  connect(&m.sweep, &SweepPage::factsChanged, &m.table, &TablePanel::refreshSoon);  // it may stand in the table while it is measured
}

CanvasWidget* ExportActions::canvas() const {
  const auto& all = m.canvases.all();
  const auto focused = std::ranges::find_if(all, [](const CanvasWidget* c) { return c->isVisible() && c->hasFocus(); });
  if (focused != all.end()) return *focused;
  if (const Panel* maximised = m.inspect.maximised())
    if (const auto found = std::ranges::find(all, maximised->content()); found != all.end()) return *found;
  if (m.pages.shows(Page::inspect)) return &m.canvases.main();
  if (m.pages.shows(Page::lecture)) return &m.lecture.atlas();
  return m.pages.shows(Page::welcome) ? nullptr : m.canvases.of(m.pages.name().toStdString());
}

QPixmap ExportActions::picture() const { return windowAsPixmap(m.window); }

bool ExportActions::ofSweep(const CanvasWidget* chosen) const { return m.pages.shows(Page::sweep) && !chosen; }

void ExportActions::savePicture() {
  CanvasWidget* const chosen = canvas();
  const bool sweep = ofSweep(chosen);
  const QString name = chosen ? QString(chosen->view().title()) : sweep ? QString(kTitleOfSweep) : QString("window");
  const QString svg = "SVG picture of " + name + " (*.svg)", csv = "Numbers of " + name + " (*.csv)",
                window = "PNG picture of the whole window (*.png)";
  QStringList filters, kinds = {".png"};
  const auto png = [&](int scale) { return QString("PNG picture of %1, %2 px a point (*.png)").arg(name).arg(scale); };
  if (chosen) filters << svg, kinds << ".svg";
  if (chosen || sweep) filters << png(1) << png(2) << png(4) << csv, kinds << ".csv";
  // Who shows a slide mostly means it as it is on screen.
  m.pages.shows(Page::lecture) ? filters.prepend(window) : filters.append(window);
  // Taken before the dialog covers or moves anything.
  const QPixmap whole = picture();
  // Who writes an ending means it, whatever the list of kinds stands on; one that cannot be here gives way to the chosen kind.
  const auto named = [&](const QString& typed, const QString& kind) {
    const QString ending = typedKind(typed);
    return kinds.contains(ending) ? typed : typed.chopped(ending.size()) + endingsOf("(*.png)", kind).front();
  };
  QString filter;
  const QString path = pathFor("Export view", name.toLower().replace(' ', '-'), filters.join(";;"), &filter, named);
  if (path.isEmpty()) return;
  const QString ending = typedKind(path);
  const bool of_view = ending != ".png" || filter != window;
  const int scale = filter == png(4) ? 4 : filter == png(2) ? 2 : 1;
  QString why;
  if (!of_view)
    writePng(path, whole.toImage(), &why);
  else if (chosen)
    exportCanvas(*chosen, m.window, m.model.workspace, path, scale, &why);
  else
    why = writeSweep(path, ending, scale);
  if (!why.isEmpty()) return m.rows.messages().show(why, why);
  // Rows are all that a file of numbers holds: what was cut, and what signs mean, is said here.
  const std::string note = ending != ".csv" ? "" : chosen ? chosen->table().note : m.sweep.table().note;
  m.rows.say("Exported to " + path + (note.empty() ? "" : ": " + QString::fromStdString(note)));
}

QString ExportActions::writeSweep(const QString& path, const QString& ending, double scale) const {
  if (!m.sweep.measured())
    return path + (m.sweep.showsStore() ? " was not written: no item of a store is there yet; open another store or wait"
                                        : " was not written: nothing is measured yet; choose policies and budgets and press Measure");
  QString why;
  if (ending == ".csv")
    writeFile(path, viz::to_csv(m.sweep.table()), &why);
  else
    writePng(path, m.sweep.picture(m.sweep.size(), scale, m.model.workspace.theme()), &why);
  return why;
}

QString ExportActions::pathFor(const QString& title, const QString& name, const QString& kinds, QString* kind, const NameOf& named) {
  const QString folder = m_folder.isEmpty() ? usualFolder() : m_folder;
  const QString path = askWhereToWrite(m.window, title, folder + "/" + name, kinds, kind, named);
  if (!path.isEmpty()) m_folder = QFileInfo(path).path();
  return path;
}

void ExportActions::copyPicture() {
  CanvasWidget* const chosen = canvas();
  QApplication::clipboard()->setImage(chosen ? canvasAsImage(*chosen, m.model.workspace, std::max(2.0, m.window.devicePixelRatioF()))
                                             : picture().toImage());
}

void ExportActions::copyNumbers() {
  CanvasWidget* const chosen = canvas();
  if (chosen || ofSweep(chosen))
    QApplication::clipboard()->setText(QString::fromStdString(viz::to_csv(chosen ? chosen->table() : m.sweep.table())));
}

void ExportActions::showNumbers() {
  if (CanvasWidget* const chosen = canvas())
    m.table.setSource(chosen->view().title(), [chosen] { return chosen->table(); });
  else if (m.pages.shows(Page::sweep))
    m.table.setSource(kTitleOfSweep, [this] { return m.sweep.table(); });
  m.inspect.open("table");
}

void ExportActions::fillEditMenu(Commands& commands, QMenu* menu) {
  const std::vector<QAction*> copies = {
      commands.add(menu, {"Copy the p&icture of the view", {Qt::CTRL | Qt::SHIFT | Qt::Key_C}, [this] { copyPicture(); }}),
      commands.add(menu, {"Copy the &numbers of the view", {Qt::CTRL | Qt::ALT | Qt::Key_C}, [this] { copyNumbers(); }}),
      commands.add(menu, {"Numbers of the view as a &table", {}, [this] { showNumbers(); }})};
  m_of_view.insert(m_of_view.begin(), copies.begin(), copies.end());
}

void ExportActions::fillFileMenu(Commands& commands, QMenu* menu) {
  m_of_view.push_back(commands.add(menu, {"E&xport view…", {Qt::CTRL | Qt::Key_E}, [this] { savePicture(); }}));
  commands.add(menu, {"&Write report…",
                      {Qt::CTRL | Qt::SHIFT | Qt::Key_R},
                      [this] { writeReportAs(); },
                      "One page, HTML or PDF: prompt, settings, all runs with their numbers, pictures, versions"});
  commands.add(menu, {"Share as &web page…",
                      {},
                      [this] { shareAsPage(); },
                      "One HTML file in which others step through these runs in their browser, without kvscope and without network"});
  commands.add(menu,
               {"Write &trace…",
                {},
                [this] { writeTraceAs(); },
                "One JSON file of all runs: what every head held at every step and why, for scripts; kvscope-cli trace writes the same"});
}

Report ExportActions::report() const {
  const Workspace& workspace = m.model.workspace;
  Report out;
  out.snapshot = workspace.snapshotPtr();
  const ShownFacts shown(m.model.controller, *out.snapshot);
  out.asked = shown.facts.asked;
  out.asked.n_generate = m.model.controller.request().n_generate;
  out.model_folder = QString::fromStdString(shown.model);
  out.tables = m.document.tables();
  out.bookmarks = m.model.bookmarks.all();
  out.written = QDateTime::currentDateTime().toString("yyyy-MM-dd hh:mm");
  const LaneSnapshot* const lane = workspace.lane();
  const QString run = lane ? QString("%1 %2")
                                 .arg(QString::fromStdString(viz::lane_letter(workspace.selection().lane)))
                                 .arg(QString::fromStdString(lane->title))
                           : QString();
  const int n_runs = static_cast<int>(out.snapshot->lanes.size());
  const viz::Theme& paper = viz::light_theme();  // whatever the window wears
  std::vector<std::pair<int, ReportPicture>> pictures;
  const auto entries = viz::view_entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const viz::ReportPart& part = entries[i].report;
    CanvasWidget* from = m.canvases.all()[i];  // the registered views come first
    if (entries[i].sums_up_runs) out.runs = from->table();
    if (n_runs == 0 || !*part.title || (part.of_head && !workspace.selection().kv_head)) continue;
    QImage image = from->picture(kReportScale, QSize(kReportWidth, part.height(n_runs)), paper);
    if (image.isNull()) continue;
    image.setDevicePixelRatio(kReportScale);
    pictures.push_back({part.order, {QString(part.title).replace("%1", run), from->facts(), image}});
  }
  std::ranges::stable_sort(pictures, {}, [](const auto& p) { return p.first; });
  for (auto& [order, picture] : pictures) out.pictures.push_back(std::move(picture));
  if (m.sweep.measured()) {
    out.sweep = m.sweep.table();
    out.pictures.push_back({kTitleOfSweep, m.sweep.facts(), m.sweep.picture(QSize(kReportWidth, 460), kReportScale, paper)});
  }
  return out;
}

bool ExportActions::refuses() {
  if (!m.model.workspace.stale()) return false;
  const bool failed = m.model.workspace.snapshot().phase == RunPhase::failed;
  const QString why = failed ? "could not be computed; change them, or take back the change (Ctrl+Z)" : "are still being computed; wait";
  const QString words = "Nothing was written: what is shown is of other settings than those of now, which " + why;
  m.rows.messages().show(words, words);
  return true;
}

void ExportActions::shareAsPage() {
  if (refuses()) return;
  const SnapshotPtr snapshot = m.model.workspace.snapshotPtr();
  const QString path = pathFor("Share as web page", "run.html", "Web page (*.html)");
  if (path.isEmpty()) return;
  const QString told = QString::fromStdString(share::what_a_page_tells(*snapshot, QFileInfo(path).fileName().toStdString()));
  if (QMessageBox::question(&m.window, "Share as web page", told + ".", QMessageBox::Save | QMessageBox::Cancel) != QMessageBox::Save)
    return;
  ShownFacts shown(m.model.controller, *snapshot);
  shown.facts.opens_at = m.model.workspace.selection();
  m_writer.write([snapshot, shown] { return share::replay_page(*snapshot, shown.withHashes()); }, path);
  m.rows.say("Writing " + path + " …");
}

void ExportActions::writeTraceAs() {
  if (refuses()) return;
  const SnapshotPtr snapshot = m.model.workspace.snapshotPtr();
  if (snapshot->lanes.empty()) return m.rows.messages().show("There is no run to write yet", "There is no run to write yet");
  const QString path = pathFor("Write trace", "trace.json", "Trace (*.json)");
  if (path.isEmpty()) return;
  m_trace = path;
  const std::uint64_t seed = m.model.controller.request().seed;
  m_writer.writePieces([snapshot, seed](const TakesText& take) { writeTrace(*snapshot, seed, take); }, path);
  m.rows.say("Writing " + path + " …");
}

void ExportActions::writeReportAs() {
  if (refuses()) return;
  const QString html = "Web page (*.html)", pdf = "PDF, one page (*.pdf)", sheets = "PDF, A4 sheets (*.pdf)";
  QString filter;
  const QString path = pathFor("Write report", "kvscope-report", html + ";;" + pdf + ";;" + sheets, &filter);
  if (path.isEmpty()) return;
  QString why;
  if (!writeReport(report(), path, filter == sheets ? ReportPaper::a4_sheets : ReportPaper::one_page, &why))
    return m.rows.notices().show(why, why);
  m.rows.say("Report written to " + path);
}

}  // namespace kvscope
