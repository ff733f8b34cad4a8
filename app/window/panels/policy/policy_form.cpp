// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/policy/policy_form.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <QComboBox>
#include <QEvent>
#include <QGridLayout>
#include <QLabel>
#include <QSlider>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/window/panels/policy/budget_slider.h"
#include "app/window/panels/policy/policy_form_field.h"
#include "app/window/panels/policy/policy_items.h"
#include "app/window/session/run_estimate.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "core/error.h"
#include "policy/catalog.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"

namespace kvscope {

namespace {

/// Words of a lane for the selector: "D  KeepKV · 42 slots".
QString laneWords(int lane, const LaneSpec& spec) {
  QString words = qs(viz::lane_letter(lane)) + "  ";
  if (spec.name.empty()) return words + qs(spec.text);
  words += qs(find_policy(spec.name).title);
  for (const auto& [key, value] : spec.given) words += " · " + qs(key) + " " + qs(value);
  return words;
}

void guardWheel(QWidget& widget, QObject& guard) {
  widget.setFocusPolicy(Qt::StrongFocus);  // not by the wheel
  widget.installEventFilter(&guard);
}

QToolButton* smallButton(QWidget* parent, const QString& sign, const QString& what) {
  auto* button = new QToolButton(parent);
  button->setText(sign);
  button->setObjectName("square");
  button->setToolTip(what);
  button->setAccessibleName(what);
  return button;
}

}  // namespace

PolicyForm::PolicyForm(Workspace& workspace, SessionController& controller, QWidget* parent)
    : QWidget(parent), m_workspace(workspace), m_controller(controller) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(6);
  m_grid = new QGridLayout;
  m_grid->setHorizontalSpacing(8);
  m_grid->setVerticalSpacing(6);
  m_grid->setColumnStretch(1, 1);
  m_grid->setColumnMinimumWidth(0, 56);
  column->addLayout(m_grid);

  m_lanes = new QComboBox(this);
  m_lanes->setAccessibleName("run");
  ParamEditor::giveWay(*m_lanes);
  m_add = smallButton(this, "+", "add a run with this budget");
  m_duplicate = smallButton(this, "⧉", "duplicate this run");
  m_remove = smallButton(this, "−", "remove this run");
  auto* lane_row = new QHBoxLayout;
  lane_row->setSpacing(4);
  lane_row->addWidget(m_lanes, 1);
  for (QToolButton* button : {m_add, m_duplicate, m_remove}) lane_row->addWidget(button);
  m_grid->addLayout(lane_row, 0, 0, 1, 3);

  m_policies = new QComboBox(this);
  m_policies->setObjectName("policies");
  m_policies->setAccessibleName("policy of the run");
  addPolicies(*m_policies, /*with_reference=*/false);
  ParamEditor::giveWay(*m_policies);
  m_grid->addWidget(new QLabel("policy", this), 1, 0);
  m_grid->addWidget(m_policies, 1, 1, 1, 2);

  m_budget = new BudgetSlider(workspace, this);
  m_budget->setAccessibleName("budget");
  m_budget->setToolTip("Budget of this run, in slots per head, on the linear scale of the slider above the panels");
  m_unit = new QComboBox(this);
  m_unit->setAccessibleName("unit of the budget");
  ParamEditor::giveWay(*m_unit);
  m_unit->addItem("slots", "slots");
  m_unit->addItem("% of prompt", "ratio");
  m_unit->addItem("% of bytes", "bytes");
  m_unit->setToolTip(
      "slots: a fixed number per head\n% of prompt: grows with the prompt\n% of bytes: of its keys and values in full precision, for what "
      "stores them in less");
  m_grid->addWidget(new QLabel("budget", this), 2, 0);
  m_grid->addWidget(m_unit, 2, 1, 1, 2);
  auto* budget = new QVBoxLayout;  // as wide as the form: a slider of some pixels hits nothing
  budget->setSpacing(4);
  budget->addWidget(m_budget);
  m_grid->addLayout(budget, 3, 0, 1, 3);
  m_budget_words = new QLabel(this);
  m_budget_words->setObjectName("secondary");
  m_budget_words->setWordWrap(true);
  budget->addWidget(m_budget_words);

  m_message = new QLabel(this);
  m_message->setWordWrap(true);
  m_message->setTextFormat(Qt::PlainText);
  m_message->hide();
  m_paper = new QLabel(this);
  m_paper->setObjectName("secondary");
  m_paper->setWordWrap(true);
  m_paper->setTextInteractionFlags(Qt::TextSelectableByMouse);
  column->addWidget(m_message);
  column->addWidget(m_paper);
  column->addStretch(1);

