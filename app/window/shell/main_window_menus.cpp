// SPDX-License-Identifier: Apache-2.0
// Every command of the window is an action: in a menu, with its key, reachable without a mouse.
#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QDockWidget>
#include <QFileDialog>
#include <QInputDialog>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QSlider>
#include <QStackedWidget>
#include <QWhatsThis>

#include "app/window/shell/command_palette.h"
#include "app/window/panels/policy/head_keys_form.h"
#include "app/window/help/help_dialog.h"
#include "app/window/lecture/lecture_page.h"
#include "app/window/lecture/lecture_row.h"
#include "app/window/shell/main_window.h"
#include "app/window/panels/policy/policy_form.h"
#include "app/window/panels/policy/policy_panel.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/panels/prompt/prompt_panel_samples.h"
#include "app/window/shell/rows.h"
#include "app/window/shell/search_bar.h"
#include "app/window/panels/runs/table_panel.h"
#include "app/window/help/welcome_page.h"
#include "viz/reduce/compare.h"
#include "viz/views/head_grid/head_grid.h"

namespace kvscope {

QAction* MainWindow::action(QMenu* menu, const QString& text, const QList<QKeySequence>& keys, std::function<void()> run) {
  auto* action = new QAction(text, this);
  action->setShortcuts(keys);
  action->setShortcutContext(Qt::WindowShortcut);
  connect(action, &QAction::triggered, this, [run] { run(); });
  menu->addAction(action);
  addAction(action);
  return action;
}

void MainWindow::buildMenus() {
  buildFileMenu(m_menus->addMenu("&File"));
  QMenu* edit = m_menus->addMenu("&Edit");
  QAction* undo = m_undo.createUndoAction(this, "&Undo");
  QAction* redo = m_undo.createRedoAction(this, "&Redo");
  undo->setShortcut(QKeySequence::Undo);
  redo->setShortcuts({QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z), QKeySequence(Qt::CTRL | Qt::Key_Y)});
  edit->addActions({undo, redo});
  addActions({undo, redo});
  // A budget that is still on its way is the edit that is meant.
  disconnect(undo, &QAction::triggered, nullptr, nullptr);
  connect(undo, &QAction::triggered, this, [this] {
    m_tools->sendWaitingBudget();
    m_undo.undo();
  });
  edit->addSeparator();
  QAction* picture = action(edit, "Copy the p&icture of the view", {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C)}, [this] { copyPicture(); });
  QAction* numbers = action(edit, "Copy the &numbers of the view", {QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_C)}, [this] { copyNumbers(); });
  m_take_out.insert(m_take_out.begin(), {picture, numbers, action(edit, "Numbers of the view as a &table", {}, [this] { showNumbers(); })});
  edit->addSeparator();
  action(edit, "&Clear the selection", {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_A)}, [this] { m_crumbs->clearSelection(); });
  action(edit, "&Back to the view before", {QKeySequence(Qt::ALT | Qt::Key_Left)}, [this] { m_crumbs->back(); });
  action(edit, "&Forward to the view after", {QKeySequence(Qt::ALT | Qt::Key_Right)}, [this] { m_crumbs->forward(); });
  action(edit, "Edit the &prompt", {QKeySequence(Qt::CTRL | Qt::Key_L)}, [this] {
    if (m_lecturing) {
      showPage(Page::lecture);
      return m_lecture->prompt().setFocus();
    }
    showPage(Page::inspect);
    m_prompt->setFocus();
  });
  action(edit, "Change the bud&get", {QKeySequence(Qt::ALT | Qt::Key_B)},
         [this] { (m_lecturing ? m_lecture_row->budgetSlider() : m_tools->budgetSlider())->setFocus(Qt::ShortcutFocusReason); });
  buildViewMenu(m_menus->addMenu("&View"));
  buildRunMenu(m_menus->addMenu("&Run"));
  buildCompareMenu(m_menus->addMenu("&Compare"));
  buildToolsMenu(m_menus->addMenu("&Tools"));
  offerMenus();
  QMenu* help = m_menus->addMenu("&Help");
  action(help, "&Keys and how to read the pictures", {QKeySequence(Qt::Key_F1)}, [this] {
    m_help->show();
    m_help->raise();
  });
  action(help, "&What is this?", {QKeySequence(Qt::SHIFT | Qt::Key_F1)}, [] { QWhatsThis::enterWhatsThisMode(); })
      ->setToolTip("Now click any legend, column or panel to see its meaning, unit and equation");
  action(help, "&Tour in six steps", {}, [this] { startTour(); });
  action(help, "&Welcome", {}, [this] { showPage(Page::welcome); });
  action(help, "&About kvscope", {}, [this] {
    const QString drawing = m_renderer ? "Pictures: OpenGL 3.3, " + m_renderer->device().renderer() : m_no_pictures;
    QMessageBox::about(this, "About kvscope",
                       QString("<b>kvscope %1</b><p>Explorer of KV-cache compression in language models.</p><p>Engine: %2<br/>%3<br/>Qt %4, Dear ImGui %5</p>")
                           .arg(KVSCOPE_VERSION, QString::fromStdString(m_workspace.snapshot().device).toHtmlEscaped(), drawing.toHtmlEscaped(),
                                qVersion(), IMGUI_VERSION));
  });
}

