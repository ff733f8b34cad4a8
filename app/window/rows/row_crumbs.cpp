// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <tuple>
#include <utility>

#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QMouseEvent>
#include <QPushButton>
#include <QToolButton>

#include "app/window/commands/commands.h"
#include "app/window/look/spoken.h"
#include "app/window/look/style.h"
#include "app/window/panels/prompt/sample_prompts.h"
#include "app/window/rows/crumb_sentence.h"
#include "app/window/rows/rows.h"
#include "app/window/session/bookmarks.h"
#include "app/window/session/step_answer.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel.h"
#include "app/window/shell/panel_paint.h"
#include "snapshot/figures.h"
#include "viz/draw/draw.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"
#include "viz/reduce/finding.h"
#include "viz/reduce/head.h"
#include "viz/reduce/range.h"

namespace kvscope {

namespace {

constexpr qsizetype kHistory = 100;
constexpr qint64 kOneWayMs = 1000;

QString tokensText(const Snapshot& snapshot, const viz::Selection& selection) {
  const viz::TokenRange range = *selection.tokens;
  if (const auto places = selection.more_tokens.size(); places > 0)
    return QString("%1 tokens in %2 places").arg(viz::n_tokens(selection)).arg(places + 1);
  const int n = range.last - range.first + 1;
  const QString what = n == 1 ? QString("token %1").arg(range.first) : QString("tokens %1–%2 (%3)").arg(range.first).arg(range.last).arg(n);
  const std::string words = viz::token_range_text(tokens_of(snapshot, selection.lane), range.first, range.last, 14);
  return what + "  «" + QString::fromStdString(words) + "»";
}

/// Canvases of other widths put the window on other whole pixels: that is no new place.
bool sameZoom(const viz::TokenWindow& a, const viz::TokenWindow& b) {
  return std::abs(a.count - b.count) <= 0.001 * a.count && std::abs(a.first - b.first) <= std::max(1.0, 0.02 * a.count);
}

/// "KeepKV, 17 slots".
QString budgetedTitle(const LaneSnapshot& lane) {
  return qs(lane.title) + (lane.slots_asked < 0 ? QString() : ", " + counted(lane.slots_asked, "slot", "slots"));
}

/// Without whose answer it is, which stands in the row already.
QString answerIn(const QString& sentence, const LaneSnapshot& lane) {
  const QString name = qs(lane.title) + " says ";
  return sentence.startsWith(name) ? sentence.mid(name.size()) : sentence;
}

/// Those that are the answer, or the one that gains most: each can be given what it lacks.
std::vector<int> headsOffered(const viz::CauseWords& causes) {
  return causes.heads.empty() && causes.most >= 0 ? std::vector{causes.most} : causes.heads;
}

/// While there is no run yet.
QString wordsWithoutRun(const Snapshot& snapshot) {
  if (snapshot.phase == RunPhase::computing) return "the text is being read";  // elsewhere, maybe, where the model is not known yet
  if (snapshot.model.n_layers == 0)
    return snapshot.phase == RunPhase::loading ? QString() : "no model yet: open one, or use the one that comes with the program";
  if (snapshot.phase == RunPhase::failed) return "the text was not taken: the line below says why";
  if (snapshot.tokens.empty() && snapshot.phase != RunPhase::loading) return "no text yet: type a prompt on the left";
  return snapshot.phase == RunPhase::idle ? "stopped: the text was not read to its end; Generate goes on from there" : QString();
}

}  // namespace

/// A click takes away what it says only on its cross: beside it, it would be lost to those who want to see what it is.
class Chip final : public QPushButton {
 public:
  using QPushButton::QPushButton;
  std::function<void()> beside;  // a click there; empty: nothing