  listen();
  m_message->setStyleSheet(QString("color: %1;").arg(toColor(workspace.theme().changed).name()));
  for (QWidget* widget : {static_cast<QWidget*>(m_lanes), static_cast<QWidget*>(m_policies), static_cast<QWidget*>(m_budget),
                          static_cast<QWidget*>(m_unit)}) {
    guardWheel(*widget, *this);
  }
  refresh();
}

void PolicyForm::listen() {
  connect(m_lanes, &QComboBox::activated, this, [this](int index) {
    m_wanted_lane = -1;
    viz::Selection selection = m_workspace.selection();
    selection.lane = index;
    m_workspace.setSelection(selection);
  });
  connect(m_add, &QToolButton::clicked, this, &PolicyForm::addLane);
  connect(m_duplicate, &QToolButton::clicked, this, &PolicyForm::duplicateLane);
  connect(m_remove, &QToolButton::clicked, this, &PolicyForm::removeLane);
  connect(m_policies, &QComboBox::activated, this, [this](int index) { setPolicy(m_policies->itemData(index).toString()); });
  connect(m_budget, &QSlider::valueChanged, this, [this](int value) {
    if (!m_refreshing) setSlots(value);
  });
  connect(m_budget, &QSlider::sliderPressed, &m_controller, &SessionController::beginDrag);
  connect(m_budget, &QSlider::sliderReleased, &m_controller, &SessionController::endDrag);
  connect(m_unit, &QComboBox::activated, this, [this] { setSlots(slotsOfSpec()); });
  connect(&m_controller, &SessionController::requestChanged, this, [this] { refresh(); });
  connect(&m_workspace, &Workspace::selectionChanged, this, [this] { refresh(); });
  connect(&m_workspace, &Workspace::snapshotChanged, this, [this] {
    if (m_wanted_lane >= 0 && m_wanted_lane < static_cast<int>(m_workspace.snapshot().lanes.size())) {
      viz::Selection selection = m_workspace.selection();
      selection.lane = std::exchange(m_wanted_lane, -1);
      m_workspace.setSelection(selection);
    }
    refresh();
  });
  connect(&m_workspace, &Workspace::themeChanged, this,
          [this] { m_message->setStyleSheet(QString("color: %1;").arg(toColor(m_workspace.theme().changed).name())); });
}

/// The wheel scrolls the panel; it changes a field only where the user has gone into it.
bool PolicyForm::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Wheel && !static_cast<QWidget*>(watched)->hasFocus()) {
    event->ignore();
    return true;
  }
  return QWidget::eventFilter(watched, event);
}

const LaneSpec& PolicyForm::spec() const {
  static const LaneSpec none;
  const auto& lanes = m_controller.request().lanes;
  return m_lane >= 0 && m_lane < static_cast<int>(lanes.size()) ? lanes[static_cast<std::size_t>(m_lane)] : none;
}

ParamEditor* PolicyForm::field(const std::string& key) const {
  const auto it = std::find_if(m_fields.begin(), m_fields.end(), [&](const ParamEditor* f) { return f->info().key == key; });
  return it == m_fields.end() ? nullptr : *it;
}

QString PolicyForm::budgetWords() const { return m_budget_words->text(); }
QString PolicyForm::message() const {
  QStringList refused;
  for (const ParamEditor* editor : m_fields)
    if (!editor->refusal().isEmpty()) refused << editor->refusal();
  if (!m_message->isHidden()) refused << m_message->text();
  return refused.join('\n');
}

int PolicyForm::nChanged() const {
  return static_cast<int>(std::count_if(m_fields.begin(), m_fields.end(), [](const ParamEditor* f) { return f->changed(); }));
}

// ---- reading back

