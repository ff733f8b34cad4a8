// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QSlider>
#include <QSpinBox>
#include <QToolButton>

#include "app/window/look/style.h"
#include "app/window/panels/policy/budget_slider.h"
#include "app/window/panels/policy/policy_items.h"
#include "app/window/rows/budget_box.h"
#include "app/window/rows/rows.h"
#include "app/window/session/run_estimate.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "core/error.h"
#include "policy/catalog.h"
#include "snapshot/figures.h"
#include "viz/draw/draw.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"

namespace kvscope {

namespace {

constexpr int kSlider = 120, kLeastSlider = 64;  // px

QFrame* separator(QWidget* parent) {
  auto* line = new QFrame(parent);
  line->setObjectName("separator");
  line->setFixedSize(1, 22);
  return line;
}

QToolButton* button(QWidget* parent, const QString& text, const QString& help, const char* look) {
  auto* b = new QToolButton(parent);
  b->setObjectName(look);
  b->setText(text.isEmpty() ? text : " " + text);
  b->setToolButtonStyle(text.isEmpty() ? Qt::ToolButtonIconOnly : Qt::ToolButtonTextBesideIcon);
  b->setToolTip(help);
  b->setAccessibleName(text.isEmpty() ? help : text);
  b->setFocusPolicy(Qt::StrongFocus);
  return b;
}

QLabel* caption(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setObjectName("secondary");
  return label;
}

}  // namespace

ToolRow::ToolRow(Workspace& workspace, SessionController& controller, QWidget* parent)
    : QFrame(parent), m_workspace(workspace), m_controller(controller) {
  setObjectName("toolRow");
  setFixedHeight(kToolRow);
  m_open = button(this, "Open", "Open a model folder (Ctrl+O)", "flat");
  m_save = button(this, "Save", "Save the session: model, prompt, runs, selection, bookmarks (Ctrl+S)", "flat");
  m_generate = new QPushButton(" Generate", this);
  m_generate->setObjectName("primary");
  m_generate->setAccessibleName("Generate");
  m_count = new QSpinBox(this);
  m_count->setRange(0, 4096);
  m_count->setValue(12);
  m_count->setFixedWidth(58);
  m_count->setAccessibleName("Tokens to generate");
  m_stop = button(this, {}, "Stop computing (Esc)", "square");
  m_next = button(this, {}, "Generate one token more (F6)", "square");
  m_policy = new QComboBox(this);
  m_policy->setFixedWidth(130);
  m_policy->setAccessibleName("Policy of the selected run");
  addPolicies(*m_policy, /*with_reference=*/true);
  m_policy->setMaxVisibleItems(30);
  m_add = button(this, {}, "Add a run with a policy, at this budget, beside the others", "square");
  auto* policies = new QMenu(m_add);
  addPolicies(*policies, [this](const QString& policy) { addChosen(policy); });
  m_add->setMenu(policies);
  m_add->setPopupMode(QToolButton::InstantPopup);
  m_slider = new BudgetSlider(workspace, this);
  m_slider->setAccessibleName("Budget");
  m_slots = new BudgetBox(workspace, this);
  m_slots->setFixedWidth(78);
  m_budget_of = caption("Budget", this);
  m_budget_facts = caption({}, this);
  m_compare = button(this, "Compare", "All runs side by side (Alt+3)", "flat");
  m_compare->setCheckable(true);
  m_find = button(this, {}, "Find tokens, heads, events (Ctrl+F)", "square");

  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(14, 0, 14, 0);
  row->setSpacing(8);
  row->addWidget(m_open);
  row->addWidget(m_save);
  row->addSpacing(8);
  row->addWidget(separator(this));
  row->addSpacing(4);
  row->addWidget(m_generate);
  row->addWidget(m_count);
  row->addWidget(m_stop);
  row->addWidget(m_next);
  row->addSpacing(4);
  row->addWidget(separator(this));
  row->addSpacing(4);
  row->addWidget(caption("Policy", this));
  row->addWidget(m_policy);
  row->addWidget(m_add);
  row->addSpacing(8);
  row->addWidget(m_budget_of);
  row->addWidget(m_slider);
  row->addWidget(m_slots);
  row->addWidget(m_budget_facts);
  row->addSpacing(4);
  row->addWidget(separator(this));
  row->addSpacing(4);
  row->addWidget(m_compare);
  row->addStretch(1);
  row->addWidget(m_find);

  listen();
  applyTheme();
  refresh();
}

void ToolRow::listen() {
  connect(m_open, &QToolButton::clicked, this, &ToolRow::openRequested);
  connect(m_save, &QToolButton::clicked, this, &ToolRow::saveRequested);
  connect(m_generate, &QPushButton::clicked, this, &ToolRow::generateRequested);
  connect(m_stop, &QToolButton::clicked, this, &ToolRow::stopRequested);
  connect(m_next, &QToolButton::clicked, this, &ToolRow::nextRequested);
  connect(m_compare, &QToolButton::toggled, this, &ToolRow::compareToggled);
  connect(m_find, &QToolButton::clicked, this, &ToolRow::findRequested);
  connect(m_policy, &QComboBox::activated, this, [this](int index) { policyChosen(index); });
  connect(m_slider, &QSlider::valueChanged, this, [this](int value) { budgetChosen(value); });
  connect(m_slots, &QSpinBox::valueChanged, this, [this](int value) { budgetChosen(value); });
  connect(m_slots, &BudgetBox::typed, this, &ToolRow::budgetChosen);
  m_coalesce.setSingleShot(true);
  m_coalesce.setInterval(30);
  connect(&m_coalesce, &QTimer::timeout, this, [this] { sendBudget(); });
  connect(m_slider, &QSlider::sliderPressed, this, [this] {
    m_budget_facts->setFixedWidth(m_budget_facts->width());  // what is under the hand stays where it is, whatever is said beside it
    m_controller.beginDrag();
  });
  connect(&m_controller, &SessionController::extraProgress, this, &ToolRow::refresh);
  connect(&m_controller, &SessionController::extraDone, this, &ToolRow::refresh);
  connect(&m_controller, &SessionController::extraFailed, this, &ToolRow::refresh);
  connect(&m_controller, &SessionController::extraEnded, this, &ToolRow::refresh);
  connect(m_slider, &QSlider::sliderReleased, this, [this] {
    sendWaitingBudget();
    m_controller.endDrag();
    m_budget_facts->setMinimumWidth(0);
    m_budget_facts->setMaximumWidth(QWIDGETSIZE_MAX);
    m_budget_facts->clear();  // so that what it says is new, and fitted
    refresh();                // the answer may have come before: a policy may need more slots than were asked for
  });
  connect(&m_workspace, &Workspace::snapshotChanged, this, [this] { refresh(); });
  connect(&m_workspace, &Workspace::selectionChanged, this, [this] { refresh(); });
  connect(&m_workspace, &Workspace::staleChanged, this, [this] { refresh(); });
  connect(&m_workspace, &Workspace::themeChanged, this, [this] { applyTheme(); });
}

void ToolRow::resizeEvent(QResizeEvent* event) {
  QFrame::resizeEvent(event);
  fit();
}

/// What it shows may have come while another row had its place.
void ToolRow::showEvent(QShowEvent* event) {
  QFrame::showEvent(event);
  fit();
}

/// In a narrow window words give way to their icons, then the figures of the budget to the tooltip, at last what the boxes are for: nothing
/// is cut.
void ToolRow::fit() {
  const auto too_wide = [this] {
    layout()->invalidate();
    return layout()->minimumSize().width() > width();
  };
  const auto show_words = [this](bool words) {
    for (QToolButton* b : {m_open, m_save, m_compare}) b->setToolButtonStyle(words ? Qt::ToolButtonTextBesideIcon : Qt::ToolButtonIconOnly);
  };
  const auto show_captions = [this](bool shown) {
    for (QLabel* label : findChildren<QLabel*>("secondary", Qt::FindDirectChildrenOnly))
      if (label != m_budget_facts && label != m_budget_of) label->setVisible(shown);
  };
  m_slider->setFixedWidth(
      std::clamp(kSlider + (width() - 1280) / 3, kSlider, 300));  // by the window alone: words beside it change while it is dragged
  show_words(true);
  show_captions(true);
  m_fitted = {m_budget_run, width()};
  m_budget_facts->setText(facts());
  m_budget_facts->show();
  sayBudgetOf(BudgetOf::name);
  if (too_wide()) show_words(false);
  if (too_wide()) sayBudgetOf(BudgetOf::letter);
  if (too_wide()) m_budget_facts->hide();
  if (!too_wide()) return;
  show_captions(false);
  sayBudgetOf(BudgetOf::only_letter);
  if (too_wide()) m_budget_of->hide();  // the chip of the run says it
  if (too_wide()) m_slider->setFixedWidth(std::max(kLeastSlider, kSlider - (layout()->minimumSize().width() - width())));
}

/// Which run the slider moves, where it is one of several.
void ToolRow::sayBudgetOf(BudgetOf how) {
  const LaneSnapshot* lane = m_workspace.lane();
  const bool several = lane != nullptr && m_workspace.snapshot().lanes.size() > 2;
  const QString letter = several ? qs(viz::lane_letter(m_workspace.selection().lane)) : QString();
  const QString of = how == BudgetOf::name && several ? letter + ' ' + qs(lane->title) : letter;
  const QString words = !several ? QString("Budget") : "Budget of " + of;
  m_budget_of->setText(how == BudgetOf::only_letter ? letter : words);
  m_budget_of->setVisible(!m_budget_of->text().isEmpty());
  const QString run = several ? QString("run %1, %2").arg(letter, qs(lane->title)) : QString("the selected run");
  m_budget_of->setToolTip(QString("Slider and field move %1 only; Compare > Give all runs this budget moves them all").arg(run));
}

int ToolRow::generateCount() const { return m_count->value(); }

void ToolRow::setGenerateCount(int n) { m_count->setValue(n); }

void ToolRow::refresh() {
  m_refreshing = true;
  const Snapshot& snapshot = m_workspace.snapshot();
  const LaneSnapshot* lane = m_workspace.lane();
  const bool editable = lane && m_workspace.selection().lane > 0 && !m_controller.viewOnly();
  const bool busy = m_controller.hasExtra() || snapshot.phase == RunPhase::computing || snapshot.phase == RunPhase::loading ||
                    (m_workspace.stale() && snapshot.phase != RunPhase::failed);
  m_stop->setEnabled(busy);
  sayWhyNot(snapshot.model.n_layers > 0 ? m_controller.whyViewOnly() : QString("No model is open"));
  m_policy->setEnabled(editable);
  m_add->setEnabled(lane && !m_controller.viewOnly());
  m_policy->setPlaceholderText(lane ? QString::fromStdString(lane->title) : QString());  // of a run with a policy that is not in the list
  m_policy->setCurrentIndex(lane ? m_policy->findData(QString::fromStdString(lane->policy)) : -1);
  const bool budgeted = hasBudget();
  m_slider->setEnabled(budgeted && editable);
  m_slots->setEnabled(budgeted && editable);
  // A value that is on its way to the engine must not jump back to that of the result before.
  const bool dragging = m_slider->isSliderDown() || m_slots->typing() || m_coalesce.isActive() || m_workspace.stale();
  if (budgeted && !(dragging && m_wanted_lane == m_workspace.selection().lane)) {
    const int max = std::max({1, snapshot.n_prompt, lane->slots_asked});
    m_slider->setRange(1, max);
    m_slider->setPageStep(std::max(1, max / 10));
    m_slots->setRange(1, max);
    m_slider->setValue(lane->slots_asked);
    m_slots->setValue(lane->slots_asked);
  } else if (lane && !budgeted && snapshot.n_prompt > 0) {  // what it holds: at its left end the slider would say almost nothing
    const int held = std::clamp(static_cast<int>(std::lround(lane->slots)), 1, snapshot.n_prompt);
    m_slider->setRange(1, snapshot.n_prompt);
    m_slots->setRange(1, snapshot.n_prompt);
    m_slider->setValue(held);
    m_slots->setValue(held);
  }
  sayFacts();
  const QString run =
      lane ? qs(viz::lane_letter(m_workspace.selection().lane) + ' ' + lane->title) + (snapshot.lanes.size() > 2 ? "" : ".") : QString();
  if (std::exchange(m_budget_run, run) != run && !m_slider->isSliderDown()) fit();
  QStringList tip{"Budget of the selected run, in slots per head, on a linear scale; one slot by wheel or arrows", facts()};
  if (lane && lane->bytes > 0)
    tip << QString("keys and values of its slots: %1, allocated for them: %2")
               .arg(qs(viz::format_bytes(lane->kv_bytes)), qs(viz::format_bytes(lane->bytes)));
  tip << m_controller.whyViewOnly();
  tip.removeAll(QString());
  m_slider->setToolTip(tip.join('\n'));
  m_budget_facts->setToolTip(tip.join('\n'));
  m_refreshing = false;
}

bool ToolRow::hasBudget() const {
  const LaneSnapshot* lane = m_workspace.lane();
  return lane && m_workspace.selection().lane > 0 && lane->slots_asked >= 0;
}

void ToolRow::sayFacts() {
  const bool dragged = m_slider->isSliderDown();
  const QString words = facts(),
                shown = dragged ? m_budget_facts->fontMetrics().elidedText(words, Qt::ElideRight, m_budget_facts->width()) : words;
  if (shown == m_budget_facts->text()) return;
  m_budget_facts->setText(shown);
  if (dragged) return;
  if (m_fitted != std::pair(m_budget_run, width()) || m_budget_facts->isHidden()) return fit();
  // Of one and the same run the slider stays where it was let go: the last facts give way, not the words before it.
  const QFontMetrics metrics = m_budget_facts->fontMetrics();
  layout()->invalidate();
  if (const int over = layout()->minimumSize().width() - width(); over > 0)
    m_budget_facts->setText(factsThatFit(metrics, metrics.horizontalAdvance(words) - over, words));
}

/// The share is that of the number beside it, the memory that of the step looked at.
QString ToolRow::facts() const {
  const Snapshot& snapshot = m_workspace.snapshot();
  const LaneSnapshot* lane = m_workspace.lane();
  if (!lane) return {};
  const int step = m_workspace.step();
  const RunFigures here = step < 0 || m_workspace.atLatestStep() ? RunFigures{} : run_figures(snapshot, *lane, step, step);
  const bool earlier = std::isfinite(here.slots) && std::isfinite(here.bytes) && here.slots > 0;
  const double slots = earlier ? here.slots : lane->slots, bytes = earlier ? here.bytes : lane->kv_bytes;
  const std::string when = earlier ? fmt::format("step {}: ", step) : std::string();
  const int shown = step < 0 ? static_cast<int>(lane->steps.size()) - 1 : step;
  const double read = run_figures(snapshot, *lane, shown, shown).read.mean();
  const std::string memory = viz::format_bytes(bytes) + (std::isnan(read) ? "" : ", of which a step reads " + viz::format_bytes(read));
  if (!hasBudget() || snapshot.n_prompt <= 0) {
    const StepRecord* record = m_workspace.stepRecord();
    const bool loses = record && slots + 0.05 < viz::tokens_seen(*record);  // by no number that could be set
    return qs((loses ? "no budget to set · " : "no limit · ") + when + memory);
  }
  const int n_slots = m_slots->value();
  const std::string tokens = viz::format_count(snapshot.n_prompt);
  const std::string share = n_slots < snapshot.n_prompt
                                ? viz::format_percent(static_cast<double>(n_slots) / snapshot.n_prompt) + " of " + tokens
                                : (n_slots == snapshot.n_prompt ? "as many as the prompt, " : "more than the prompt's ") + tokens;
  if (n_slots != lane->slots_asked) return qs(share);              // on its way: what it comes to is not known yet
  const bool other = std::abs(slots - lane->slots_asked) >= 0.05;  // a cache that was cut once has grown since
  const LaneWarning* const raised = warning_of(lane->warnings, LaneWarning::Kind::budget_raised);
  const std::string asked = raised != nullptr ? viz::format_mean(raised->asked) + " asked, raised · " : std::string();
  // All of the prompt is not all: who sees tokens go at 100 % is told why.
  const bool evicts = !other && n_slots >= snapshot.n_prompt && static_cast<int>(snapshot.tokens.size()) > lane->slots_asked;
  const std::string full = evicts ? "later tokens evict · " : std::string();
  const std::string now = other ? (earlier ? "" : "now ") + viz::format_mean(slots) + " slots, " : std::string();
  return qs(share + " · " + full + asked + when + now + memory);
}

/// What cannot work is off, and says why where one points; `why` empty: it works.
void ToolRow::sayWhyNot(const QString& why) {
  const std::pair<QWidget*, const char*> controls[] = {{m_generate, "Generate this many tokens after the prompt (F5, Ctrl+Enter)"},
                                                       {m_count, "Tokens after the prompt"},
                                                       {m_next, "Generate one token more (F6)"}};
  for (const auto& [control, help] : controls) {
    control->setEnabled(why.isEmpty());
    control->setToolTip(why.isEmpty() ? QString(help) : help + ("\n" + why));
  }
  m_policy->setToolTip(why.isEmpty() ? QString("Policy of the selected run") : "Policy of the selected run\n" + why);
}

void ToolRow::applyTheme() {
  const viz::Theme& theme = m_workspace.theme();
  const QColor colour = toColor(theme.secondary), text = toColor(theme.text), disabled = toColor(theme.disabled);
  m_open->setIcon(icon(Icon::open, colour, disabled));
  m_save->setIcon(icon(Icon::save, colour, disabled));
  m_stop->setIcon(icon(Icon::stop, text, disabled));
  m_next->setIcon(icon(Icon::next, text, disabled));
  m_add->setIcon(icon(Icon::add, text, disabled));
  m_compare->setIcon(icon(Icon::compare, colour, disabled));
  m_find->setIcon(icon(Icon::find, colour, disabled));
  m_generate->setIcon(icon(Icon::play, toColor(theme.on_accent), disabled));
}

void ToolRow::policyChosen(int index) {
  const int lane = m_workspace.selection().lane;
  const std::vector<LaneSpec>& lanes = m_controller.request().lanes;
  if (m_refreshing || lane < 1 || lane >= static_cast<int>(lanes.size())) return;
  m_controller.setLaneSpec(lane, qs(specLike(m_policy->itemData(index).toString().toStdString(), lanes[static_cast<std::size_t>(lane)])));
  refresh();  // where it was refused, the box says what holds
}

void ToolRow::addChosen(const QString& policy) {
  const std::vector<LaneSpec>& lanes = m_controller.request().lanes;
  const auto lane = static_cast<std::size_t>(std::max(0, m_workspace.selection().lane));
  Q_EMIT runWanted(qs(specLike(policy.toStdString(), lane < lanes.size() ? lanes[lane] : LaneSpec{})));
}

void ToolRow::budgetChosen(int nSlots, const std::optional<double>& share) {
  if (m_refreshing) return;
  m_refreshing = true;  // slider and box follow each other
  m_slider->setValue(nSlots);
  m_slots->setValue(nSlots);
  m_refreshing = false;
  sayFacts();
  m_wanted = nSlots;
  m_wanted_share = share;
  m_wanted_lane = m_workspace.selection().lane;
  m_wanted_of = m_controller.laneSpecs().value(m_wanted_lane);
  m_coalesce.start();
}

void ToolRow::sendWaitingBudget() {
  if (!m_coalesce.isActive()) return;
  m_coalesce.stop();
  sendBudget();
}

void ToolRow::sendBudget() {
  const QStringList specs = m_controller.laneSpecs();
  if (m_wanted_lane < 1 || m_wanted_lane >= specs.size()) return;
  if (specs[m_wanted_lane] != m_wanted_of) return refresh();  // the run was changed meanwhile, by an undo say: that holds
  try {
    const std::string key = m_wanted_share ? "ratio" : "slots";
    const std::string value = m_wanted_share ? QString::number(*m_wanted_share).toStdString() : std::to_string(m_wanted);
    m_controller.setLaneSpec(m_wanted_lane, QString::fromStdString(with_param(specs[m_wanted_lane].toStdString(), key, value)));
    if (m_controller.laneSpecs().value(m_wanted_lane) == specs[m_wanted_lane]) refresh();  // as before: no result will come and say so
  } catch (const Error& error) {
    Q_EMIT m_controller.refused(QString::fromUtf8(error.what()));
  }
}

}  // namespace kvscope