 protected:
  void mousePressEvent(QMouseEvent* event) override {
    if (event->button() != Qt::LeftButton || hitButton(event->pos()) || !beside) return QPushButton::mousePressEvent(event);
    beside();
  }
  bool hitButton(const QPoint& at) const override {
    const int cross = 2 * iconSize().width() + 4;  // with the air around it
    return rect().contains(at) && at.x() >= width() - cross;
  }
};

CrumbRow::CrumbRow(Workspace& workspace, QWidget* parent) : QFrame(parent), m_workspace(workspace) {
  setObjectName("crumbRow");
  setFixedHeight(kCrumbRow + 1);
  const auto arrow = [this](const QString& help) {
    auto* b = new QToolButton(this);
    b->setObjectName("header");
    b->setToolTip(help);
    b->setAccessibleName(help);
    b->setFocusPolicy(Qt::StrongFocus);
    return b;
  };
  m_back = arrow("Back to the view before (Alt+Left)");
  m_forward = arrow("Forward (Alt+Right)");
  m_head = chip({}, "× shows all heads", false);
  m_tokens = chip({}, "× selects no tokens", false);
  m_steps = chip({}, "× counts all steps again (Esc)", true);
  m_step = chip({}, "× goes to the latest step", true);
  m_lane = chip({}, "Click: another run; × goes to the full cache", false);
  m_lane->beside = [this] { offerRuns(); };
  m_sentence = new CrumbSentence(this);
  m_sentence->setObjectName("facts");
  m_elsewhere = new QPushButton(this);
  m_elsewhere->setObjectName("chip");
  m_which = new QPushButton("Which head?", this);
  m_which->setObjectName("chip");
  m_saved = new QPushButton(this);
  m_saved->setObjectName("chip");
  m_why = new QPushButton("Why evicted?", this);
  m_why->setObjectName("chip");
  m_clear = new QPushButton("Clear", this);
  m_clear->setObjectName("flat");
  m_sentence->dispensable = m_clear;
  m_clear->setToolTip("Select nothing: all heads, no tokens, all steps, the latest step");

  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(10, 0, 14, 1);
  row->setSpacing(6);
  row->addWidget(m_back);
  row->addWidget(m_forward);
  for (QPushButton* b : {m_head, m_tokens, m_steps, m_step, m_lane}) row->addWidget(b);
  row->addSpacing(8);
  QWidget* const order[] = {m_back,     m_forward,   m_head,  m_tokens, m_steps, m_step, m_lane,
                            m_sentence, m_elsewhere, m_saved, m_which,  m_why,   m_clear};
  row->addWidget(m_sentence, 1);
  for (QWidget* b : {m_elsewhere, m_saved, m_which, m_why, m_clear}) row->addWidget(b);
  for (std::size_t i = 1; i < std::size(order); ++i) setTabOrder(order[i - 1], order[i]);
  for (QWidget* w : order) w->installEventFilter(this);

  const auto edit = [this](auto change) {
    return [this, change] {
      viz::Selection selection = m_workspace.selection();
      change(selection);
      m_workspace.setSelection(selection);
    };
  };
  connect(m_back, &QToolButton::clicked, this, &CrumbRow::back);
  connect(m_forward, &QToolButton::clicked, this, &CrumbRow::forward);
  connect(m_head, &QPushButton::clicked, this, edit([](viz::Selection& s) { s.layer.reset(), s.kv_head.reset(), s.slot.reset(); }));
  connect(m_tokens, &QPushButton::clicked, this, edit([](viz::Selection& s) { s.tokens.reset(), s.more_tokens.clear(), s.slot.reset(); }));
  connect(m_steps, &QPushButton::clicked, this, edit([](viz::Selection& s) { s.steps.reset(); }));
  connect(m_step, &QPushButton::clicked, this, edit([](viz::Selection& s) { s.step.reset(); }));
  connect(m_lane, &QPushButton::clicked, this, edit([](viz::Selection& s) { s.lane = 0; }));
  connect(m_elsewhere, &QPushButton::clicked, this, &CrumbRow::differenceRequested);
  connect(m_which, &QPushButton::clicked, this, &CrumbRow::offerHeads);
  connect(m_saved, &QPushButton::clicked, this, &CrumbRow::offerBudgets);
  connect(m_why, &QPushButton::clicked, this, &CrumbRow::askWhy);
  connect(m_clear, &QPushButton::clicked, this, &CrumbRow::clearSelection);
  listen();
  remember();
  applyTheme();
  refresh();
}

/// What goes while it has the keyboard, as a question that is answered does, leaves it to the sentence: the next one to have it might be
/// the text, which would take letters that were meant for the picture.
bool CrumbRow::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Hide && watched == window()->focusWidget() && watched != m_sentence && isVisible())
    m_sentence->setFocus(Qt::OtherFocusReason);
  return QFrame::eventFilter(watched, event);
}

