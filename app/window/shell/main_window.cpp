// SPDX-License-Identifier: Apache-2.0
#include "app/window/shell/main_window.h"

#include <utility>

#include <QApplication>
#include <QCloseEvent>
#include <QKeyEvent>
#include <QMessageBox>
#include <QVariant>

#include "app/window/commands/command_palette.h"
#include "app/window/commands/key_map.h"
#include "app/window/commands/main_menus.h"
#include "app/window/commands/window_keys.h"
#include "app/window/files/library_dialog.h"
#include "app/window/help/help_dialog.h"
#include "app/window/help/welcome_page.h"
#include "app/window/lecture/lecture_guide.h"
#include "app/window/lecture/lecture_page.h"
#include "app/window/lecture/lecture_row.h"
#include "app/window/lecture/lesson_stage.h"
#include "app/window/look/file_dialogs.h"
#include "app/window/look/spoken.h"
#include "app/window/panels/policy/policy_panel.h"
#include "app/window/panels/policy/policy_panel_card.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/panels/runs/add_runs_dialog.h"
#include "app/window/panels/runs/jobs_panel.h"
#include "app/window/panels/runs/table_panel.h"
#include "app/window/panels/stores/sweep_page.h"
#include "app/window/rows/loading_row.h"
#include "app/window/rows/rows.h"
#include "app/window/rows/search_bar.h"
#include "app/window/shell/file_drops.h"
#include "app/window/shell/panel_paint.h"
#include "app/window/shell/window_placement.h"
#include "viz/views/head_grid/head_metric.h"

