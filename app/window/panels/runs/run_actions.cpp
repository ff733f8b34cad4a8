// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/runs/run_actions.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <QAction>
#include <QActionGroup>
#include <QInputDialog>
#include <QMenu>
#include <QTimer>

#include "app/window/commands/command_table.h"
#include "app/window/commands/commands.h"
#include "app/window/panels/policy/policy_presets.h"
#include "app/window/panels/runs/add_runs_dialog.h"
#include "app/window/panels/runs/jobs_panel.h"
#include "app/window/panels/runs/run_grid.h"
#include "app/window/panels/runs/sweep_panel.h"
#include "app/window/panels/stores/store_panel.h"
#include "app/window/panels/stores/sweep_page.h"
#include "app/window/panels/stores/sweep_process.h"
#include "app/window/panels/stores/text_sweep_dialog.h"
#include "app/window/panels/stores/unfinished_sweep.h"
#include "app/window/rows/rows.h"
#include "app/window/rows/window_rows.h"
#include "app/window/session/run_estimate.h"
#include "app/window/session/window_model.h"
#include "app/window/shell/pages.h"
#include "app/window/shell/panel_paint.h"
#include "app/window/shell/panels.h"
#include "core/error.h"
#include "core/failure.h"
#include "policy/catalog.h"
#include "viz/reduce/compare.h"