void CrumbRow::listen() {
  // What came of an edit is read aloud, and what another run came to; of another step, to whom the sentence has the keyboard.
  const auto follow = [this](bool result) {
    refresh();
    if (m_workspace.snapshot().phase != RunPhase::idle) return;
    const bool other_run = std::exchange(m_sentence->heard_of, m_workspace.selection().lane) != m_workspace.selection().lane;
    const bool said = std::exchange(m_sentence->heard, m_sentence->text()) == m_sentence->text();
    if (!said && (result || other_run || m_sentence->hasFocus())) speak(*m_sentence);
  };
  connect(&m_workspace, &Workspace::selectionChanged, this, [this, follow] {
    remember();
    follow(false);
  });
  connect(&m_workspace, &Workspace::snapshotChanged, this, [follow] { follow(true); });
  connect(&m_workspace, &Workspace::breakPointsChanged, this, [this] { refreshQuestions(); });
  connect(&m_workspace, &Workspace::causesChanged, this, [this] { refresh(); });
  connect(&m_workspace, &Workspace::themeChanged, this, [this] { applyTheme(); });
}

Chip* CrumbRow::chip(const QString& text, const QString& help, bool active) {
  auto* b = new Chip(text, this);
  b->setObjectName(active ? "chipActive" : "chip");
  b->setToolTip(help);
  b->setLayoutDirection(Qt::RightToLeft);  // the cross stands behind the text
  b->setIconSize(QSize(12, 12));
  return b;
}

void CrumbRow::applyTheme() {
  const viz::Theme& theme = m_workspace.theme();
  const QColor colour = toColor(theme.secondary), disabled = toColor(theme.line);
  m_sentence->accent = toColor(theme.accent);
  m_back->setIcon(icon(Icon::left, colour, disabled));
  m_forward->setIcon(icon(Icon::right, colour, disabled));
  for (QPushButton* b : {m_head, m_tokens, m_lane}) b->setIcon(icon(Icon::close, colour, disabled));
  for (QPushButton* b : {m_steps, m_step}) b->setIcon(icon(Icon::close, toColor(theme.accent), disabled));
}

/// What the sample comes to, for who has not seen it yet.
QString CrumbRow::welcomeWords(const Snapshot& snapshot, const LaneSnapshot& lane) {
  const viz::Finding& finding = m_finding.of(snapshot, lane, m_workspace.step());
  if (finding.step < 0 || samplePromptOf(qs(snapshot.prompt)) == nullptr) return {};
  return QString("The sample is computed already: with a part of its cache the model says %1, with all of it %2.")
      .arg(qs(viz::quoted(finding.says)), qs(viz::quoted(finding.reference)));
}