namespace kvscope {

MainWindow::MainWindow(const Options& options, const StartState& start) : m_model(options, start) {
  nameLists();
  setMinimumSize(kLeastWindow.boundedTo(screen()->availableSize()));  // on a lower screen the rest would lie outside
  m_theme = std::make_unique<ThemeMode>(m_model, *this);
  new FileDialogs(this);
  m_rows = std::make_unique<WindowRows>(*this, m_model, m_canvases.zoom());
  m_pages = std::make_unique<Pages>(*m_rows);
  makePanels();
  m_lecture = std::make_unique<LectureMode>(m_model, *m_rows, m_canvases, *m_pages, m_panels, m_place);
  m_first_steps = std::make_unique<FirstSteps>(m_model, *m_rows, *m_pages, m_panels);
  m_latency = std::make_unique<WindowLatency>(m_model, *m_rows, m_canvases);
  makeActions();
  m_theme->dress();
  m_panels.applyTheme();
  connectParts();
  begin();
}

void MainWindow::makePanels() {
  m_work = std::make_unique<WorkPanels>(m_model, m_panels);
  m_bookmark_actions = std::make_unique<BookmarkActions>(m_model, *m_rows, *m_pages, m_panels);
  m_what_if = std::make_unique<WhatIfActions>(m_model, m_panels);
  m_what_if->follow(m_work->policy().card().allocation());
  m_run_actions = std::make_unique<RunActions>(*this, m_model, *m_rows, *m_pages, m_panels);
  m_view_panels = std::make_unique<ViewPanels>(m_model, m_canvases, m_panels);
  m_work->tabulate(m_canvases.main());
  m_inspect = std::make_unique<InspectPage>(*m_rows, *m_pages, m_panels, m_canvases.main());
  m_run_actions->addSweep(m_panels);
  m_pages->addPanels(m_panels);
}

void MainWindow::makeActions() {
  m_runs_undo = std::make_unique<RunsUndo>(m_model);
  m_library = std::make_unique<Library>(m_model, *this);
  m_document =
      std::make_unique<Document>(Document::Parts{*this, m_model, *m_rows, *m_pages, m_canvases, *m_library, m_run_actions->sweepPage(),
                                                 m_run_actions->jobs(), m_first_steps->welcome(), *m_runs_undo, m_place});
  m_exports = std::make_unique<ExportActions>(ExportActions::Parts{*this, m_model, *m_rows, *m_pages, m_canvases, *m_inspect, *m_lecture,
                                                                   m_run_actions->sweepPage(), m_work->table(), *m_document});
  m_run_messages = std::make_unique<RunMessages>(m_model, *m_rows);
  fillMenus(*this);
  m_lecture->row().takeMenus(m_rows->menus());
  m_palette = new CommandPalette(*this);
  m_lecture->enlarge(m_palette);
  m_key_map = std::make_unique<KeyMap>(*this, m_model.settings.get());
  if (m_model.settings)
    connect(m_model.settings.get(), &KeptSettings::notKept, this, [this](const QString& why) { messages().show(why, why); });
}

HelpDialog& MainWindow::help() {
  if (!m_help) m_help = std::make_unique<HelpDialog>(m_model.workspace, m_model.controller, this, m_key_map.get());
  return *m_help;
}

/// What the row offers as the answer to a wrong step.
void MainWindow::connectAnswers() {
  m_rows->crumbs().followAnswer(m_model.answer);
  connect(&m_rows->crumbs(), &CrumbRow::fullCacheRequested, this, [this](int layer, int kv_head) {
    m_model.answer.make(QString("L%1 H%2 in full").arg(layer).arg(kv_head), [&] { m_model.hand.giveFullCache(layer, kv_head); });
  });
  connect(m_runs_undo.get(), &RunsUndo::shown, &m_rows->crumbs(), &CrumbRow::takeAsGiven);
  connect(&m_rows->crumbs(), &CrumbRow::savedRequested, &m_model.breaks, &BreakPoints::proceed);
  connect(&m_rows->crumbs(), &CrumbRow::budgetRequested, this,
          [this](int slots, const QString& share) { m_model.answer.make(share + " of the slots", [&] { m_model.breaks.give(slots); }); });
}

void MainWindow::connectParts() {
  connect(&m_model.workspace, &Workspace::snapshotChanged, this, &MainWindow::takeSnapshot);
  connect(&m_model.workspace, &Workspace::themeChanged, this, [this] { m_panels.applyTheme(); });
  connect(m_runs_undo.get(), &RunsUndo::generateChanged, &m_rows->tools(), &ToolRow::setGenerateCount);
  connect(m_runs_undo.get(), &RunsUndo::said, m_rows.get(), &WindowRows::say);
  connect(&m_rows->tools(), &ToolRow::findRequested, this, [this] { m_rows->search().open(); });
  connect(&m_rows->loading(), &LoadingRow::slow, &m_run_actions->jobs(), &JobsPanel::note);
  connect(m_pages.get(), &Pages::aboutToShow, this, [this](Page page) {
    m_lecture->takePage(page);
    if (page != Page::inspect) m_first_steps->endTour();
    if (page == Page::inspect) m_inspect->endVisits();
  });
  for (CanvasWidget* canvas : m_canvases.all())
    connect(canvas, &CanvasWidget::focused, this, [this, canvas] { m_work->tabulate(*canvas); });
  connect(m_view_panels.get(), &ViewPanels::inspectorRequested, this, [this] { showPage(Page::inspector); });
  connect(m_view_panels.get(), &ViewPanels::bookmarkRequested, m_bookmark_actions.get(), &BookmarkActions::add);
  connect(m_view_panels.get(), &ViewPanels::addRunsRequested, m_run_actions.get(), &RunActions::add);
  connect(m_view_panels.get(), &ViewPanels::sameBudgetRequested, m_run_actions.get(), &RunActions::giveAllTheBudget);
  connect(m_view_panels.get(), &ViewPanels::switched, &m_work->table(), &TablePanel::refresh);
  connect(m_bookmark_actions.get(), &BookmarkActions::panelRequested, this, [this] { m_inspect->open("bookmarks"); });
  connect(m_run_actions.get(), &RunActions::jobsRequested, this, [this] {
    m_inspect->open("jobs");
    m_run_actions->jobs().setFocus();
  });
  connect(m_run_actions.get(), &RunActions::fieldRequested, this,
          [this](const QString& run, const QString& key) { m_work->showField(*m_inspect, run, key); });
  connect(m_what_if.get(), &WhatIfActions::said, this, [this](const QString& words, const QString& before) {
    if (words.isEmpty()) return messages().takeBack(before);
    const bool seen = page() == Page::inspect && !m_inspect->maximised();  // the panel
    seen ? m_inspect->open("what_if", InspectPage::Keys::left) : messages().show(words, words);
  });
  connect(m_first_steps.get(), &FirstSteps::focusLeft, this, [this] { m_canvases.main().setFocus(); });
  connect(new FileDrops(*this), &FileDrops::dropped, m_document.get(), &Document::openFromList);
  connect(m_run_messages.get(), &RunMessages::modelRequested, m_document.get(), &Document::openModelOf);
  connect(m_run_messages.get(), &RunMessages::promptRequested, this, &MainWindow::replacePrompt);
  connect(&m_place, &StartPlace::reached, this, [this](bool at_step) {
    if (at_step) m_lecture->keepPlace();
    if (at_step) m_model.difference.keepStep();
    m_rows->crumbs().beginHere();
  });
  connect(&m_place, &StartPlace::missed, this, [this](const QString& what) {
    const QString words = "Not all that was asked for at the start is there: " + what;
    notices().showAfter(words, words);
  });
  connect(&m_model.difference, &FirstDifference::begun, &m_rows->crumbs(), &CrumbRow::beginHere);
  connect(&m_rows->crumbs(), &CrumbRow::differenceRequested, &m_model.difference, &FirstDifference::nextInAnswer);
  connect(&m_rows->crumbs(), &CrumbRow::whichRequested, this, [this] {
    showPage(Page::inspect);
    if (Panel* const maximised = m_inspect->maximised(); maximised && maximised->id() != "head_grid") m_inspect->toggleMaximised(maximised);
    if (!m_inspect->maximised()) m_inspect->open("head_grid");  // it may be a tab behind another, and measures only where it is seen
    canvas("head_grid")->choose(0, static_cast<int>(viz::HeadMetric::cause));
    m_model.causes.ask();
  });
  connectAnswers();
  connect(&m_rows->crumbs(), &CrumbRow::whyRequested, this, [this] {
    showPage(Page::inspector);
    canvas("inspector")->choose(0, 2);
  });
  connect(&m_first_steps->welcome(), &WelcomePage::sampleRequested, m_document.get(), &Document::openSample);
  m_lecture->stage().applyBy([this](const RunRequest& request) { m_document->stage(request); });
  connect(m_lecture.get(), &LectureMode::lessonBegins, m_document.get(), &Document::putAside);
  connect(m_document.get(), &Document::asideChanged, m_lecture.get(), &LectureMode::setAside);
  connect(m_document.get(), &Document::typedChanged, m_lecture.get(), &LectureMode::setTyped);
  connect(m_document.get(), &Document::lessonRequested, m_lecture.get(), &LectureMode::openLesson);
  connect(m_lecture.get(), &LectureMode::backRequested, m_document.get(), &Document::giveBack);
  connect(&m_first_steps->welcome(), &WelcomePage::lectureRequested, m_lecture.get(), &LectureMode::openFirstLesson);
  LibraryDialog& library = m_library->dialog();
  connect(&library, &LibraryDialog::bookmarkRequested, m_bookmark_actions.get(), &BookmarkActions::goTo);
  connect(&library, &LibraryDialog::runRequested, this, [this](int run) {
    showPage(Page::inspect);
    m_run_actions->lookAt(run);
  });
  connect(&library, &LibraryDialog::comparisonRequested, m_run_actions.get(), [this](const QList<int>& runs) {
    showPage(Page::compare);
    for (const int run : runs) {  // the comparison takes the run looked at, and the one looked at before
      m_run_actions->lookAt(run);
      if (CanvasWidget* compare = canvas("compare")) compare->scene();  // draws, and so notices, each of them
    }
  });
}

void MainWindow::begin() {
  const Options& options = m_model.options;
  m_document->refreshTitle();
  resize(options.size);
  if (m_model.settings && !options.size_given) restoreGeometryOf(*this, *m_model.settings);
  if (options.synthetic_size) {
    m_latency->startSynthetic();
  } else {
    KeptSettings* const settings = m_model.settings.get();
    if (settings != nullptr && options.memory > 0)
      settings->setValue("memory", QVariant::fromValue(static_cast<qulonglong>(options.memory)));
    controller().setRecordLimit(options.memory > 0 || settings == nullptr ? options.memory : settings->value("memory").toULongLong());
    if (!options.engine.empty()) controller().setEngine(QString::fromStdString(options.engine));
    controller().openRequest(m_model.start.request);
    controller().loadModel(QString::fromStdString(m_model.start.model_folder));
  }
  showPage(m_first_steps->welcomes() ? Page::welcome : m_pages->of(QString::fromStdString(options.view)));
  if (options.ghosts > 0) m_lecture->setGhostSteps(options.ghosts);
  m_document->keepJournal();
  if (!options.session.empty())
    m_document->openGivenSession(QString::fromStdString(options.session));
  else if (m_model.settings && options.atStartOnly() && !m_pages->shows(Page::welcome))
    m_document->openLast();
  if (!options.store.empty()) m_document->openStoreIn(QString::fromStdString(options.store));
  if (!options.not_opened.empty()) notices().showAfter(QString::fromStdString(options.not_opened), {});
  if (m_model.settings && options.memory > 0)
    if (const QString why = m_model.settings->whyNotKept("the memory for recorded results"); !why.isEmpty()) notices().showAfter(why, why);
  m_document->offerRecovery();
  if (const Lesson& lesson = m_lecture->guide().lesson(); !options.scenes.empty() && lesson.path != options.scenes)
    m_lecture->openLesson(qs(options.scenes));  // which asks first
  else if (m_lecture->on() && lesson.staged())
    m_lecture->openLesson(qs(lesson.path));
  if (!options.scene.empty()) m_lecture->guide().goTo(QString::fromStdString(options.scene));
}

MainWindow::~MainWindow() {
  // Canvases hold OpenGL objects and views: they go before the renderer and the views do.
  m_model.playback.play(false);
  m_latency->stopSynthetic();
  m_document->leave();
  // What canvases give up when they are hidden is no change of the session, whose journal is gone by then.
  for (CanvasWidget* canvas : m_canvases.all()) canvas->disconnect(&controller());
  for (QObject* hearer : std::initializer_list<QObject*>{m_document.get(), m_runs_undo.get(), &m_model.runs})
    controller().disconnect(hearer);
  m_document->forgetJournal();
  if (QWidget* const focus = QApplication::focusWidget()) focus->clearFocus();  // while all who hear of it are there
  delete &m_library->dialog();
  delete centralWidget();  // taken out of the window first, every widget of it would be given its style anew
}

void MainWindow::takeSnapshot() {
  m_document->takeSnapshot();
  m_run_messages->takeSnapshot();
  m_place.takeSnapshot();
  m_model.difference.takeSnapshot();
  m_lecture->takeSnapshot();
  m_run_actions->selectWanted();
  m_library->keepPicture();
  m_view_panels->refreshHeaders();
}

void MainWindow::replacePrompt(const QString& text) {
  if (page() == Page::welcome) showPage(Page::inspect);
  PromptPanel& prompt = m_lecture->on() ? m_lecture->page().prompt() : m_work->prompt();
  prompt.editor().setExactText(text);
  prompt.editor().beginWriting();
}

bool MainWindow::event(QEvent* event) {
  if (event->type() == QEvent::ThemeChange && m_theme) m_theme->lookAtDesktop();
  return QMainWindow::event(event);
}

void MainWindow::keyPressEvent(QKeyEvent* event) {
  if (!takeKey(*this, *event)) QMainWindow::keyPressEvent(event);
}

void MainWindow::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  m_lecture->takeSize();
  m_view_panels->takeSize();
  m_rows->placeOverlays();
}

