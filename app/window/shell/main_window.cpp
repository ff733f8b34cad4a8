// SPDX-License-Identifier: Apache-2.0
#include "app/window/shell/main_window.h"

#include <algorithm>

#include <QApplication>
#include <QCloseEvent>
#include <QKeyEvent>
#include <QLabel>
#include <QMenuBar>
#include <QMimeData>
#include <QScreen>
#include <QSettings>
#include <QStackedWidget>
#include <QStandardPaths>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/window/panels/runs/add_runs_dialog.h"
#include "app/window/shell/command_palette.h"
#include "app/window/look/desktop_scheme.h"
#include "app/window/help/help_dialog.h"
#include "app/window/shell/key_map.h"
#include "app/window/panels/runs/jobs_panel.h"
#include "app/window/lecture/lecture_guide.h"
#include "app/window/lecture/lecture_row.h"
#include "app/window/diagnostics/latency.h"
#include "app/window/diagnostics/latency_hud.h"
#include "app/window/files/library_dialog.h"
#include "app/window/shell/loading_row.h"
#include "app/window/shell/passing_words.h"
#include "app/window/shell/rows.h"
#include "app/window/shell/search_bar.h"
#include "app/window/session/stored_results.h"
#include "app/window/look/style.h"
#include "app/window/panels/runs/sweep_panel.h"
#include "app/window/help/tour.h"
#include "app/window/session/undo.h"