void CrumbRow::refresh() {
  const Snapshot& snapshot = m_workspace.snapshot();
  const viz::Selection& s = m_workspace.selection();
  const LaneSnapshot* lane = m_workspace.lane();
  auto& chips = m_sentence->chips;
  chips.clear();
  const auto show = [this, &chips](QPushButton* b, bool on, const QString& text, const QString& brief = {}) {
    b->setVisible(on && !m_welcome);
    b->setAccessibleName(text);
    chips.push_back({b, text, brief.isEmpty() ? text : brief});
  };
  show(m_head, s.layer.has_value(), qs(viz::head_name(s.layer.value_or(0), s.kv_head.value_or(-1))));
  show(m_tokens, s.tokens.has_value(), s.tokens ? tokensText(snapshot, s) : QString());
  show(m_steps, s.steps.has_value(),
       s.steps ? QString::fromStdString(viz::range_text(*s.steps)) + QString(" (%1)").arg(s.steps->last - s.steps->first + 1) : QString());
  const int n_steps = lane ? static_cast<int>(lane->steps.size()) : 0;
  const QString step = QString("step %1 of %2").arg(m_workspace.step()).arg(n_steps - 1);
  show(m_step, lane && !m_workspace.atLatestStep(), step);
  const QString run = "run " + qs(viz::lane_letter(s.lane));
  show(m_lane, lane && s.lane > 0, lane ? run + " · " + budgetedTitle(*lane) : run, run);
  QString sentence, brief, foreseen;
  if (!lane) {
    m_why->hide();
    m_which->hide();
    sentence = wordsWithoutRun(snapshot);
  } else {
    const StepRecord* record = m_workspace.stepRecord();
    const bool reading = record && record->top1 < 0;
    // A low window has no line for the state: how far it is, and how long it takes, stands here.
    sentence = reading ? QString("The text is being read%1: every head still keeps all of it.")
                             .arg(snapshot.activity.empty() ? QString() : QString(" (%1)").arg(qs(snapshot.activity)))
               : snapshot.prefill_mode ? "Prompt read at once, then token by token."
                                       : "Prompt read token by token.";
    if (snapshot.lanes.size() > 1 && !reading) {
      sentence += snapshot.follow == "self"   ? " Every run is fed its own text."
                  : snapshot.follow == "file" ? " Every run is fed the given text."
                                              : " Every run is fed the full cache's text.";
    }
    const viz::CauseWords causes = viz::cause_words(snapshot, m_workspace.causes());
    const viz::Finding& finding = m_finding.of(snapshot, *lane, m_workspace.step(), causes);
    if (finding.step >= 0) {
      const int looked_at = s.layer && s.kv_head ? viz::head_index(snapshot, *s.layer, *s.kv_head) : -1;
      sentence = qs(viz::finding_sentence(snapshot, *lane, finding, causes, looked_at));
      foreseen = qs(viz::longest_finding_sentence(snapshot, *lane, finding));
      brief = causes.sentence.empty() ? answerIn(sentence, *lane) : sentence.mid(sentence.indexOf(qs(causes.sentence)));
    }
    viz::Agreement agreement;
    if (finding.step < 0 && s.lane > 0) {  // what a change of the run came to stands where the failure stood
      agreement = m_agreement.of(snapshot, *lane, m_workspace.step());
      if (!agreement.same.empty())
        sentence = qs(agreement.words()), brief = answerIn(sentence, *lane);
      else if (!compares(snapshot, *lane, m_workspace.step()))
        sentence = brief = qs(viz::other_text_words(snapshot, *lane));
    }
    // What a change came to that was offered here, before all else; of a right answer it says the same.
    if (const QString came = m_answer ? m_answer->words() : QString(); !came.isEmpty()) {
      const QString behind = finding.step >= 0 ? sentence : qs(agreement.misses);
      sentence = behind.isEmpty() ? came : came + ' ' + behind;
      brief = came;
    }
    const viz::Loss& loss = finding.loss;
    m_which->setVisible(finding.step >= 0 && !m_welcome);
    m_why->setVisible(finding.step >= 0 && loss.step >= 0 && !m_welcome);
    if (finding.step >= 0 && std::isfinite(finding.unsure))
      sentence += snapshot.prompt.ends_with('\n')
                      ? " The text ends with a line break, after which much may begin: take it away, or ask for what the text says."
                      : " Choices it was sure of tell more: ask for what the text says.";
    if (!snapshot.notice.empty()) sentence += " · " + QString::fromStdString(snapshot.notice);
  }
  m_sentence->foreseen = m_welcome ? QString() : foreseen;
  m_sentence->latest = m_welcome ? QString() : brief;
  m_sentence->setText(m_welcome && lane ? welcomeWords(snapshot, *lane) : sentence);
  refreshQuestions();
  m_sentence->wanted = !m_welcome;
  m_clear->setEnabled(s.layer || s.tokens || s.slot || s.step || s.steps);
  m_back->setEnabled(canGoBack());
  m_forward->setEnabled(canGoForward());
}

