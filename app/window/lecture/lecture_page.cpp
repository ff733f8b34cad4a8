// SPDX-License-Identifier: Apache-2.0
#include "app/window/lecture/lecture_page.h"

#include <cmath>

#include <QEvent>
#include <QGridLayout>
#include <QHBoxLayout>

#include "app/window/canvas/canvas_widget.h"
#include "app/window/help/glossary.h"
#include "app/window/lecture/lecture_bars.h"
#include "app/window/lecture/lecture_memory.h"
#include "app/window/look/restyle.h"
#include "app/window/panels/prompt/prompt_editor_colours.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/session/hand/hand_edits.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel.h"
#include "app/window/shell/panel_paint.h"
#include "snapshot/figures.h"
#include "viz/draw/draw.h"
#include "viz/draw/format.h"
#include "viz/reduce/lecture.h"

namespace kvscope {

namespace {

constexpr double kMargin = 15, kGap = 12.5, kPadding = 12, kControl = 22;  // px at 100 %, 24, 20 and 20 in the lecture

}  // namespace

LecturePanel::LecturePanel(const QString& title, const QString& facts, QWidget* content, QWidget* parent)
    : QFrame(parent), m_title(new QLabel(title)), m_facts(new ElidedLabel) {
  setObjectName("lecturePanel");
  m_title->setObjectName("lectureTitle");
  m_facts->setObjectName("lectureFacts");
  m_facts->setText(facts);
  auto* header = new QHBoxLayout;
  header->addWidget(m_title);
  header->addWidget(m_facts, 1);
  auto* column = new QVBoxLayout(this);
  column->addLayout(header);
  column->addWidget(content, 1);
  applyType();
}

void LecturePanel::setTitle(const QString& title, const QString& shorter) {
  m_titles = {title, shorter.isEmpty() ? title : shorter};
  fitTitle();
}

void LecturePanel::fitTitle() {
  if (m_titles.isEmpty()) return;
  const QMargins margins = layout()->contentsMargins();
  const auto* header = static_cast<QHBoxLayout*>(layout()->itemAt(0)->layout());
  int room = width() - margins.left() - margins.right();
  for (int i = 2; i < header->count(); ++i)  // behind title and facts
    if (const QWidget* control = header->itemAt(i)->widget(); !control->isHidden())
      room -= control->sizeHint().width() + 2 * header->spacing();
  const bool fits = m_title->fontMetrics().horizontalAdvance(m_titles.front()) <= room;
  m_title->setText(fits ? m_titles.front() : m_titles.back());
}

bool LecturePanel::event(QEvent* event) {
  if (event->type() == QEvent::LayoutRequest || event->type() == QEvent::Resize) fitTitle();
  return QFrame::event(event);
}

void LecturePanel::setFacts(const QString& facts) { m_facts->setText(facts); }

QString LecturePanel::facts() const { return m_facts->text(); }

void LecturePanel::addControl(QWidget* control) { static_cast<QHBoxLayout*>(layout()->itemAt(0)->layout())->addWidget(control); }

void LecturePanel::makeRoomForControls() {
  m_roomy = true;
  applyType();
}

void LecturePanel::changeEvent(QEvent* event) {
  QFrame::changeEvent(event);
  if (event->type() == QEvent::FontChange && !m_applying) applyType();
}

void LecturePanel::applyType() {
  m_applying = true;
  const int padding = px(*this, kPadding);
  auto* column = static_cast<QVBoxLayout*>(layout());
  column->setContentsMargins(padding, px(*this, 8), padding, px(*this, 8));
  column->setSpacing(px(*this, 4));
  static_cast<QHBoxLayout*>(column->itemAt(0)->layout())->setSpacing(px(*this, 8));
  if (m_roomy) m_title->setMinimumHeight(px(*this, kControl));
  m_applying = false;
}

LecturePage::LecturePage(Workspace& workspace, SessionController& controller, CanvasWidget* atlas, QWidget* parent)
    : QWidget(parent), m_workspace(workspace), m_prompt(new PromptPanel(workspace, controller)), m_grid(new QGridLayout(this)) {
  setObjectName("inspectArea");
  setAttribute(Qt::WA_StyledBackground);
  m_prompt->setPlain();
  m_attention = new LectureBars(workspace, "where this head looks", "every token in place",
                                "Attention of one head: the tokens that this step's query reads.", [](const Workspace& w, int n) {
                                  const viz::Selection& at = w.selection();
                                  return viz::attention_pairs(w.snapshot(), viz::pick_head(w.snapshot(), at), n,
                                                              at.tokens ? std::optional(at.tokens->first) : at.slot, w.emphasis());
                                });
  m_next =
      new LectureBars(workspace, "the next token", "full cache", "What may come next, and how likely, with the full cache and with less.",
                      [](const Workspace& w, int n) {
                        return w.stepRecord() ? viz::next_token_pairs(w.snapshot(), *w.lane(), w.step(), n) : std::vector<viz::PairRow>();
                      });
  m_attention->offerCapture();
  connect(m_attention, &LectureBars::captureWanted, &controller, [&controller] {
    controller.want({viz::WantMeasure::What::history, true});
  });
  m_attention->setWhatsThis(Glossary::builtIn().aboutView("attention"));
  m_next->setWhatsThis(Glossary::builtIn().aboutView("next"));
  m_prompt->setWhatsThis(Glossary::builtIn().aboutView("prompt"));
  m_text_panel = new LecturePanel("The text", {}, m_prompt, this);
  m_atlas_panel = new LecturePanel("All heads", {}, atlas, this);
  m_attention_panel = new LecturePanel("Where this head looks", "share of its attention", m_attention, this);
  m_next_panel = new LecturePanel("Next token", "probability", m_next, this);
  for (LecturePanel* panel : {m_text_panel, m_atlas_panel}) panel->makeRoomForControls();  // side by side, so both
  m_grid->addWidget(m_text_panel, 0, 0);
  m_grid->addWidget(m_atlas_panel, 0, 1);
  m_grid->addWidget(m_attention_panel, 1, 0);
  m_grid->addWidget(m_next_panel, 1, 1);
  m_memory = new LectureMemory(workspace);
  m_memory_panel = new LecturePanel("Keys and values of one conversation", "every token in place, 16-bit numbers", m_memory, this);
  m_memory_panel->hide();
  m_grid->setColumnStretch(0, 103);
  m_grid->setColumnStretch(1, 100);
  m_grid->setRowStretch(0, 23);
  m_grid->setRowStretch(1, 10);
  for (QWidget* panel : {m_text_panel, m_atlas_panel, m_attention_panel, m_next_panel})
    panel->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored);
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged}) connect(&workspace, signal, this, [this] { refresh(); });
  applyType();
  refresh();
}