namespace kvscope {

namespace {
constexpr int kFrameWidth = 8, kFrameHeight = 48;  // px that the frame of a window takes at most

QString modelFacts(const Snapshot& snapshot) {
  const ModelConfig& m = snapshot.model;
  if (m.n_layers == 0) return snapshot.phase == RunPhase::loading ? "loading the model" : "no model";
  return QString("model <b style='color:palette(window-text)'>%1</b>&nbsp; %2 layers · %3 query heads · %4 KV heads · %5")
      .arg(QString::fromStdString(m.name).toHtmlEscaped())
      .arg(m.n_layers)
      .arg(m.n_heads)
      .arg(m.n_kv_heads)
      .arg(QString::fromStdString(snapshot.device).toHtmlEscaped());
}

}  // namespace

MainWindow::MainWindow(const Options& options, const StartState& start)
    : m_options(options), m_start(start), m_controller(m_workspace), m_views(viz::make_views(m_zoom)), m_bookmarks(m_undo), m_playback(m_workspace) {
  setWindowTitle("kvscope");
  setAcceptDrops(true);
  setMinimumSize(960, 600);
  m_theme_mode = QString::fromStdString(options.theme.value_or("dark"));
  if (!options.scripted() && !options.theme) m_theme_mode = QSettings().value("theme", "dark").toString();
  if (!options.scripted()) m_settings = std::make_unique<QSettings>();
  m_recent = std::make_unique<RecentFiles>(m_settings.get());
  m_thumbnails = std::make_unique<Thumbnails>(m_settings ? QStandardPaths::writableLocation(QStandardPaths::CacheLocation) + "/thumbnails" : QString());
  m_renderer = CanvasRenderer::create(&m_no_pictures);
  setThemeMode(m_theme_mode);

  auto* central = new QWidget(this);
  auto* rows = new QVBoxLayout(central);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setSpacing(0);
  setCentralWidget(central);

  m_menu_row = new QWidget(central);
  m_menu_row->setObjectName("menuRow");
  m_menu_row->setFixedHeight(kMenuRow);
  auto* menu_line = new QHBoxLayout(m_menu_row);
  menu_line->setContentsMargins(14, 0, 14, 0);
  menu_line->setSpacing(8);
  auto* name = new QLabel("<b>kvscope</b>", m_menu_row);
  m_menus = new QMenuBar(m_menu_row);
  m_model_facts = new QLabel(m_menu_row);
  m_model_facts->setObjectName("modelFacts");
  QFont facts_font = uiFont(12);
  m_model_facts->setFont(facts_font);
  menu_line->addWidget(name);
  menu_line->addWidget(m_menus, 1);
  menu_line->addWidget(m_model_facts);

  m_tools = new ToolRow(m_workspace, m_controller, central);
  m_tools->setGenerateCount(options.generate);
  m_crumbs = new CrumbRow(m_workspace, central);
  m_crumbs->followZoom(m_zoom);
  m_search = new SearchBar(m_workspace, central);
  m_notices = new MessageBar(m_workspace, central);
  m_messages = new MessageBar(m_workspace, central);
  m_loading = new LoadingRow(m_workspace, m_controller, central);
  m_pages = new QStackedWidget(central);
  m_status = new StatusRow(m_workspace, m_controller, central);
  m_passing = new PassingWords(central);
  rows->addWidget(m_menu_row);
  rows->addWidget(m_tools);
  rows->addWidget(m_crumbs);
  rows->addWidget(m_search);
  rows->addWidget(m_notices);
  rows->addWidget(m_messages);
  rows->addWidget(m_loading);
  rows->addWidget(m_pages, 1);
  rows->addWidget(m_status);
  m_progress = new ProgressLine(m_workspace, central);

  buildPanels();
  buildLecture();
  buildWelcome();
  measureLatency();
  buildMenus();
  m_lecture_row->takeMenus(*m_menus);
  m_palette = new CommandPalette(*this);
  connect(m_loading, &LoadingRow::slow, m_jobs, &JobsPanel::note);
  m_add_runs = new AddRunsDialog(m_workspace, m_controller, m_runs, this);
  buildLibrary();
  m_key_map = new KeyMap(*this, m_settings.get());
  m_help = new HelpDialog(m_workspace, m_controller, this, m_key_map);
  applyThemeToAll();

  connect(&m_workspace, &Workspace::snapshotChanged, this, [this] { takeSnapshot(); });
  connect(&m_workspace, &Workspace::selectionChanged, this, [this] { refreshHeaders(); });
  connect(&m_workspace, &Workspace::themeChanged, this, [this] { applyThemeToAll(); });
  connect(&m_controller, &SessionController::requestChanged, this, [this] { requestChanged(); });
  connect(&m_controller, &SessionController::refused, this, [this](const QString& why) {
    if (m_say_view_only && why == m_controller.whyViewOnly()) return m_say_view_only("Nothing was changed. ");
    m_messages->show(why, why);
  });
  // What both bars would say stands once.
  connect(m_messages, &MessageBar::said, m_notices, &MessageBar::takeBack);
  connect(m_notices, &MessageBar::said, m_messages, &MessageBar::takeBack);
  connect(m_crumbs, &CrumbRow::pageRequested, this, [this](int page) { showPage(static_cast<Page>(page)); });
  connect(m_tools, &ToolRow::openRequested, this, &MainWindow::openModel);
  connect(m_tools, &ToolRow::saveRequested, this, &MainWindow::saveNow);
  connect(m_tools, &ToolRow::generateRequested, this, [this] { m_controller.generate(m_tools->generateCount()); });
  connect(m_tools, &ToolRow::nextRequested, this, [this] { m_controller.generate(m_controller.request().n_generate + 1); });
  connect(m_tools, &ToolRow::stopRequested, this, [this] { stopComputing(); });
  connect(m_tools, &ToolRow::findRequested, this, [this] { m_search->open(); });
  connect(m_tools, &ToolRow::compareToggled, this, [this](bool on) { showPage(on ? Page::compare : Page::inspect); });

  resize(options.size);
  if (!options.scripted()) restoreSettings();
  showPage(welcomes() ? Page::welcome : pageOf(QString::fromStdString(options.view)));
  if (options.ghosts > 0) m_workspace.setGhostSteps(m_ghost_choice = options.ghosts);
  m_lanes_before = m_start.request.lanes;
  m_generate_before = m_start.request.n_generate;
  if (options.synthetic_size) {
    startSynthetic();
  } else {
    m_controller.openRequest(m_start.request);
    m_controller.loadModel(QString::fromStdString(m_start.model_folder));
  }
  keepSession();
  buildResults();
  if (!options.session.empty()) openFile(QString::fromStdString(options.session));
  if (!options.scene.empty()) m_guide->goTo(QString::fromStdString(options.scene));
}

MainWindow::~MainWindow() {
  // Canvases hold OpenGL objects and views: they go before the renderer and the views do.
  m_playback.play(false);
  m_synthetic.reset();
  leaveSession();
  // What canvases give up when they are hidden is no change of the session, whose journal is gone by then.
  for (CanvasWidget* canvas : m_canvases) canvas->disconnect(&m_controller);
  m_controller.disconnect(this);
  m_controller.disconnect(&m_runs);
  m_journal.reset();
  delete m_help;
  delete m_add_runs;
  delete m_library;
  delete takeCentralWidget();
}

CanvasWidget* MainWindow::canvas(const std::string& id) const {
  for (CanvasWidget* canvas : m_canvases)
    if (id == canvas->view().id()) return canvas;
  return nullptr;
}

Panel* MainWindow::panel(const QString& id) const {
  for (Panel* panel : m_panels)
    if (panel->id() == id) return panel;
  return nullptr;
}

void MainWindow::takeSnapshot() {
  const Snapshot& snapshot = m_workspace.snapshot();
  m_model_facts->setText(modelFacts(snapshot));
  if (m_say_view_only && !m_controller.viewOnly()) {
    m_say_view_only = nullptr;
    if (m_notices->text().contains("View only: ")) m_notices->dismiss();
  }
  if (snapshot.phase == RunPhase::failed) {
    // What is still shown must not pass for the answer to what was refused.
    const bool other_text = snapshot.prompt != m_controller.request().prompt;
    const QString still = snapshot.lanes.empty() ? QString() : other_text ? QString(". All pictures and numbers are still those of the text before") : QString(". All pictures and numbers are still those of before");
    const QString what = QString::fromStdString(snapshot.failure) + still;
    const QString details = QString("kvscope %1\nmodel: %2\ndevice: %3\n%4")
                                .arg(KVSCOPE_VERSION, QString::fromStdString(snapshot.model.name), QString::fromStdString(snapshot.device), what);
    if (snapshot.model.n_layers == 0)  // nothing to fall back to
      m_messages->show(what, details, "Use the built-in model", [this] { m_controller.loadModel(QString::fromStdString(builtInModel())); },
                       "Open model…", [this] { openModel(); });
    else if (!snapshot.cut.text.empty())
      m_messages->show(what, details, QString("Cut to the first %1 tokens").arg(snapshot.cut.n_tokens), [this, text = QString::fromStdString(snapshot.cut.text)] { replacePrompt(text); });
    else
      m_messages->show(what, details);
  } else if (snapshot.phase == RunPhase::idle) {
    m_messages->clear();
  }
  // The selection of the start waits for something to select.
  if (!m_start_selected && !snapshot.lanes.empty() && snapshot.phase == RunPhase::idle) {
    m_start_selected = true;
    viz::Selection selection = m_workspace.selection();
    selection.lane = m_options.lane.value_or(static_cast<int>(snapshot.lanes.size()) - 1);
    selection.layer = m_options.layer;
    selection.kv_head = m_options.kv_head;
    selection.tokens = m_options.tokens;
    selection.step = m_options.step;
    if (m_options.step) m_lecture_text = snapshot.prompt;
    selection.steps = m_options.steps;
    m_workspace.setSelection(selection);
    m_crumbs->beginHere();
  }
  if (m_pending && m_start_selected && snapshot.phase == RunPhase::idle && m_controller.answersNewest(snapshot)) {
    const viz::Selection wanted = *m_pending;
    m_pending.reset();
    m_workspace.setSelection(wanted);
    m_lecture_text = snapshot.prompt;  // where it was left
    m_crumbs->beginHere();
  }
  if (m_lecturing && snapshot.phase == RunPhase::idle) {
    chooseLectureHead();
    restAtTextEnd();
  }
  selectWantedRun();
  keepThumbnail();
  refreshHeaders();
}

void MainWindow::requestChanged() {
  const std::vector<std::string>& lanes = m_controller.request().lanes;
  const int n_generate = m_controller.request().n_generate, n_before = std::exchange(m_generate_before, n_generate);
  if (n_generate != n_before && n_generate >= 0) m_tools->setGenerateCount(n_generate);  // one token more, an undo: the box says what there is
  if (lanes == m_lanes_before) return;
  if (!m_undoing) m_undo.push(new LanesEdit(m_controller, m_undoing, {m_lanes_before, n_before}, {lanes, n_generate}, {m_runs.adoptingBatch(), m_controller.drag(), m_workspace.stale()}));
  m_lanes_before = lanes;
}

void MainWindow::setThemeMode(const QString& mode) {
  m_theme_mode = mode;
  bool dark = mode == "dark";
  if (mode == "system") {
    if (!m_desktop) {
      m_desktop = std::make_unique<DesktopScheme>();
      connect(m_desktop.get(), &DesktopScheme::changed, this, [this] {
        if (m_theme_mode == "system") setThemeMode(m_theme_mode);
      });
    }
    dark = m_desktop->dark();
  }
  const viz::Theme& theme = dark ? viz::dark_theme() : viz::light_theme();
  applyTheme(*qApp, theme);
  m_workspace.setTheme(theme);
  if (!m_options.scripted()) QSettings().setValue("theme", mode);
}

bool MainWindow::event(QEvent* event) {
  if (event->type() == QEvent::ThemeChange && m_desktop) m_desktop->lookAgain();
  return QMainWindow::event(event);
}

void MainWindow::applyThemeToAll() {
  for (Panel* panel : m_panels) panel->applyTheme(m_workspace.theme());
}

MainWindow::Page MainWindow::page() const { return static_cast<Page>(m_pages->currentIndex()); }

void MainWindow::showPage(Page page) {
  if (page == Page::lecture && m_guide->scene() < m_guide->scenes().size() && m_guide->scenes()[m_guide->scene()].compare)
    m_guide->goTo(m_scene_before_compare);  // the scene of the comparison belongs to its page
  setLecturing(page == Page::lecture || (m_lecturing && page == Page::compare));
  if (m_tour && page != Page::inspect) m_tour->end();
  if (page == Page::inspect) endVisits();
  m_pages->setCurrentIndex(static_cast<int>(page));
  if (page != Page::welcome) m_crumbs->setPage(static_cast<int>(page));
  const QSignalBlocker quiet(m_tools->compareButton());
  m_tools->compareButton()->setChecked(page == Page::compare);
  QAction* const shown[] = {m_show_inspect, m_show_inspector, m_show_compare, m_show_sweep, m_show_lecture, m_show_inspect};
  shown[static_cast<int>(page)]->setChecked(true);
  if (page == Page::inspector && canvas("inspector")) canvas("inspector")->setFocus();
  if (page == Page::compare && canvas("compare")) canvas("compare")->setFocus();
  if (page == Page::sweep) m_sweep->chart().setFocus();
  if (page == Page::lecture) m_lecture_atlas->setFocus();
  if (page == Page::welcome) m_pages->currentWidget()->setFocus();
}

void MainWindow::back() {
  if (leaveText()) return;
  if (m_maximised)
    toggleMaximised(m_maximised);
  else if (m_workspace.selection().steps)
    limitSteps(std::nullopt);
  else if (m_lecturing && page() == Page::compare)
    toggleCompare();
  else if (m_tour && m_tour->isVisible())
    m_tour->end();
  else if (page() != Page::inspect && page() != Page::lecture)  // a key too many must not end a lecture
    showPage(Page::inspect);
  else if (m_playback.playing())
    m_playback.play(false);
  else
    stopComputing();
}

void MainWindow::keyPressEvent(QKeyEvent* event) {
  // Bare keys reach the window only where the widget with the focus has no use for them.
  const Qt::KeyboardModifiers modifiers = event->modifiers() & ~Qt::KeypadModifier;
  const int far = modifiers == Qt::ShiftModifier ? 10 : 1;
  if (modifiers != Qt::NoModifier && (modifiers != Qt::ShiftModifier || (event->key() != Qt::Key_Left && event->key() != Qt::Key_Right)))
    return QMainWindow::keyPressEvent(event);
  if (editByKey(event->key())) return;
  switch (event->key()) {
    case Qt::Key_Space: m_playback.toggle(); return;
    case Qt::Key_Left: m_playback.stepBy(-far); return;
    case Qt::Key_Right: m_playback.stepBy(far); return;
    case Qt::Key_Home: m_playback.goTo(0); return;
    case Qt::Key_End: m_playback.goTo(-1); return;
    case Qt::Key_B: addBookmark(); return;
    case Qt::Key_C: toggleCompare(); return;
    case Qt::Key_G: toggleGhosts(); return;
    case Qt::Key_Escape: back(); return;
    default: QMainWindow::keyPressEvent(event);
  }
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls() && event->mimeData()->urls().size() == 1 && event->mimeData()->urls().front().isLocalFile())
    event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  openFile(event->mimeData()->urls().front().toLocalFile());
  event->acceptProposedAction();
}