/// Questions where the run answers otherwise in any step, and in their place what came of them, in few words: the sentence and the help
/// have the whole.
void CrumbRow::refreshQuestions() {
  const LaneSnapshot* lane = m_workspace.lane();
  const AskedToken before = std::exchange(m_selected, selectedToken());
  if (lane) {  // the same step computed anew is no other one
    const int shown = m_workspace.step();
    if (const auto of = std::tie(m_workspace.snapshot().prompt, lane->spec, shown); of != m_why_of) {
      m_why_of = of;
      if (before == m_selected) m_shown_why = m_selected;
    }
  }
  const BreakPoint point = m_workspace.breakPoint(m_workspace.selection().lane);
  const bool asked = point.state != BreakPoint::State::unknown;
  const viz::CauseWords causes = viz::cause_words(m_workspace.snapshot(), m_workspace.causes());
  const bool wrong = lane && m_finding.of(m_workspace.snapshot(), *lane, m_workspace.step(), causes).step >= 0;
  const bool budgeted = lane && lane->slots_asked >= 0;
  // A step that is right must not pass for a run that is.
  const int elsewhere = lane && !wrong && !m_welcome ? viz::changed_step_from(m_workspace.snapshot(), *lane, m_workspace.step(), true) : -1;
  m_elsewhere->setVisible(elsewhere >= 0);
  const bool unsure = elsewhere >= 0 && std::isfinite(viz::unsure_of(*lane->steps[static_cast<std::size_t>(elsewhere)]));
  m_elsewhere->setToolTip(QString("Goes to the next step whose top choice is not the full cache's (F4)") +
                          (unsure ? "; the full cache was unsure itself there" : ""));
  const QString step = QString(unsure ? "Step %1 differs" : "Step %1 is wrong").arg(elsewhere);
  m_saved->setVisible(!m_welcome && lane && (wrong || (asked && m_workspace.selection().lane > 0)));
  const bool to_set = budgeted && !(point.marked() && lane->slots_asked == point.slots);
  if (!to_set && window()->focusWidget() == m_saved) m_sentence->setFocus(Qt::OtherFocusReason);  // as where it goes
  m_saved->setEnabled(to_set);
  const QString saved = !budgeted ? QString("no budget to lower") : asked ? point.words : QString("What saves it?");
  const viz::HeadCauses& measuring = m_workspace.causes();
  const QString which = measuring.running      ? QString("measuring %1/%2").arg(measuring.n_measured).arg(measuring.n_heads)
                        : causes.brief.empty() ? QString("Which head?")
                                               : qs(causes.brief);
  const std::string wait = viz::measuring_words(measuring);
  m_which->setToolTip(causes.whole.empty()
                          ? QString("The head grid shows by how much the answer gains if only this head keeps its full cache") +
                                (wait.empty() ? QString() : ": " + QString::fromStdString(wait))
                          : qs(causes.whole) + "\nClick: " + (causes.heads.empty() ? "" : "give one all, or ") + "see all in the grid");
  m_which->setAccessibleDescription(QString::fromStdString(causes.whole));
  // What a click would set is said on the button, not in its help alone.
  QStringList saved_words{saved};
  if (point.marked() && m_saved->isEnabled())
    saved_words << point.offers();
  else if (point.marked())
    saved_words << point.found();  // and set already
  else if (asked || !budgeted)
    for (const QString& words : {saved, point.state == BreakPoint::State::searching ? saved.section(':', 0, 0) : saved.section(" (", 0, 0)})
      saved_words << QString(words).remove("says ").remove(" slots");
  if (const QString most = QString(saved).remove(" even").remove(" slots"); point.state == BreakPoint::State::never)
    saved_words << most << most.section(" of ", 0, 0);  // a number that is cut would be another one
  QStringList which_words{which};
  if (!causes.all.empty() && !measuring.running) which_words.prepend(which + '\n' + qs(causes.all));
  if (causes.heads.size() == 1 && budgeted)
    which_words << QString("give %1 all").arg(which.section(" alone", 0, 0));
  else if (causes.heads.size() >= 2)
    which_words << (budgeted ? QString("give one all") : QString("%1 heads").arg(causes.heads.size()));
  m_sentence->questions = {
      {m_elsewhere, {step + ": show it", step}, {step + ": show it"}, {step}},
      {m_saved, saved_words, {"What saves it?", "«9» from 99.9 %: set one ▾"}, {"What saves it?"}, point.several() && m_saved->isEnabled()},
      {m_which,
       which_words,
       {"give L9 H9 all ▾", "L9 H9 or 9 others ▾", "all 12 steps: L9 H9 ▾"},
       {"give L9 H9 all ▾", "L9 H9 or L9 H9 ▾"},
       budgeted && !measuring.running && !headsOffered(causes).empty()},
      {m_why, {whyWords(), whyWords().remove("token ")}, {"Why evicted?", "Why token 999?"}, {"Why evicted?", "Why token 999?"}}};
  if (const viz::Loss loss = lossNamed(); loss.step >= 0) {
    const AskedToken of = askedToken(loss);
    m_why->setToolTip(QString("Opens %1 with token %2: its rank, the cut-off, and what became of it")
                          .arg(QString::fromStdString(viz::head_name(of.layer, of.kv_head)))
                          .arg(of.token));
  }
  m_saved->setAccessibleDescription(point.how);
  const QString click = !budgeted ? QString("This run has no budget: there is none that would have saved the answer")
                        : point.state == BreakPoint::State::searching ? "Click: give up the search"
                        : point.several()                             ? "Click: choose which of them to give the run"
                        : point.marked()                              ? "Click: give the run this budget"
                        : asked                                       ? QString()
                                                                      : "Searches the lowest budget at which each run still says the full "
                                                                        "cache's token in this step, and in all, by runs beside those on screen";
  m_saved->setToolTip(point.how.isEmpty() || click.isEmpty() ? point.how + click : point.how + '\n' + click);
  m_sentence->fit();
}