void PolicyForm::refresh() {
  if (m_refreshing) return;
  m_refreshing = true;
  const int n_lanes = static_cast<int>(m_controller.request().lanes.size());
  const int before = m_lane;
  m_lane = std::clamp(m_wanted_lane >= 0 ? m_wanted_lane : m_workspace.selection().lane, 0, std::max(0, n_lanes - 1));
  if (m_lane != before)
    for (ParamEditor* editor : m_fields) editor->endTyping();
  refreshLanes();
  const LaneSpec& parsed = spec();  // without a name: a lane of a policy that this build does not know, nothing to edit
  const bool editable = m_lane > 0 && !parsed.name.empty();
  const std::vector<ParamInfo> taken = parsed.name.empty() ? std::vector<ParamInfo>{} : params_of(parsed);
  // the fields of all bases are there, those of the chosen one can be edited; where keys choose parts, only theirs are there
  const bool by_choice = !parsed.name.empty() && find_policy(parsed.name).keys_follow_choices;
  rebuildFields(parsed.name, parsed.name.empty() || by_choice ? taken : find_policy(parsed.name).params);
  const std::vector<LaneSnapshot>& runs = m_workspace.snapshot().lanes;
  const bool there = m_lane < static_cast<int>(runs.size()) && runs[static_cast<std::size_t>(m_lane)].spec == parsed.text;
  const auto in_force = [&](const std::string& key) {
    if (!there) return std::string();
    const std::string* value = runs[static_cast<std::size_t>(m_lane)].param(key);
    return value == nullptr ? std::string() : *value;
  };
  for (ParamEditor* editor : m_fields) {
    editor->show(given_value(parsed, editor->info().key), in_force(editor->info().key));
    const bool takes = std::any_of(taken.begin(), taken.end(), [&](const ParamInfo& p) { return p.key == editor->info().key; });
    editor->widget()->setEnabled(editable && takes);
  }
  m_policies->setCurrentIndex(m_policies->findData(qs(parsed.name)));
  for (QWidget* widget : {static_cast<QWidget*>(m_policies), static_cast<QWidget*>(m_budget), static_cast<QWidget*>(m_unit)})
    widget->setEnabled(editable);
  m_duplicate->setEnabled(editable);
  m_remove->setEnabled(m_lane > 0);
  m_unit->setCurrentIndex(!given_value(parsed, "bytes").empty() ? 2 : given_value(parsed, "ratio").empty() ? 0 : 1);
  refreshBudget();
  m_refreshing = false;
  Q_EMIT changed();
}

void PolicyForm::refreshLanes() {
  QStringList words;
  const auto& lanes = m_controller.request().lanes;
  for (std::size_t i = 0; i < lanes.size(); ++i) words << laneWords(static_cast<int>(i), lanes[i]);
  QStringList shown;
  for (int i = 0; i < m_lanes->count(); ++i) shown << m_lanes->itemText(i);
  if (shown != words) {
    m_lanes->clear();
    m_lanes->addItems(words);
  }
  m_lanes->setCurrentIndex(m_lane);
  m_lanes->setToolTip(words.value(m_lane));
}

/// A field that stays is not made anew: it may be the one that the user is in.
void PolicyForm::rebuildFields(const std::string& policy, const std::vector<ParamInfo>& wanted) {
  const auto same = [](const ParamEditor* editor, const ParamInfo& param) { return editor && editor->info() == param; };
  if (policy == m_policy && std::equal(m_fields.begin(), m_fields.end(), wanted.begin(), wanted.end(), same)) return;
  std::vector<ParamEditor*> before = std::exchange(m_fields, {});
  QWidget* last = m_unit;
  for (const ParamInfo& param : wanted) {
    const int row = 4 + ParamEditor::kRows * static_cast<int>(m_fields.size());
    const auto known =
        std::find_if(before.begin(), before.end(), [&](const ParamEditor* e) { return policy == m_policy && same(e, param); });
    ParamEditor* editor = nullptr;
    if (known != before.end()) {
      editor = std::exchange(*known, nullptr);
      editor->place(*m_grid, row);
    } else {
      editor = new ParamEditor(param, this, *m_grid, row);
      connect(editor, &ParamEditor::edited, this, [this, key = param.key](const QString& value) {
        if (!m_refreshing) send(key, value.toStdString());
      });
      connect(editor, &ParamEditor::typed, this, [this, key = param.key](const QString& value) { check(key, value.toStdString()); });
      guardWheel(*editor->widget(), *this);
    }
    setTabOrder(last, editor->widget());
    setTabOrder(editor->widget(), editor->resetButton());
    last = editor->resetButton();
    m_fields.push_back(editor);
  }
  for (ParamEditor* editor : before)
    if (editor) editor->takeAway();
  m_policy = policy;
  m_paper->setText(policy.empty() ? QString()
                                  : qs(find_policy(policy).paper.empty() ? find_policy(policy).idea : find_policy(policy).paper));
}

