// SPDX-License-Identifier: Apache-2.0
#include "app/window/commands/main_menus.h"

#include <imgui.h>
#include <QAction>
#include <QFileDialog>
#include <QInputDialog>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QSlider>
#include <QWhatsThis>

#include "app/window/commands/command_palette.h"
#include "app/window/commands/time_menu.h"
#include "app/window/help/help_dialog.h"
#include "app/window/help/papers_dialog.h"
#include "app/window/lecture/lecture_page.h"
#include "app/window/lecture/lecture_row.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/panels/prompt/prompt_panel_samples.h"
#include "app/window/panels/runs/table_panel.h"
#include "app/window/rows/budget_box.h"
#include "app/window/rows/rows.h"
#include "app/window/rows/search_bar.h"
#include "app/window/shell/main_window.h"
#include "app/window/shell/options.h"
#include "core/error.h"

namespace kvscope {

namespace {

/// Where runs are computed; what is wrong with an address is said, and the engine before stays.
void askForEngine(SessionController& controller, QWidget& window, MessageBar& notices) {
  const QString now = QString::fromStdString(controller.engineLink().place);
  bool take = false;
  const QString text =
      QInputDialog::getText(&window, "Engine on another machine",
                            "here\nssh:HOST or ssh:HOST:PATH of its kvscope-cli, by your own ssh\nexec:PATH, a kvscope-cli of this machine",
                            QLineEdit::Normal, now.isEmpty() ? "ssh:" : now, &take)
          .trimmed();
  if (!take) return;
  try {
    controller.setEngine(text == "here" ? QString() : text);
  } catch (const Error& error) {
    notices.show(QString::fromUtf8(error.what()), QString::fromUtf8(error.what()));
  }
}

void fillOpen(MainWindow& w, Commands& commands, QMenu* menu) {
  Document& document = w.document();
  const auto open_prompt = [&w] {
    const QString path = QFileDialog::getOpenFileName(&w, "Open prompt", {}, "Text (*.txt *.md);;All files (*)");
    if (!path.isEmpty()) w.openFile(path);
  };
  commands.add(
      menu,
      {{"&Open model…", {QKeySequence::Open}, [&document] { document.openModel(); }, "Those on this machine, another folder or a file"},
       {"Open the &built-in model",
        {},
        [&w] { w.controller().loadModel(QString::fromStdString(builtInModel())); },
        "kvmini; prompt and runs stay"},
       {"Open model fol&der…", {}, [&document] { document.openModelFolder(); }},
       {"Open model &file…", {}, [&document] { document.openModelFile(); }},
       {"Open s&tore of a sweep…",
        {},
        [&document] { document.openStore(); },
        "A folder that kvscope-cli sweep --store fills: curves over many texts, while they are computed"},
       {"&Engine on another machine…",
        {},
        [&w] { askForEngine(w.controller(), w, w.notices()); },
        "Runs are computed by a kvscope-cli there, through ssh, or by another process here"},
       {"Open the sample &lecture", {}, [&document] { document.openSampleLecture(); }},
       {"Open &prompt…", {Qt::CTRL | Qt::SHIFT | Qt::Key_O}, open_prompt}});
}

void fillSession(MainWindow& w, Commands& commands, QMenu* menu) {
  Document& document = w.document();
  const auto open = [&w] {
    const QString path = QFileDialog::getOpenFileName(&w, "Open session", {}, "Sessions and traces (*.kvscope *.json);;All files (*)");
    if (!path.isEmpty()) w.openFile(path);
  };
  commands.add(
      menu,
      {"Open &session or trace…",
       {Qt::CTRL | Qt::ALT | Qt::Key_O},
       open,
       "Model, prompt, runs, seeds, selection and bookmarks as they were saved, or results that were computed elsewhere; a drop on the window does the same"});
  w.files().fillMenu(commands, menu);
  commands.add(menu, {{},
                      {"Save sessi&on", {QKeySequence::Save}, [&document] { document.saveNow(); }},
                      {"Save session &as…", {Qt::CTRL | Qt::SHIFT | Qt::Key_S}, [&document] { document.saveAs(); }}});
}

void fillFile(MainWindow& w, Commands& commands, QMenu* menu) {
  fillOpen(w, commands, menu);
  QMenu* samples = menu->addMenu("Sample p&rompts");
  fillWithSamples(*samples, [&w](const QString& text) { w.replacePrompt(text); });
  commands.adopt(samples->actions());
  fillSession(w, commands, menu);
  menu->addSeparator();
  w.exports().fillFileMenu(commands, menu);
  commands.add(menu, {{}, {"&Quit", {Qt::CTRL | Qt::Key_Q}, [&w] { w.close(); }}});
}

void fillUndo(MainWindow& w, Commands& commands, QMenu* menu) {
  QUndoGroup& steps = w.model().undo.group();
  QAction* undo = steps.createUndoAction(&w, "&Undo");
  const auto say_why_not = [undo](const QString& step) {
    if (step.isEmpty()) undo->setText("&Undo (nothing to take back)");
  };
  QObject::connect(&steps, &QUndoGroup::undoTextChanged, undo, say_why_not);
  say_why_not({});
  QAction* redo = steps.createRedoAction(&w, "&Redo");
  undo->setShortcut(QKeySequence::Undo);
  redo->setShortcuts({QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z), QKeySequence(Qt::CTRL | Qt::Key_Y)});
  menu->addActions({undo, redo});
  commands.adopt({undo, redo});
  for (QAction* action : {undo, redo}) QObject::disconnect(action, &QAction::triggered, nullptr, nullptr);
  // A budget that is still on its way is the edit that is meant.
  QObject::connect(undo, &QAction::triggered, &w, [&w] {
    w.rows().tools().sendWaitingBudget();
    w.runsUndo().undo();
  });
  QObject::connect(redo, &QAction::triggered, &w.runsUndo(), &RunsUndo::redo);
}

void fillEdit(MainWindow& w, Commands& commands, QMenu* menu) {
  fillUndo(w, commands, menu);
  menu->addSeparator();
  w.exports().fillEditMenu(commands, menu);
  CrumbRow& crumbs = w.rows().crumbs();
  const auto edit_prompt = [&w] {
    if (w.lectureMode().on()) {
      w.showPage(Page::lecture);
      return w.lectureMode().page().prompt().editor().beginWriting();
    }
    w.showPage(Page::inspect);
    w.work().prompt().setFocus();
  };
  const auto change_budget = [&w] {
    if (w.lectureMode().on()) return w.lectureMode().row().budgetSlider()->setFocus(Qt::ShortcutFocusReason);
    BudgetBox* box = w.rows().tools().budgetBox();
    if (!box->isEnabled()) return w.rows().say("The run that is looked at has no budget to change");
    box->begin();
  };
  commands.add(menu, {{},
                      {"&Clear the selection", {Qt::CTRL | Qt::SHIFT | Qt::Key_A}, [&crumbs] { crumbs.clearSelection(); }},
                      {"&Back to the view before", {Qt::ALT | Qt::Key_Left}, [&crumbs] { crumbs.back(); }},
                      {"&Forward to the view after", {Qt::ALT | Qt::Key_Right}, [&crumbs] { crumbs.forward(); }},
                      {"Edit the &prompt", {Qt::CTRL | Qt::Key_L}, edit_prompt},
                      {"Change the bud&get", {Qt::ALT | Qt::Key_B}, change_budget}});
}

void fillView(MainWindow& w, Commands& commands, QMenu* menu) {
  InspectPage& inspect = w.inspect();
  w.pages().fillMenu(commands, menu);
  QMenu* teaching = menu->addMenu("Lect&ure and teaching");
  w.lectureMode().fillMenu(commands, teaching);
  QAction* back = commands.add(
      teaching, {"Bac&k to mine", {}, [&w] { w.document().giveBack(); }, "Leaves the lesson: your text and runs are there again"});
  back->setEnabled(false);
  QObject::connect(&w.document(), &Document::asideChanged, back, &QAction::setEnabled);
  menu->addSeparator();
  QMenu* panels = menu->addMenu("&Panels");
  QMenu* go = menu->addMenu("&Go to panel");
  inspect.fillPanelsMenu(commands, panels, go);
  w.work().fillGoMenu(commands, go, inspect);
  commands.add(go, {{},
                    {"&Next panel", {Qt::Key_F7}, [&inspect] { inspect.goToNext(+1); }, "The keyboard goes to the panel after this one"},
                    {"&Previous panel", {Qt::SHIFT | Qt::Key_F7}, [&inspect] { inspect.goToNext(-1); }}});
  w.viewPanels().fillMenu(commands, menu);
  inspect.fillLayoutMenu(commands, menu);
  menu->addSeparator();
  w.theme().fillMenu(commands, menu->addMenu("&Theme"));
}

void fillRun(MainWindow& w, Commands& commands, QMenu* menu) {
  w.runActions().fillRunMenu(commands, menu);
  w.whatIf().fillMenu(commands, menu->addMenu("Change by &hand"), {&w.work().prompt().editor(), &w.lectureMode().page().prompt().editor()});
  menu->addSeparator();
  fillTimeMenu(commands, menu, w.model());
  CrumbRow& crumbs = w.rows().crumbs();
  commands.add(menu, {{},
                      {"&Which head breaks the answer?",
                       {},
                       [&crumbs] { crumbs.whichRequested(); },
                       "The head grid shows by how much the answer gains if only this head keeps its full cache",
                       {"Which head?", "Measure every head"}},
                      {"Wh&y evicted?",
                       {},
                       [&crumbs] { crumbs.askWhy(); },
                       "Of the token that is selected in a head, or else of the one that the sentence above the views is about"}});
  menu->addSeparator();
  w.runActions().fillSamplingMenu(commands, menu);
}

void fillTools(MainWindow& w, Commands& commands, QMenu* menu) {
  SearchBar& search = w.rows().search();
  commands.add(menu, {{"&Find tokens, heads, events…",
                       {QKeySequence::Find},
                       [&search] { search.open(); },
                       "In the text, among the heads, or in what every step removed; what is found is selected"},
                      {"Find &next", {Qt::Key_F3}, [&search] { search.next(); }},
                      {"Find &previous", {Qt::SHIFT | Qt::Key_F3}, [&search] { search.previous(); }},
                      {}});
  w.bookmarkActions().fillMenu(commands, menu);
  commands.add(
      menu,
      {{},
       {"&Jobs and log",
        {Qt::CTRL | Qt::Key_J},
        [&w] { Q_EMIT w.runActions().jobsRequested(); },
        "What runs and waits, cancel, memory, warnings"},
       {"How &long things take", {Qt::Key_F12}, [&w] { w.timing().toggleHud(); }, "Time stamps from input to picture, over the window"},
       {"&Commands…", {Qt::CTRL | Qt::SHIFT | Qt::Key_P}, [&w] { w.palette().open(); }, "Every command by name"}});
}

void sayAbout(MainWindow& w) {
  const QString drawing = w.views().drawnBy();
  QMessageBox::about(
      &w, "About kvscope",
      QString(
          "<b>kvscope %1</b><p>Explorer of KV-cache compression in language models.</p><p>Engine: %2<br/>%3<br/>Qt %4, Dear ImGui %5</p>")
          .arg(KVSCOPE_VERSION, QString::fromStdString(w.workspace().snapshot().device).toHtmlEscaped(), drawing.toHtmlEscaped(),
               qVersion(), IMGUI_VERSION));
}

void fillHelp(MainWindow& w, Commands& commands, QMenu* menu) {
  const auto keys = [&w] {
    w.help().show();
    w.help().raise();
  };
  commands.add(menu, {{"&Keys and how to read the pictures", {Qt::Key_F1}, keys},
                      {"&What is this?",
                       {Qt::SHIFT | Qt::Key_F1},
                       [] { QWhatsThis::enterWhatsThisMode(); },
                       "Now click any legend, column or panel to see its meaning, unit and equation"},
                      {"What &papers say, and what shows here…",
                       {},
                       [&w] {
                         auto* page = new PapersDialog(&w);
                         page->setAttribute(Qt::WA_DeleteOnClose);
                         page->show();
                       },
                       "Published findings beside what is measured on the model that comes with the program"},
                      {"&Tour in six steps", {}, [&w] { w.firstSteps().startTour(); }},
                      {"&Welcome", {}, [&w] { w.showPage(Page::welcome); }},
                      {"&About kvscope", {}, [&w] { sayAbout(w); }}});
}

}  // namespace

void fillMenus(MainWindow& window) {
  auto* commands = new Commands(window);
  QMenuBar& bar = window.rows().menus();
  fillFile(window, *commands, bar.addMenu("&File"));
  fillEdit(window, *commands, bar.addMenu("&Edit"));
  fillView(window, *commands, bar.addMenu("&View"));
  fillRun(window, *commands, bar.addMenu("&Run"));
  window.runActions().fillCompareMenu(*commands, bar.addMenu("&Compare"));
  fillTools(window, *commands, bar.addMenu("&Tools"));
  window.viewPanels().offerMenus(window.whatIf().menu(), window.whatIf().ofHead(), window.exports().ofView());
  fillHelp(window, *commands, bar.addMenu("&Help"));
}

}  // namespace kvscope