/// A head that is named as the answer can be given what it lacks; before there is one, and where nothing can be given, the grid shows all.
void CrumbRow::offerHeads() {
  const viz::CauseWords causes = viz::cause_words(m_workspace.snapshot(), m_workspace.causes());
  const LaneSnapshot* lane = m_workspace.lane();
  const std::vector<int> heads = headsOffered(causes);
  if (heads.empty() || lane == nullptr || lane->slots_asked < 0) return Q_EMIT whichRequested();
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  const int per_layer = std::max(1, m_workspace.snapshot().model.n_kv_heads);
  for (std::size_t i = 0; i < std::min(heads.size(), viz::kNamedHeads); ++i) {
    const int layer = heads[i] / per_layer, kv_head = heads[i] % per_layer;
    const QString gain = qs(viz::gain_words(m_workspace.causes(), heads[i]));  // one may only tip a tie
    menu->addAction(QString("Give L%1 H%2 its full cache: %3").arg(layer).arg(kv_head).arg(gain), this,
                    [this, layer, kv_head] { Q_EMIT fullCacheRequested(layer, kv_head); });
  }
  if (heads.size() > viz::kNamedHeads)
    menu->addAction(QString("%1 more bring this answer back").arg(heads.size() - viz::kNamedHeads))->setEnabled(false);
  menu->addSeparator();
  menu->addAction("Show all heads in the grid", this, &CrumbRow::whichRequested);
  menu->popup(m_which->mapToGlobal(m_which->rect().bottomLeft()));
}

void CrumbRow::offerRuns() {
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  const Snapshot& snapshot = m_workspace.snapshot();
  for (int i = 0; i < static_cast<int>(snapshot.lanes.size()); ++i) {
    const QString words = qs(viz::lane_letter(i)) + "  " + budgetedTitle(snapshot.lanes[static_cast<std::size_t>(i)]);
    QAction* run = menu->addAction(asLabel(words), this, [this, i] {
      viz::Selection selection = m_workspace.selection();
      selection.lane = i;
      m_workspace.setSelection(selection);
    });
    run->setCheckable(true);
    run->setChecked(i == m_workspace.selection().lane);
  }
  menu->popup(m_lane->mapToGlobal(m_lane->rect().bottomLeft()));
}