void PolicyForm::refreshBudget() {
  const Snapshot& snapshot = m_workspace.snapshot();
  const int n_slots = slotsOfSpec();
  m_budget->setRange(1, std::max({1, snapshot.n_prompt, n_slots}));
  m_budget->setPageStep(std::max(1, m_budget->maximum() / 20));
  m_budget->setValue(n_slots < 0 ? m_budget->maximum() : n_slots);
  if (n_slots < 0) {
    m_budget_words->setText(m_lane == 0 ? "the reference keeps everything" : "no budget given");
    return;
  }
  const bool of_bytes = m_unit->currentData().toString() == "bytes";
  QString words = counted(n_slots, "slot", "slots");
  if (of_bytes) words = QString("the bytes of %1 in full precision").arg(words);
  if (snapshot.n_prompt > 0) {
    words += QString(" · %1 of %2")
                 .arg(qs(viz::format_percent(static_cast<double>(n_slots) / snapshot.n_prompt)), qs(viz::format_count(snapshot.n_prompt)));
  }
  for (const LaneSnapshot& lane : snapshot.lanes) {
    if (!(lane.slots > 0 && lane.kv_bytes > 0)) continue;  // n/a, too
    words += QString(" · %1").arg(qs(viz::format_bytes(lane.kv_bytes / lane.slots * n_slots)));
    break;
  }
  if (m_lane >= 0 && m_lane < static_cast<int>(snapshot.lanes.size())) {
    const LaneSnapshot& own = snapshot.lanes[static_cast<std::size_t>(m_lane)];
    const LaneWarning* const raised = warning_of(own.warnings, LaneWarning::Kind::budget_raised);
    if (raised != nullptr && own.spec == spec().text) words += " asked, raised to " + qs(viz::format_mean(raised->got));
  }
  m_budget_words->setText(words);
}

int PolicyForm::slotsOfSpec() const { return slotsAsked(spec().text, m_workspace.snapshot().n_prompt); }

// ---- changing

std::optional<LaneSpec> PolicyForm::check(const std::string& key, const std::string& value) {
  ParamEditor* const editor = field(key);
  const auto say = [&](const QString& why) {
    if (editor) return editor->refuse(why);
    m_message->setText(why);
    m_message->setVisible(!why.isEmpty());
  };
  try {
    LaneSpec wanted = with_param(spec(), key, value);
    check_lane_spec(wanted);
    say({});
    return wanted;
  } catch (const Error& error) {
    say(qs(editor ? reason_for(key, error.what()) : error.what()));  // its field says of which run and key it speaks
    return std::nullopt;
  }
}

void PolicyForm::send(const std::string& key, const std::string& value) {
  if (const std::optional<LaneSpec> wanted = check(key, value)) return m_controller.setLaneSpec(m_lane, *wanted);
  if (const ParamEditor* editor = field(key); editor && qobject_cast<QComboBox*>(editor->widget())) refresh();  // back to what holds
}

void PolicyForm::setSlots(int slots_per_head) {
  if (m_lane < 1 || slots_per_head < 1) return;
  const std::string unit = m_unit->currentData().toString().toStdString();
  if (unit != "slots" && m_workspace.snapshot().n_prompt > 0) {
    // Four digits are a little less or more than these slots: where what is over whole slots is cut off, half a slot more is as many.
    const double over = unit == "ratio" && given_value(spec(), "round") == "down" ? 0.5 : 0;
    const double share = (slots_per_head + over) / m_workspace.snapshot().n_prompt;
    send(unit, QString::number(std::min(1.0, share), 'f', 4).toStdString());
  } else {
    send("slots", std::to_string(slots_per_head));
  }
}

void PolicyForm::setPolicy(const QString& name) {
  if (m_lane < 1) return;
  m_message->hide();
  m_controller.setLaneSpec(m_lane, qs(specLike(name.toStdString(), spec())));
  refresh();  // where it was refused, the box says what holds
}

void PolicyForm::addLane() {
  int next = m_lane == 0 ? -1 : m_policies->currentIndex();  // the first policy, or the next one, of the catalog at the same budget
  const auto* items = m_policies->model();
  const auto suits = [&](int row) {
    return items->flags(items->index(row, 0)).testFlag(Qt::ItemIsEnabled) &&
           find_policy(m_policies->itemData(row).toString().toStdString()).takes_budget;
  };
  do next = (next + 1) % std::max(1, m_policies->count());
  while (!suits(next));
  const std::string wanted = specLike(m_policies->itemData(next).toString().toStdString(), spec());
  m_wanted_lane = static_cast<int>(m_controller.request().lanes.size());
  m_controller.addLane(qs(wanted));
}

void PolicyForm::duplicateLane() {
  if (m_lane < 1) return;
  m_wanted_lane = static_cast<int>(m_controller.request().lanes.size());
  m_controller.addLane(LaneSpec(spec()));  // a copy: the list grows
}

void PolicyForm::removeLane() {
  if (m_lane < 1) return;
  const int lane = m_lane;
  m_wanted_lane = -1;
  viz::Selection selection = m_workspace.selection();
  selection.lane = lane - 1;
  m_workspace.setSelection(selection);
  m_controller.removeLane(lane);
}

}  // namespace kvscope