void MainWindow::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  if (m_lecturing) applyLectureScale(false);
  centralWidget()->layout()->activate();
  const QWidget* above = m_lecturing ? static_cast<QWidget*>(m_lecture_row) : m_crumbs;
  m_hud->move(centralWidget()->width() - m_hud->width() - kGutter, above->geometry().bottom() + kGutter);
  m_progress->setGeometry(0, above->geometry().bottom() - 1, centralWidget()->width(), 2);
  m_progress->raise();
}

void MainWindow::showEvent(QShowEvent* event) {
  QMainWindow::showEvent(event);
  if (m_arranged) return;
  m_arranged = true;
  arrangeDocks();
  if (page() == Page::inspect) setFocus(Qt::OtherFocusReason);  // Tab begins at the first control; none looks chosen before
  if (m_options.scripted()) return;
  const QByteArray docks = QSettings().value("docks").toByteArray();
  if (!docks.isEmpty()) m_inspect->restoreState(docks);
}

void MainWindow::restoreSettings() {
  if (m_options.size_given) return;
  const QByteArray geometry = QSettings().value("geometry").toByteArray();
  if (!geometry.isEmpty()) {
    restoreGeometry(geometry);
  } else if (const QScreen* const on = screen()) {
    // Where the window with its frame would not fit, it fills the screen: nothing of it may lie outside.
    const QSize room = on->availableGeometry().size() - QSize(kFrameWidth, kFrameHeight);
    if (size() == size().boundedTo(room)) return;
    resize(size().boundedTo(room));
    setWindowState(windowState() | Qt::WindowMaximized);
  }
}

void MainWindow::closeEvent(QCloseEvent* event) {
  leaveSession();
  if (!m_options.scripted()) {
    if (m_maximised) toggleMaximised(m_maximised);
    QSettings settings;
    settings.setValue("geometry", saveGeometry());
    endVisits();
    settings.setValue("docks", m_inspect->saveState());
  }
  QMainWindow::closeEvent(event);
}

}  // namespace kvscope