/// What saves the step and what saves all are two budgets: which of them is set is chosen.
void CrumbRow::offerBudgets() {
  const BreakPoint point = m_workspace.breakPoint(m_workspace.selection().lane);
  if (!point.marked()) return Q_EMIT savedRequested();
  if (!point.several()) return Q_EMIT budgetRequested(point.asked, point.share);
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->addAction(asLabel(QString("Set %1: %2 in step %3").arg(point.share, point.token).arg(point.step)), this,
                  [this, point] { Q_EMIT budgetRequested(point.asked, point.share); });
  for (const BreakPoint::Wider& more : point.wider)
    menu->addAction(asLabel(QString("Set %1: %2").arg(more.share, more.what)), this,
                    [this, more] { Q_EMIT budgetRequested(more.asked, more.share); });
  menu->popup(m_saved->mapToGlobal(m_saved->rect().bottomLeft()));
}

void CrumbRow::remember() {
  if (m_travelling) return;
  const LaneSnapshot* const lane = m_workspace.lane();
  const Place place{m_workspace.selection(), m_page, *m_zoom, lane ? lane->spec : std::string(), m_workspace.snapshot().lanes.size()};
  if (m_at >= 0 && m_history[m_at] == place) return;
  m_history.resize(m_at + 1);
  // A drag or play through the steps is one way, not a hundred places; so are the notches of a wheel.
  Place without = m_at >= 0 ? m_history[m_at] : place;
  without.selection.step = place.selection.step;
  without.selection.steps = place.selection.steps;
  Place zoomed = m_at >= 0 ? m_history[m_at] : place;
  zoomed.zoom = place.zoom;
  const bool moving = m_at >= 0 && (without == place || zoomed == place);
  if (moving && m_moving && m_remembered.elapsed() < kOneWayMs) m_history.removeLast();
  m_moving = moving;
  m_remembered.start();
  m_history.append(place);
  if (m_history.size() > kHistory) m_history.removeFirst();
  m_at = m_history.size() - 1;
}

void CrumbRow::go(qsizetype to) {
  if (to < 0 || to >= m_history.size()) return;
  m_at = to;
  Place place = m_history[m_at];
  const Snapshot& snapshot = m_workspace.snapshot();
  const int now = runNow(snapshot, place.run, place.selection.lane).lane;
  if (now >= 0 || snapshot.lanes.size() != place.n_runs) place.selection.lane = now;  // else it has another policy in its place
  if (place.selection.lane < 0) return refresh();
  m_travelling = true;
  m_moving = false;
  if (place.page != m_page) Q_EMIT pageRequested(place.page);
  m_workspace.setSelection(place.selection);
  if (!(*m_zoom == place.zoom)) {
    *m_zoom = place.zoom;
    Q_EMIT zoomRestored();
  }
  m_travelling = false;
  refresh();
}

void CrumbRow::setPage(int page) {
  if (page == m_page) return;
  m_page = page;
  remember();
  refresh();
}

void CrumbRow::focusSentence(Qt::FocusReason why) { m_sentence->setFocus(why); }

void CrumbRow::setWelcome(bool on) {
  if (on == m_welcome) return;
  m_welcome = on;
  refresh();
}

void CrumbRow::takeAsGiven() {
  m_shown_why = m_selected = selectedToken();
  refreshQuestions();
}

void CrumbRow::beginHere() {
  m_shown_why = selectedToken();
  m_history.clear();
  m_at = -1;
  m_moving = false;
  remember();
  refresh();
}

void CrumbRow::lookAtZoom() {
  if (m_at < 0 || sameZoom(m_history[m_at].zoom, *m_zoom)) return;
  remember();
  refresh();
}

/// To the next place that looks otherwise than the present one: a run that is there no more is no place.
void CrumbRow::travel(qsizetype by) {
  const auto here = [this] { return Place{m_workspace.selection(), m_page, *m_zoom}; };
  const Place left = here();
  for (qsizetype to = m_at + by; to >= 0 && to < m_history.size() && here() == left; to += by) go(to);
}