void MainWindow::buildFileMenu(QMenu* menu) {
  action(menu, "&Open model folder…", {QKeySequence::Open}, [this] { openModel(); });
  action(menu, "Open the sample &lecture", {}, [this] { openSampleLecture(); });
  action(menu, "Open &prompt…", {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O)}, [this] { openPrompt(); });
  QMenu* samples = menu->addMenu("Sample p&rompts");
  fillWithSamples(*samples, [this](const QString& text) { replacePrompt(text); });
  addActions(samples->actions());
  buildSessionMenu(menu);
  menu->addSeparator();
  m_take_out.push_back(action(menu, "E&xport view…", {QKeySequence(Qt::CTRL | Qt::Key_E)}, [this] { savePicture(); }));
  action(menu, "&Write report…", {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_R)}, [this] { writeReportAs(); })
      ->setToolTip("One page, HTML or PDF: prompt, settings, all runs with their numbers, pictures, versions");
  menu->addSeparator();
  action(menu, "&Quit", {QKeySequence(Qt::CTRL | Qt::Key_Q)}, [this] { close(); });
}

void MainWindow::buildViewMenu(QMenu* menu) {
  auto* pages = new QActionGroup(this);
  const auto page = [&](const QString& text, const QKeySequence& key, Page which) {
    QAction* a = action(menu, text, {key}, [this, which] { showPage(which); });
    a->setCheckable(true);
    pages->addAction(a);
    return a;
  };
  m_show_inspect = page("&Inspect", QKeySequence(Qt::ALT | Qt::Key_1), Page::inspect);
  m_show_inspector = page("Head in&spector", QKeySequence(Qt::ALT | Qt::Key_2), Page::inspector);
  m_show_compare = page("&Compare", QKeySequence(Qt::ALT | Qt::Key_3), Page::compare);
  m_show_sweep = page("Budget s&weep", QKeySequence(Qt::ALT | Qt::Key_4), Page::sweep);
  m_show_lecture = page("&Lecture", QKeySequence(Qt::ALT | Qt::Key_5), Page::lecture);
  buildLectureMenu(menu->addMenu("Lect&ure and teaching"));
  menu->addSeparator();
  QMenu* panels = menu->addMenu("&Panels");
  for (QDockWidget* dock : m_docks) {
    panels->addAction(dock->toggleViewAction());
    connect(dock->toggleViewAction(), &QAction::triggered, this, [this, dock](bool on) {
      if (!on) return;
      openDock(*dock);
      if (!dock->isFloating()) shareHeights();  // the action has shown it already
      if (dock->objectName() == "dock_table") m_table->setFocus(Qt::ShortcutFocusReason);
    });
    if (dock->objectName() != "dock_table") continue;
    dock->toggleViewAction()->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_D));
    addAction(dock->toggleViewAction());
  }
  QMenu* go = menu->addMenu("&Go to panel");
  for (Panel* p : m_panels) action(go, p->title().replace("&", "&&"), {}, [this, p] { goTo(*p); });
  const auto parameters = [this](QWidget& form) {
    goTo(*panel("policy"));
    m_policy->setParametersShown(true);
    focusFirst(form);
  };
  action(go, "Parameters of the p&olicy", {}, [=, this] { parameters(m_policy->form()); })->setToolTip("Window, threshold, sinks and what else its policy has");
  action(go, "Parameters for the selected &head only", {}, [=, this] { parameters(m_policy->headKeys()); })->setToolTip("A threshold of its own, where the policy has one");
  go->addSeparator();
  action(go, "&Next panel", {QKeySequence(Qt::Key_F7)}, [this] { goToNext(+1); })->setToolTip("The keyboard goes to the panel after this one");
  action(go, "&Previous panel", {QKeySequence(Qt::SHIFT | Qt::Key_F7)}, [this] { goToNext(-1); });
  CanvasWidget* heads = canvas("head_grid");
  QAction* sort = action(menu, "Sort the head &grid by its metric\tS", {}, [this, heads] {
    auto& grid = dynamic_cast<viz::HeadGrid&>(heads->view());
    grid.set_sorted(!grid.sorted());
    heads->invalidate();
    m_table->refresh();
  });
  sort->setToolTip("Layers and heads by the largest value they have, the largest first; again: the order of the model");
  sort->setCheckable(true);
  connect(heads, &CanvasWidget::factsChanged, sort, [this, heads, sort] {
    const bool sorted = dynamic_cast<viz::HeadGrid&>(heads->view()).sorted();
    if (sorted == sort->isChecked()) return;
    sort->setChecked(sorted);
    m_table->refresh();  // it has the order of the picture
  });
  action(menu, "&Maximise the panel with the focus", {QKeySequence(Qt::Key_F11)}, [this] {
    if (m_maximised) return toggleMaximised(m_maximised);
    Panel* const with_focus = panelWithFocus();
    toggleMaximised(with_focus ? with_focus : panel("atlas"));
  });
  action(menu, "&Detach the panel with the focus, or put it back", {QKeySequence(Qt::CTRL | Qt::Key_F11)}, [this] {
    for (QDockWidget* dock : m_docks)
      if (QWidget* focus = QApplication::focusWidget(); focus && dock->isAncestorOf(focus)) {
        dock->setFloating(!dock->isFloating());
        dock->activateWindow();
        return focus->setFocus();
      }
  })->setToolTip("A double click on its header does the same; Reset the layout brings all back");
  action(menu, "&Reset the layout", {}, [this] { resetLayout(); });
  menu->addSeparator();
  QMenu* themes = menu->addMenu("&Theme");
  auto* group = new QActionGroup(this);
  for (const auto& [text, mode] : {std::pair("&Dark", "dark"), std::pair("&Light", "light"), std::pair("Follow the &system", "system")}) {
    QAction* a = action(themes, text, {}, [this, mode = mode] { setThemeMode(mode); });
    a->setCheckable(true);
    a->setChecked(m_theme_mode == mode);
    group->addAction(a);
    connect(&m_workspace, &Workspace::themeChanged, a, [this, a, mode = mode] { a->setChecked(m_theme_mode == mode); });
  }
  action(themes, "&Other theme", {QKeySequence(Qt::CTRL | Qt::Key_T)}, [this] { setThemeMode(m_workspace.theme().dark ? "light" : "dark"); });
}