namespace kvscope {

RunActions::RunActions(QWidget& window, WindowModel& model, WindowRows& rows, Pages& pages, Panels& panels)
    : m_window(window),
      m_model(model),
      m_rows(rows),
      m_pages(pages),
      m_jobs(new JobsPanel(model.workspace, model.controller, model.runs)),
      m_texts(std::make_unique<SweepProcess>()) {
  panels.addTalking("jobs", "Jobs & log", m_jobs);
  for (MessageBar* bar : {&rows.notices(), &rows.messages()}) connect(bar, &MessageBar::said, m_jobs, &JobsPanel::note);
  connect(&rows.status(), &StatusRow::jobsClicked, this, &RunActions::jobsRequested);
  const auto count = [this] { m_rows.status().setQueued(m_model.runs.nOpen(), m_texts->running()); };
  connect(m_texts.get(), &SweepProcess::changed, this, count);
  connect(&model.runs, &RunQueue::changed, this, [this, count] {
    count();
    sayRefusals();
  });
  connect(&rows.tools(), &ToolRow::generateRequested, this, &RunActions::generate);
  connect(&rows.tools(), &ToolRow::nextRequested, this, &RunActions::generateOneMore);
  connect(&rows.tools(), &ToolRow::stopRequested, this, &RunActions::stop);
  connect(&rows.tools(), &ToolRow::runWanted, this, &RunActions::addRun);
  connect(&model.controller, &SessionController::requestChanged, this, &RunActions::sayChanges);
}

RunActions::~RunActions() = default;

void RunActions::sayChanges() {
  const std::vector<LaneSpec> before = std::exchange(m_lanes, m_model.controller.request().lanes);
  const QString left = editsLeft(before), twin = twins(before);
  if (left.isEmpty() && twin.isEmpty()) return;
  // Once the change is a step of undo; where it is none another session was opened, which left nothing.
  QTimer::singleShot(0, this, [this, left, twin] {
    QStringList words{m_model.undo.now().canUndo() ? left : QString(), twin};
    words.removeAll(QString());
    if (!words.isEmpty()) m_rows.say(words.join(". "));
  });
}

/// A run that became, or came as, what another one is: both say the same from now on.
QString RunActions::twins(const std::vector<LaneSpec>& before) const {
  const std::vector<LaneSpec>& now = m_lanes;
  const auto letter = [](std::size_t i) { return qs(viz::lane_letter(static_cast<int>(i))); };
  for (std::size_t i = 1; i < now.size(); ++i)
    for (std::size_t twin = 1; twin < now.size() && !(i < before.size() && before[i] == now[i]); ++twin)
      if (twin != i && now[twin].text == now[i].text)
        return QString("Run %1 is the same as run %2: %3").arg(letter(i), letter(twin), qs(wordsOf(now[i].text).title));
  return {};
}

/// Another policy begins without what was done by hand to the one before.
QString RunActions::editsLeft(const std::vector<LaneSpec>& before) const {
  if (before.size() != m_lanes.size()) return {};
  const auto [was, is] = std::ranges::mismatch(before, m_lanes);
  if (was == before.end() || !std::equal(was + 1, before.end(), is + 1)) return {};  // another session
  const std::size_t n = was->edits.what_ifs.size() + was->edits.budgets.size();
  if (was->name == is->name || n == 0 || !is->edits.empty()) return {};
  return QString("%1 begins without %2 made by hand to %3: Ctrl+Z brings %4 back")
      .arg(qs(wordsOf(is->text).title), n == 1 ? QString("the edit") : QString("the %1 edits").arg(n), qs(wordsOf(was->text).title),
           n == 1 ? "it" : "them");
}

/// Where people look, not only in the list.
void RunActions::sayRefusals() {
  for (const QueuedRun& run : m_model.runs.runs()) {
    if (run.state != QueuedRun::State::failed || run.purpose != QueuedRun::Purpose::lane || run.id <= m_failure_said) continue;
    m_failure_said = run.id;
    m_rows.notices().show(run.failure, run.failure);
  }
}

void RunActions::addSweep(Panels& panels) {
  m_sweep = new SweepPanel(m_model.workspace, m_model.controller, m_model.runs);
  m_sweep_page = new SweepPage(m_model.workspace, m_sweep, *m_texts);
  Panel& panel = panels.addTalking("sweep", "Quality and budget", m_sweep_page,
                                   {.kind = viz::Place::Kind::page, .menu = "Budget s&weep", .key = "Alt+4"});
  for (QWidget* control : m_sweep_page->controls()) panel.addControl(control);
  connect(m_sweep, &SweepPanel::openRequested, this, &RunActions::open);
  connect(m_sweep, &SweepPanel::textsRequested, this, &RunActions::sweepTexts);
  connect(&m_sweep_page->store(), &StorePanel::sweepRequested, this, &RunActions::sweepTexts);
  connect(m_texts.get(), &SweepProcess::storeBegun, this, &RunActions::openTextStore);
  connect(m_texts.get(), &SweepProcess::changed, this, &RunActions::sayEndOfTextSweep);
  m_unfinished = std::make_unique<UnfinishedSweep>(*m_texts, m_rows.notices(), m_model.settings.get());
  connect(m_unfinished.get(), &UnfinishedSweep::found, this, [this](const QString& folder) {
    if (m_sweep_page->store().folder().isEmpty()) m_sweep_page->store().reopen(folder);
  });
  connect(m_sweep_page, &SweepPage::storeOpened, m_unfinished.get(), &UnfinishedSweep::recallOf);
}

AddRunsDialog& RunActions::dialog() {
  if (!m_dialog) m_dialog = std::make_unique<AddRunsDialog>(m_model.workspace, m_model.controller, m_model.runs, &m_window);
  return *m_dialog;
}

TextSweepDialog& RunActions::textSweepDialog() {
  if (!m_texts_dialog) m_texts_dialog = std::make_unique<TextSweepDialog>(m_model, *m_texts, &m_window);
  return *m_texts_dialog;
}

void RunActions::sweepTexts() {
  TextSweepDialog& dialog = textSweepDialog();
  dialog.begin(m_sweep->swept());
  dialog.show();
  dialog.raise();
  dialog.activateWindow();
}

void RunActions::openTextStore(const QString& folder) {
  try {
    m_sweep_page->openStore(folder);
  } catch (const std::exception& error) {  // memory, too
    m_rows.notices().show(words_of(error), words_of(error));
  }
}

void RunActions::sayEndOfTextSweep() {
  using State = SweepProcess::State;
  const State state = m_texts->state();
  if (state == State::running) {
    m_rows.notices().takeBack(m_texts_failure);
    m_sweep_page->showStore(true);
    m_pages.show(Page::sweep);
  }
  if (state == State::done) m_rows.say("The sweep over texts is done: " + m_texts->sweep().store);
  if (state != State::failed) return;
  m_texts_failure = m_texts->failure();
  m_rows.notices().show(m_texts_failure, m_texts_failure);
}

void RunActions::generate() { m_model.controller.generate(m_rows.tools().generateCount()); }

/// Than there are: runs that were stopped have fewer than were asked for.
void RunActions::generateOneMore() {
  const Snapshot& s = m_model.workspace.snapshot();
  const int asked = m_model.controller.request().n_generate;
  const bool there = s.phase == RunPhase::idle && !m_model.workspace.stale() && m_model.controller.answersNewest(s);
  m_model.controller.generate((there ? std::min(asked, n_generated(s)) : asked) + 1);
}

void RunActions::add() {
  dialog().show();
  dialog().raise();
  dialog().activateWindow();
}

void RunActions::addRun(const QString& spec) {
  const std::vector<LaneSpec>& lanes = m_model.controller.request().lanes;
  if (const auto there = std::ranges::find(lanes, spec.toStdString(), &LaneSpec::text); there != lanes.end())
    m_rows.say(QString("It is among the runs already, as run %1").arg(qs(viz::lane_letter(static_cast<int>(there - lanes.begin())))));
  wantRun(spec);
}

void RunActions::open(const QString& spec) {
  m_pages.show(Page::compare);
  wantRun(spec);
}

void RunActions::wantRun(const QString& spec) {
  m_wanted = spec.toStdString();
  const std::vector<LaneSpec>& lanes = m_model.controller.request().lanes;
  if (std::ranges::find(lanes, m_wanted, &LaneSpec::text) == lanes.end()) m_model.runs.add({m_wanted}, QueuedRun::Purpose::lane);
  selectWanted();
}

void RunActions::selectWanted() {
  const std::vector<LaneSnapshot>& lanes = m_model.workspace.snapshot().lanes;
  for (int i = 0; !m_wanted.empty() && i < static_cast<int>(lanes.size()); ++i) {
    if (lanes[static_cast<std::size_t>(i)].spec != m_wanted) continue;
    m_wanted.clear();
    lookAt(i);
  }
}

void RunActions::lookAt(int run) {
  viz::Selection selection = m_model.workspace.selection();
  selection.lane = run;
  m_model.workspace.setSelection(selection);
}

/// What runs beside the others is given up, too: it would only begin again. The points of a sweep are one thing, runs are not. What waits
/// for an answer that is stopped has nothing to stand beside.
void RunActions::stop() {
  if (const QueuedRun* run = m_model.runs.running())  // it runs only while nothing else does
    return run->purpose != QueuedRun::Purpose::lane ? m_model.runs.cancelBatch(run->batch) : m_model.runs.cancel(run->id);
  if (m_model.workspace.snapshot().phase != RunPhase::computing && m_texts->running()) return m_texts->stop();
  m_model.controller.stop();
  m_model.runs.cancelAll();
}

void RunActions::fillRunMenu(Commands& commands, QMenu* menu) {
  commands.add(menu, {{"&Generate", {Qt::Key_F5, Qt::CTRL | Qt::Key_Return, Qt::CTRL | Qt::Key_Enter}, [this] { generate(); }},
                      {"One token &more", {Qt::Key_F6}, [this] { generateOneMore(); }},
                      {"&Stop computing", {Qt::CTRL | Qt::Key_Period}, [this] { stop(); }}});
}

void RunActions::fillChoices(Commands& commands, QMenu* menu, const std::vector<Choice>& choices, const std::function<int()>& current) {
  auto* group = new QActionGroup(&commands.window());
  for (int i = 0; i < static_cast<int>(choices.size()); ++i) {
    const Choice& choice = choices[static_cast<std::size_t>(i)];
    QAction* a = commands.choice(menu, group, {choice.text, {}, choice.take}, current() == i);
    connect(&m_model.controller, &SessionController::requestChanged, a, [a, current, i] { a->setChecked(current() == i); });
  }
}

void RunActions::fillSamplingMenu(Commands& commands, QMenu* menu) {
  SessionController& controller = m_model.controller;
  fillChoices(commands, menu->addMenu("P&rompt mode"),
              {{"&Prefill: compress once after the whole prompt", [&controller] { controller.setPromptMode(PromptMode::prefill); }},
               {"&Stream: token by token", [&controller] { controller.setPromptMode(PromptMode::stream); }}},
              [&controller] { return controller.request().mode == PromptMode::prefill ? 0 : 1; });
  fillChoices(commands, menu->addMenu("Runs f&ollow"),
              {{"the text of the &reference", [&controller] { controller.setFollow(Follow::reference); }},
               {"their &own text", [&controller] { controller.setFollow(Follow::self); }}},
              [&controller] {
                const Follow follow = controller.request().follow;  // a given text is neither
                return follow == Follow::reference ? 0 : follow == Follow::self ? 1 : -1;
              });
  const auto temperature = [this] {
    bool ok = false;
    const double now = m_model.controller.request().temperature;
    const double t = QInputDialog::getDouble(&m_window, "Temperature", "0: always the most likely token", now, 0, 5, 2, &ok);
    if (ok) m_model.controller.setTemperature(t);
  };
  const auto seed = [this] {
    bool ok = false;
    const int now = static_cast<int>(m_model.controller.request().seed);
    const int chosen =
        QInputDialog::getInt(&m_window, "Seed", "of the sampling and of random policies", now, 0, std::numeric_limits<int>::max(), 1, &ok);
    if (ok) m_model.controller.setSeed(static_cast<quint64>(chosen));
  };
  commands.add(menu, {{"&Temperature…", {}, temperature}, {"S&eed…", {}, seed}});
}

/// Runs that show something beside each other, and what pages would cost the selected one.
void RunActions::fillTogetherMenu(Commands& commands, QMenu* menu) {
  try {
    for (const Comparison& one : readComparisons(builtInComparisons()))
      commands.add(menu, {one.name, {}, [this, specs = one.specs] {
                            std::vector<std::string> wanted;
                            for (const QString& spec : specs) wanted.push_back(parse_lane_spec(spec.toStdString()).text);
                            m_model.runs.add(wanted, QueuedRun::Purpose::lane);
                          }});
  } catch (const Error& error) {
    menu->addAction(QString::fromUtf8(error.what()))->setEnabled(false);
  }
  commands.add(menu,
               {{"What &pages cost the selected run",
                 {},
                 [this] { addByPages(); },
                 "The same where only whole pages of 16 tokens can go, the heads of a layer alike, as engines with paged caches do"}});
}

void RunActions::addByPages() {
  const LaneSnapshot* lane = m_model.workspace.lane();
  if (!lane) return;
  try {
    const LaneSpec plain = with_edits(parse_lane_spec(lane->spec), {});
    const std::string text = plain.text + (plain.given.empty() ? ":" : ",") + "block=16";
    m_model.runs.add({parse_lane_spec(text).text}, QueuedRun::Purpose::lane);
  } catch (const Error& error) {
    const QString why = QString::fromUtf8(error.what());
    m_rows.notices().show(QString("%1 cannot go by pages: %2").arg(qs(lane->title), qs(reason_for("block", error.what()))), why);
  }
}

void RunActions::addOwnScore() {
  const LaneSnapshot* lane = m_model.workspace.lane();
  const int n_prompt = m_model.workspace.snapshot().n_prompt;
  const int slots = lane && lane->slots_asked > 0 ? lane->slots_asked : std::max(1, n_prompt / 5);
  const QString run = qs(own_score_spec(slots));
  Q_EMIT fieldRequested(run, "score");
  addRun(run);
}

void RunActions::giveAllTheBudget() {
  m_rows.tools().sendWaitingBudget();
  RunRequest request = m_model.controller.request();
  const auto run = static_cast<std::size_t>(std::max(0, m_model.workspace.selection().lane));
  const QString name = "run " + qs(viz::lane_letter(static_cast<int>(run)));
  if (run >= request.lanes.size() || m_model.controller.showsAnother(static_cast<int>(run)))
    return m_rows.say(SessionController::anotherWords());
  std::vector<LaneSpec> runs = withBudgetOf(run, request.lanes);
  if (runs == request.lanes)
    return m_rows.say("Nothing to change: " + (slotsAsked(runs[run].text, 1) < 0 ? name + " has no budget that others could have"
                                                                                 : "all runs that take a budget have that of " + name));
  request.lanes = std::move(runs);
  m_model.controller.replaceRequest(request);
}

void RunActions::fillCompareMenu(Commands& commands, QMenu* menu) {
  commands.add(menu, {{"Show all &together", {}, [this] { m_pages.show(Page::compare); }, "Side by side, the page Compare (Alt+3)"},
                      {"&Add runs…",
                       {Qt::CTRL | Qt::Key_R},
                       [this] { add(); },
                       "Policies × budgets × seeds, with what they will cost; they run one after the other"},
                      {"Run by &your own score…",
                       {},
                       [this] { addOwnScore(); },
                       "A run beside the others whose slots are ranked by a formula: write it under Parameters, at score",
                       {"Own formula", "Custom policy"}},
                      {"Give all runs this &budget",
                       {},
                       [this] { giveAllTheBudget(); },
                       "That of the run that is looked at, in one step; runs that take no budget stay as they are",
                       {"Same budget", "Equal budgets"}},
                      {"S&weep over texts…",
                       {},
                       [this] { sweepTexts(); },
                       "Policies × budgets over many texts with questions: computed beside this window, kept in a folder"},
                      {"&Cancel the runs that wait", {}, [this] { m_model.runs.cancelAll(); }}});
  fillTogetherMenu(commands, menu->addMenu("Add &together"));
  commands.add(menu, {"Remove the selected r&un", {}, [this] {
                        const int run = m_model.workspace.selection().lane;
                        if (run < 1) return Q_EMIT m_model.controller.refused("The full cache stays: all other runs are compared with it.");
                        m_model.controller.removeLane(run);
                      }});
  QMenu* remove = menu->addMenu("&Remove run");
  connect(remove, &QMenu::aboutToShow, this, [this, remove] {
    remove->clear();
    const QStringList specs = m_model.controller.laneSpecs();
    for (int i = 1; i < specs.size(); ++i)
      remove->addAction(QString("%1 · %2").arg(QString::fromStdString(viz::lane_letter(i)), asLabel(specs[i])), this,
                        [this, i] { m_model.controller.removeLane(i); });
    if (remove->isEmpty()) remove->addAction("only the reference is left")->setEnabled(false);
  });
  const auto reset = [this] {
    RunRequest request = m_model.controller.request();
    request.lanes = m_model.start.request.lanes;
    m_model.controller.replaceRequest(request);
  };
  commands.add(menu, {{"Re&set to the runs of the start", {}, reset}, {}});
  QMenu* look = menu->addMenu("&Look at run");
  for (int i = 0; i < 9; ++i) {
    const QString name = QString("Run &%1").arg(QChar('A' + i));
    const auto there = [this, i] { return i < static_cast<int>(m_model.workspace.snapshot().lanes.size()); };
    QAction* run = commands.add(look, {name, {Qt::CTRL | Qt::Key(Qt::Key_1 + i)}, [this, i, there] {
                                         if (there()) lookAt(i);
                                       }});
    const auto offer = [run, there] {
      run->setEnabled(there());
      run->setVisible(there());
    };
    connect(&m_model.workspace, &Workspace::snapshotChanged, run, offer);
    offer();
    // Which run that is now is no part of the command's name, by which its key is kept.
    connect(look, &QMenu::aboutToShow, run, [this, i, there, run, name] {
      if (!there()) return;
      const LaneSnapshot& lane = m_model.workspace.snapshot().lanes[static_cast<std::size_t>(i)];
      run->setText(name + " · " + asLabel(qs(lane.title)) +
                   (lane.slots_asked < 0 ? QString() : ", " + counted(lane.slots_asked, "slot", "slots")));
    });
    connect(look, &QMenu::aboutToHide, run, [run, name] { run->setText(name); });
  }
}

}  // namespace kvscope