void CrumbRow::back() { travel(-1); }

void CrumbRow::forward() { travel(1); }

CrumbRow::AskedToken CrumbRow::selectedToken() const {
  const viz::Selection& s = m_workspace.selection();
  return s.tokens ? AskedToken{s.layer.value_or(-1), s.kv_head.value_or(-1), s.tokens->first} : AskedToken{};
}

/// The one that the user has chosen in a head comes before the one that the sentence names. A head that is chosen beside a token left from
/// another step or run chooses nothing, unless it is the sentence's own token.
CrumbRow::AskedToken CrumbRow::askedToken(const viz::Loss& loss) const {
  const viz::Selection& s = m_workspace.selection();
  const AskedToken own = selectedToken();
  const bool in_head = own.layer >= 0 && own.kv_head >= 0 && viz::n_tokens(s) == 1;
  const bool chosen = own.token == loss.token ? own != m_shown_why : own.token != m_shown_why.token;
  return in_head && chosen ? own : tokenOf(loss);
}

/// Of the heads that bring the answer back by themselves, the one that is looked at, if it lost the token in the same way.
CrumbRow::AskedToken CrumbRow::tokenOf(const viz::Loss& loss) const {
  const viz::Selection& s = m_workspace.selection();
  const Snapshot& snapshot = m_workspace.snapshot();
  AskedToken out{loss.layer, loss.kv_head, loss.token};
  if (!s.layer || !s.kv_head) return out;
  const int head = viz::head_index(snapshot, *s.layer, *s.kv_head);
  const viz::HeadCauses& causes = m_workspace.causes();
  const int slot = slotOf(head, loss.token);
  if (causes.whole() && causes.answer_returns(head) && slot != loss.token && (slot < 0) == (loss.slot < 0))
    out.layer = *s.layer, out.kv_head = *s.kv_head;
  return out;
}

/// That the step's query found; -1: none, or there is no such head.
int CrumbRow::slotOf(int head, int token) const {
  const LaneSnapshot* lane = m_workspace.lane();
  const bool there = lane && lane->fates && m_workspace.step() >= 0 && head >= 0 && head < static_cast<int>(lane->fates->heads.size());
  return there ? viz::slot_seen(*lane, m_workspace.step(), head, token) : -1;
}

viz::Loss CrumbRow::lossNamed() {
  const LaneSnapshot* lane = m_workspace.lane();
  const Snapshot& snapshot = m_workspace.snapshot();
  return lane ? m_finding.of(snapshot, *lane, m_workspace.step(), viz::cause_words(snapshot, m_workspace.causes())).loss : viz::Loss{};
}

/// It names the token where that is another one than is selected, or than the sentence is about.
QString CrumbRow::whyWords() {
  const viz::Loss loss = lossNamed();
  const AskedToken of = askedToken(loss);
  const std::optional<viz::TokenRange>& tokens = m_workspace.selection().tokens;
  const bool plain = of.token == loss.token && (!tokens || (tokens->first == of.token && tokens->last == of.token));
  if (!plain) return QString("Why token %1?").arg(of.token);
  return slotOf(viz::head_index(m_workspace.snapshot(), of.layer, of.kv_head), of.token) < 0 ? QString("Why evicted?")
                                                                                             : QString("Why merged?");
}

void CrumbRow::askWhy() {
  if (!m_workspace.lane()) return;
  const viz::Loss loss = lossNamed();
  if (loss.step < 0) return Q_EMIT whyRequested();  // of what is selected
  const AskedToken named = tokenOf(loss);
  if (askedToken(loss) != named) return Q_EMIT whyRequested();
  m_shown_why = named;
  viz::Selection selection = m_workspace.selection();
  selection.layer = named.layer;
  selection.kv_head = named.kv_head;
  selection.select({loss.token, loss.token});
  selection.slot = loss.token;
  m_workspace.setSelection(selection);
  Q_EMIT whyRequested();
}

void CrumbRow::clearSelection() {
  viz::Selection selection;
  selection.lane = m_workspace.selection().lane;
  m_workspace.setSelection(selection);
}

}  // namespace kvscope