void MainWindow::buildRunMenu(QMenu* menu) {
  action(menu, "&Generate", {QKeySequence(Qt::Key_F5), QKeySequence(Qt::CTRL | Qt::Key_Return), QKeySequence(Qt::CTRL | Qt::Key_Enter)},
         [this] { m_controller.generate(m_tools->generateCount()); });
  action(menu, "One token &more", {QKeySequence(Qt::Key_F6)}, [this] { m_controller.generate(m_controller.request().n_generate + 1); });
  action(menu, "&Stop computing", {QKeySequence(Qt::CTRL | Qt::Key_Period)}, [this] { stopComputing(); });
  buildHandMenu(menu);
  menu->addSeparator();
  buildTimeMenu(menu);
  menu->addSeparator();
  const auto choices = [this, menu](const QString& title, const std::vector<std::pair<QString, std::function<void()>>>& items,
                                    const std::function<int()>& current) {
    QMenu* sub = menu->addMenu(title);
    auto* group = new QActionGroup(this);
    for (std::size_t i = 0; i < items.size(); ++i) {
      QAction* a = action(sub, items[i].first, {}, items[i].second);
      a->setCheckable(true);
      group->addAction(a);
      const auto refresh = [a, current, i] { a->setChecked(current() == static_cast<int>(i)); };
      connect(&m_controller, &SessionController::requestChanged, a, refresh);
      refresh();
    }
  };
  choices("P&rompt mode",
          {{"&Prefill: compress once after the whole prompt", [this] { m_controller.setPromptMode(PromptMode::prefill); }},
           {"&Stream: token by token", [this] { m_controller.setPromptMode(PromptMode::stream); }}},
          [this] { return m_controller.request().mode == PromptMode::prefill ? 0 : 1; });
  choices("Runs f&ollow",
          {{"the text of the &reference", [this] { m_controller.setFollow(Follow::reference); }},
           {"their &own text", [this] { m_controller.setFollow(Follow::self); }}},
          [this] { return m_controller.request().follow == Follow::self ? 1 : 0; });
  action(menu, "&Temperature…", {}, [this] {
    bool ok = false;
    const double t = QInputDialog::getDouble(this, "Temperature", "0: always the most likely token", m_controller.request().temperature, 0, 5, 2, &ok);
    if (ok) m_controller.setTemperature(t);
  });
  action(menu, "S&eed…", {}, [this] {
    bool ok = false;
    const int seed = QInputDialog::getInt(this, "Seed", "of the sampling and of random policies", static_cast<int>(m_controller.request().seed), 0,
                                          std::numeric_limits<int>::max(), 1, &ok);
    if (ok) m_controller.setSeed(static_cast<quint64>(seed));
  });
}