void MainWindow::showEvent(QShowEvent* event) {
  QMainWindow::showEvent(event);
  if (m_arranged) return;
  m_arranged = true;
  m_inspect->arrange();
  m_panels.orderFocus();
  if (page() == Page::inspect) setFocus(Qt::OtherFocusReason);  // Tab begins at the first control; none looks chosen before
  if (m_model.settings) restoreDocks(*m_inspect, *m_model.settings);
}

void MainWindow::closeEvent(QCloseEvent* event) {
  for (QStringList lost = m_document->leave(); !lost.isEmpty();) {  // elsewhere it is offered again at the next start
    const QString words = "This is not saved, and could not be backed up: closing the window loses it.\n\n" + lost.join('\n');
    const auto answer =
        QMessageBox::warning(this, "kvscope", words, QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, QMessageBox::Save);
    if (answer == QMessageBox::Cancel) return event->ignore();
    if (answer == QMessageBox::Discard) break;
    m_document->saveUnsaved();
    const QStringList before = std::exchange(lost, m_document->leave());
    if (lost == before) return event->ignore();  // the window says why it was not saved
  }
  if (m_model.settings) keepPlacement(*this, *m_inspect, *m_model.settings);
  QMainWindow::closeEvent(event);
}

}  // namespace kvscope