void LecturePage::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange && !m_applying) applyType();
}

void LecturePage::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  placeMemory();
  makeRoomForBars();
}

/// Captions speak of the second bar, too; the text above can be moved.
void LecturePage::makeRoomForBars() {
  const int wanted = m_attention_panel ? m_attention_panel->layout()->totalMinimumSize().height() : 0;
  m_grid->setRowMinimumHeight(1, std::min(wanted, height() * 2 / 5));
}

/// Over the whole grid, which is no place in it: an item that spans cells takes their spacing away.
void LecturePage::placeMemory() {
  if (m_memory_panel != nullptr) m_memory_panel->setGeometry(rect().marginsRemoved(m_grid->contentsMargins()));
}

void LecturePage::applyType() {
  m_applying = true;
  const int margin = px(*this, kMargin);
  m_grid->setContentsMargins(margin, px(*this, kGap), margin, px(*this, kGap));
  m_grid->setSpacing(px(*this, kGap));
  placeMemory();
  m_applying = false;
  makeRoomForBars();
}

void LecturePage::showMemory(bool on) {
  m_memory_panel->setVisible(on);
  for (QWidget* panel : {m_text_panel, m_atlas_panel, m_attention_panel, m_next_panel}) panel->setVisible(!on);
}

void LecturePage::setMarked(std::optional<Scene::Part> part) {
  const std::pair<LecturePanel*, Scene::Part> panels[] = {{m_text_panel, Scene::Part::text},
                                                          {m_atlas_panel, Scene::Part::heads},
                                                          {m_attention_panel, Scene::Part::attention},
                                                          {m_next_panel, Scene::Part::next}};
  for (const auto& [panel, of] : panels) {
    panel->setProperty("marked", part == of);
    restyle(*panel);
  }
}