void MainWindow::buildCompareMenu(QMenu* menu) {
  action(menu, "&Add runs…", {QKeySequence(Qt::CTRL | Qt::Key_R)}, [this] { addRuns(); })
      ->setToolTip("Policies × budgets × seeds, with what they will cost; they run one after the other");
  action(menu, "&Cancel the runs that wait", {}, [this] { m_runs.cancelAll(); });
  m_remove_menu = menu->addMenu("&Remove run");
  connect(m_remove_menu, &QMenu::aboutToShow, this, [this] {
    m_remove_menu->clear();
    const QStringList specs = m_controller.laneSpecs();
    for (int i = 1; i < specs.size(); ++i)
      m_remove_menu->addAction(QString("%1 · %2").arg(QString::fromStdString(viz::lane_letter(i))).arg(specs[i]), this, [this, i] { m_controller.removeLane(i); });
    if (m_remove_menu->isEmpty()) m_remove_menu->addAction("only the reference is left")->setEnabled(false);
  });
  action(menu, "Re&set to the runs of the start", {}, [this] {
    RunRequest request = m_controller.request();
    request.lanes = m_start.request.lanes;
    m_controller.replaceRequest(request);
  });
  menu->addSeparator();
  QMenu* look = menu->addMenu("&Look at run");
  for (int i = 0; i < 9; ++i)
    action(look, QString("Run &%1").arg(QChar('A' + i)), {QKeySequence(Qt::CTRL | Qt::Key(Qt::Key_1 + i))}, [this, i] {
      if (i >= static_cast<int>(m_workspace.snapshot().lanes.size())) return;
      viz::Selection selection = m_workspace.selection();
      selection.lane = i;
      m_workspace.setSelection(selection);
    });
}

void MainWindow::buildToolsMenu(QMenu* menu) {
  action(menu, "&Find tokens, heads, events…", {QKeySequence::Find}, [this] { m_search->open(); })
      ->setToolTip("In the text, among the heads, or in what every step removed; what is found is selected");
  action(menu, "Find &next", {QKeySequence(Qt::Key_F3)}, [this] { m_search->next(); });
  action(menu, "Find &previous", {QKeySequence(Qt::SHIFT | Qt::Key_F3)}, [this] { m_search->previous(); });
  menu->addSeparator();
  buildBookmarkMenu(menu);
  menu->addSeparator();
  action(menu, "&Jobs and log", {QKeySequence(Qt::CTRL | Qt::Key_J)}, [this] { showJobs(); })->setToolTip("What runs and waits, cancel, memory, warnings");
  action(menu, "How &long things take", {QKeySequence(Qt::Key_F12)}, [this] { toggleHud(); })
      ->setToolTip("Time stamps from input to picture, over the window");
  action(menu, "&Commands…", {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_P)}, [this] { m_palette->open(); })
      ->setToolTip("Every command by name");
}

void MainWindow::openModel() {
  const QString folder = QFileDialog::getExistingDirectory(this, "Open model folder");
  if (!folder.isEmpty()) openFile(folder);
}

void MainWindow::replacePrompt(const QString& text) {
  if (m_pages->currentWidget() == m_welcome) showPage(Page::inspect);
  PromptPanel& prompt = m_lecturing ? m_lecture->prompt() : *m_prompt;
  prompt.editor().setExactText(text);
  prompt.setFocus();
}

void MainWindow::openPrompt() {
  const QString path = QFileDialog::getOpenFileName(this, "Open prompt", {}, "Text (*.txt *.md);;All files (*)");
  if (!path.isEmpty()) openFile(path);
}

QPixmap MainWindow::picture() { return grab(); }

}  // namespace kvscope