void LecturePage::setHeadBefore(const std::optional<viz::Selection>& head) {
  if (head == m_head_before) return;
  m_head_before = head;
  refresh();
}

void LecturePage::refresh() {
  const viz::Selection& s = m_workspace.selection();
  const Snapshot& snapshot = m_workspace.snapshot();
  const bool head = selectedHead(snapshot, s.layer, s.kv_head).has_value();
  const bool reads = TokenColours::headThatReads(m_workspace) != nullptr;
  m_text_panel->setTitle(reads  ? "This head reads"
                         : head ? "This head remembers"
                                : "The text, in all heads together",
                         head ? "This head" : "The text");
  m_atlas_panel->setTitle(QString("All %1 heads").arg(viz::n_heads_total(snapshot)));
  const LaneSnapshot* lane = m_workspace.lane();
  const QString by_hand = lane ? handWords(tokens_of(snapshot, *lane), edits_of(lane->spec)) : QString();
  m_text_panel->setFacts(by_hand.isEmpty() ? QString() : "by hand: " + by_hand);
  m_next_panel->setFacts(nextFacts());
  const int group = snapshot.model.n_kv_heads > 0 ? snapshot.model.group() : 1;
  const int first = s.kv_head.value_or(0) * group;  // captions speak of one of them
  m_attention_panel->setFacts(group == 1                ? QString("share of its attention")
                              : group == 2 && s.kv_head ? QString("query heads %1 and %2").arg(first).arg(first + 1)
                              : s.kv_head               ? QString("query heads %1–%2").arg(first).arg(first + group - 1)
                                                        : QString("mean of its %1 query heads").arg(group));
  QStringList framed;
  if (head && m_head_before)
    framed << "moved here from " + qs(viz::head_name(*m_head_before->layer, *m_head_before->kv_head)).remove(" ·");
  else if (head)
    framed << "this head";
  const viz::HeadPick pick = viz::pick_head(snapshot, s);
  if (head && !m_head_before && pick.lane > 0 && pick.record != nullptr && !viz::held_slots(*pick.record).alike())
    framed << counted(pick.values->n_slots, "slot", "slots");  // of which other heads have more or fewer
  constexpr int kAWord = 3;                                    // tokens: of longer ones the frame has to do
  if (s.tokens && s.tokens->last - s.tokens->first < kAWord) {
    const QString words = qs(viz::quoted(viz::token_range_text(tokens_of(snapshot, s.lane), s.tokens->first, s.tokens->last, 16)));
    framed << words;
  }
  m_atlas_panel->setFacts(framed.isEmpty() ? QString() : "framed: " + framed.join(", "));
  m_attention_panel->setTitle(!pick.values ? QString("Where a head looks")
                                           : QString("Where layer %1, head %2 looks").arg(pick.values->layer).arg(pick.values->kv_head));
}

/// How far apart both distributions are, in this step and on average, and what an edit by hand did to that.
QString LecturePage::nextFacts() const {
  const Snapshot& snapshot = m_workspace.snapshot();
  const LaneSnapshot* lane = m_workspace.lane();
  const StepRecord* step = m_workspace.stepRecord();
  if (!lane || !step || m_workspace.selection().lane == 0 || std::isnan(compared_kl(snapshot, *lane, m_workspace.step())))
    return "probability";
  // Nobody reads powers of ten from the last row.
  const auto nats = [](double v) { return v < viz::kSameNats ? QString("<0.001") : qs(viz::format_number(v)); };
  const QString kl = nats(step->kl);
  const auto i = static_cast<std::size_t>(m_workspace.step());
  if (lane->fork_of >= 0) {
    const LaneSnapshot& base = snapshot.lanes[static_cast<std::size_t>(lane->fork_of)];
    const bool differs = m_workspace.step() > common_steps(edits_of(lane->spec), edits_of(base.spec));
    if (differs && i < base.steps.size()) return QString("KL %1 → %2 nats, by hand").arg(nats(base.steps[i]->kl), kl);
  }
  const RunFigures all = run_figures(snapshot, *lane, false);
  if (all.compared < 2) return QString("probability · KL %1 nats").arg(kl);
  return QString("KL %1, mean of %2 steps %3").arg(kl, qs(viz::format_count(all.compared)), nats(all.kl.mean()));
}

}  // namespace kvscope
