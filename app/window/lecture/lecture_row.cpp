// SPDX-License-Identifier: Apache-2.0
#include "app/window/lecture/lecture_row.h"

#include <algorithm>
#include <cmath>

#include <QAbstractItemView>
#include <QAction>
#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QPainter>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <QStyle>
#include <QStyleOptionComboBox>
#include <QToolButton>

#include "app/window/look/restyle.h"
#include "app/window/panels/policy/budget_slider.h"
#include "app/window/rows/playback.h"
#include "app/window/rows/rows.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/draw.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"
#include "viz/reduce/lecture.h"

namespace kvscope {

namespace {

constexpr double kMostName = 170;  // px at 100 % of the name of a run

}  // namespace

/// A list of policies that shows the name of the run which has the chosen one: captions and comparisons call it so, too.
class RunBox : public QComboBox {
 public:
  using QComboBox::QComboBox;
  void setRunName(const QString& name) {
    m_name = name;
    setAccessibleDescription(shown());
    update();
  }
  /// Paper has no list to open: the name alone.
  void setOnPaper(bool on) {
    m_on_paper = on;
    update();
  }
  /// What was changed by hand is still of its policy.
  QString shown() const { return !currentText().isEmpty() && m_name.startsWith(currentText()) ? currentText() : m_name; }

 protected:
  void initStyleOption(QStyleOptionComboBox* option) const override {
    QComboBox::initStyleOption(option);
    option->currentText = fontMetrics().elidedText(shown(), Qt::ElideRight, px(*this, kMostName));
  }
  void paintEvent(QPaintEvent* event) override {
    if (!m_on_paper) return QComboBox::paintEvent(event);
    QStyleOptionComboBox option;
    initStyleOption(&option);
    QPainter painter(this);
    painter.setPen(palette().color(QPalette::Active, QPalette::Text));
    painter.drawText(rect(), Qt::AlignLeft | Qt::AlignVCenter, option.currentText);
  }

 private:
  QString m_name;
  bool m_on_paper = false;
};

LectureRow::LectureRow(Workspace& workspace, Playback& playback, ToolRow& tools, QWidget* parent)
    : QFrame(parent),
      m_workspace(workspace),
      m_playback(playback),
      m_tools(tools),
      m_slots(new QLabel(this)),
      m_policy(new RunBox(this)),
      m_slider(new BudgetSlider(workspace, this)),
      m_step(new QPushButton(this)) {
  setObjectName("lectureRow");
  m_slots->setObjectName("lectureFacts");
  m_step->setObjectName("chipActive");
  m_policy->setAccessibleName("Policy of the selected run");
  m_policy->setToolTip("Policy of the selected run");
  m_policy->setModel(tools.policyBox()->model());
  m_policy->setMaxVisibleItems(14);
  m_slider->setAccessibleName("Budget");
  m_slider->setToolTip("Budget of the selected run, in slots per head");
  // In the order in which they stand: Tab goes from one to the next.
  m_back = button("One step back (Left)");
  m_play = button("Play the steps (F8)");
  m_forward = button("One step forward (Right)");
  m_ghosts = button("Hatch what leaves next (G)");
  m_ghosts->setCheckable(true);
  m_menu = button("All menus (F10)");
  m_leave = button("Leave the lecture (Esc): your own text, runs and place come back");
  m_menu->setMenu(new QMenu(m_menu));
  m_menu->setPopupMode(QToolButton::InstantPopup);

  auto* row = new QHBoxLayout(this);
  for (QWidget* w : {static_cast<QWidget*>(m_policy), static_cast<QWidget*>(m_slider), static_cast<QWidget*>(m_slots)}) row->addWidget(w);
  row->addStretch(1);
  for (QWidget* w :
       {static_cast<QWidget*>(m_step), static_cast<QWidget*>(m_back), static_cast<QWidget*>(m_play), static_cast<QWidget*>(m_forward),
        static_cast<QWidget*>(m_ghosts), static_cast<QWidget*>(m_menu), static_cast<QWidget*>(m_leave)})
    row->addWidget(w);

  follow(tools);
  connect(m_back, &QToolButton::clicked, &playback, [&playback] { playback.stepBy(-1); });
  connect(m_forward, &QToolButton::clicked, &playback, [&playback] { playback.stepBy(1); });
  connect(m_play, &QToolButton::clicked, &playback, &Playback::toggle);
  connect(m_step, &QPushButton::clicked, &playback, [&playback] { playback.goTo(-1); });
  connect(m_leave, &QToolButton::clicked, this, &LectureRow::leaveRequested);
  connect(m_ghosts, &QToolButton::clicked, this, &LectureRow::ghostsToggled);
  connect(&playback, &Playback::playingChanged, this, [this] { applyTheme(); });
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged, &Workspace::teachingChanged})
    connect(&workspace, signal, this, [this] { refresh(); });
  connect(&workspace, &Workspace::themeChanged, this, [this] { applyTheme(); });
  applyType();
  refresh();
}

void LectureRow::setOnPaper(bool on) {
  m_policy->setOnPaper(on);
  for (QWidget* w :
       {static_cast<QWidget*>(m_slider), static_cast<QWidget*>(m_back), static_cast<QWidget*>(m_play), static_cast<QWidget*>(m_forward),
        static_cast<QWidget*>(m_ghosts), static_cast<QWidget*>(m_menu), static_cast<QWidget*>(m_leave)})
    w->setVisible(!on);
}

void LectureRow::setMarked(bool on) {
  m_slots->setProperty("marked", on);
  restyle(*m_slots);
}

void LectureRow::takeMenus(const QMenuBar& menus) { m_menu->menu()->addActions(menus.actions()); }

QToolButton* LectureRow::button(const QString& help) {
  auto* b = new QToolButton(this);
  b->setObjectName("lectureButton");
  b->setToolTip(help);
  b->setAccessibleName(help);
  b->setFocusPolicy(Qt::StrongFocus);
  return b;
}

/// Slider and list are the toolbar's: the same values, limits and undo steps, whichever of both is moved.
void LectureRow::follow(ToolRow& tools) {
  QSlider* slider = tools.budgetSlider();
  QComboBox* policy = tools.policyBox();
  const auto take = [this, slider] {
    const QSignalBlocker quiet(m_slider);
    m_slider->setRange(slider->minimum(), slider->maximum());
    m_slider->setPageStep(std::max(1, slider->maximum() / 10));
    m_slider->setValue(slider->value());
    m_slider->setEnabled(slider->isEnabled());
    refresh();
  };
  connect(slider, &QSlider::valueChanged, this, take);
  connect(slider, &QSlider::rangeChanged, this, take);
  connect(m_slider, &QSlider::valueChanged, slider, &QSlider::setValue);
  connect(m_slider, &QSlider::sliderPressed, slider, [slider] { slider->setSliderDown(true); });
  connect(m_slider, &QSlider::sliderReleased, slider, [slider] { slider->setSliderDown(false); });
  connect(m_policy, &QComboBox::activated, policy, [policy](int index) {
    policy->setCurrentIndex(index);
    Q_EMIT policy->activated(index);
  });
  take();
}

void LectureRow::changeEvent(QEvent* event) {
  QFrame::changeEvent(event);
  if (event->type() == QEvent::FontChange && !m_applying) applyType();
}

void LectureRow::resizeEvent(QResizeEvent* event) {
  QFrame::resizeEvent(event);
  fitSlots();
}

/// As wide as the name that is chosen, and its list as the longest one: both cut what is longer without a sign.
void LectureRow::fitPolicy() {
  m_policy->ensurePolished();
  const QFontMetrics metrics = m_policy->fontMetrics();
  int longest = px(*this, 80);
  for (int i = 0; i < m_policy->count(); ++i) longest = std::max(longest, metrics.horizontalAdvance(m_policy->itemText(i)));
  m_policy->view()->setMinimumWidth(longest + px(*this, 40));
  const int name = std::min(metrics.horizontalAdvance(m_policy->shown()), px(*this, kMostName));
  m_policy->setFixedWidth(name + px(*this, 46));
}

/// The longest words that leave room for the rest of the row.
void LectureRow::fitSlots() {
  m_slots->ensurePolished();
  const QFontMetrics metrics = m_slots->fontMetrics();
  const int least = m_slot_words.isEmpty() ? 0 : metrics.horizontalAdvance(m_slot_words.back());
  m_slots->setMinimumWidth(least);
  layout()->invalidate();
  const int room = width() - layout()->minimumSize().width() + least;
  auto it = std::ranges::find_if(m_slot_words, [&](const QString& words) { return metrics.horizontalAdvance(words) <= room; });
  // The rest of the row may take more than its least: what is too long after all gives way, and is not cut.
  for (; m_slot_words.end() - it > 1; ++it) {
    m_slots->setText(*it);
    layout()->activate();
    if (m_slots->width() >= metrics.horizontalAdvance(*it)) return;
  }
  m_slots->setText(m_slot_words.value(m_slot_words.size() - 1));
}

void LectureRow::applyType() {
  m_applying = true;
  setFixedHeight(px(*this, 40));
  auto* row = static_cast<QHBoxLayout*>(layout());
  row->setContentsMargins(px(*this, 17), 0, px(*this, 15), 0);
  row->setSpacing(px(*this, 7));
  m_slider->setFixedWidth(px(*this, 96));
  for (QToolButton* b : {m_ghosts, m_back, m_play, m_forward, m_menu, m_leave}) b->setIconSize(QSize(px(*this, 15), px(*this, 15)));
  m_applying = false;
  QMetaObject::invokeMethod(this, &LectureRow::refresh, Qt::QueuedConnection);  // the list has its new font after this one
  applyTheme();
}

void LectureRow::applyTheme() {
  const viz::Theme& theme = m_workspace.theme();
  const QColor ink = toColor(theme.text), faint = toColor(theme.disabled);
  m_back->setIcon(icon(Icon::left, ink, faint));
  m_play->setIcon(icon(m_playback.playing() ? Icon::pause : Icon::playLine, ink, faint));
  m_forward->setIcon(icon(Icon::right, ink, faint));
  m_ghosts->setIcon(icon(Icon::ghosts, ink, faint));
  m_menu->setIcon(icon(Icon::menu, ink, faint));
  m_leave->setIcon(icon(Icon::close, ink, faint));
  const QString play = m_playback.playing() ? "Pause (F8)" : "Play the steps (F8)";  // Space is the next scene here
  m_play->setToolTip(play);
  m_play->setAccessibleName(play);
}

/// One figure for one run and step, which captions and the comparison have, too: what was asked for, and what is held where that is
/// something else. While the slider moves, only what it asks for.
void LectureRow::wordSlots() {
  const Snapshot& snapshot = m_workspace.snapshot();
  const LaneSnapshot* lane = m_workspace.lane();
  const StepRecord* step = m_workspace.stepRecord();
  QString help;
  m_slot_words.clear();
  const viz::HeldSlots held = step ? viz::held_slots(*step) : viz::HeldSlots{};
  const QString holds = qs(viz::format_mean(held.mean));
  QString bytes = step ? " · " + qs(viz::format_bytes(viz::lane_metrics(snapshot, *lane, m_workspace.step(), 0).bytes)) : QString();
  if (lane && lane->slots_asked >= 0) {
    const int asked = std::min(m_slider->value(), snapshot.n_prompt);  // of a text that became shorter, the newest answer
    const QString share = qs(viz::format_percent(static_cast<double>(asked) / std::max(1, snapshot.n_prompt)));
    const bool settled = !m_slider->isSliderDown() && m_slider->value() == lane->slots_asked && step;
    help = QString("%1 of the tokens of the text; those of the answer need slots, too").arg(share);
    if (settled) help += QString("\nheld after step %1: %2 on average over the heads").arg(m_workspace.step()).arg(holds);
    QString raise;
    int wanted = asked;
    const LaneWarning* const raised = warning_of(lane->warnings, LaneWarning::Kind::budget_raised);
    if (raised != nullptr && settled) {
      // What a policy protects may be a share of what was asked for: less can still be had then.
      wanted = static_cast<int>(std::lround(raised->asked));
      bytes.clear();  // this is of more interest
      raise = wanted <= m_slider->minimum() ? QString(", the least") : QString(", asked %1").arg(wanted);
      help += "\n" + qs(text_of(*raised));
    }
    const QString range = QString("%1–%2").arg(qs(viz::format_count(held.fewest)), qs(viz::format_count(held.most)));
    const int answered = step ? viz::tokens_seen(*step) - snapshot.n_prompt : 0;
    if (settled && answered > 0 && std::abs(held.mean - asked - answered) < 0.05) {  // what was compressed once has grown since
      const QString sum = QString("%1 + %2 of the answer").arg(qs(viz::format_count(asked))).arg(answered);
      const QString short_sum = QString("%1 + %2").arg(qs(viz::format_count(asked))).arg(answered), is = " = " + holds;
      m_slot_words = held.alike() ? QStringList{sum + is + " slots" + bytes, sum + is + " slots", short_sum + is + " slots", short_sum + is}
                                  : QStringList{sum + ": " + range + ", mean " + holds + bytes, sum + ": " + range + ", mean " + holds,
                                                short_sum + ": " + range, range};
    } else if (settled && !(std::abs(held.mean - asked) < 0.05 && held.alike())) {
      const QString words = QString("asked %1, holds ").arg(qs(viz::format_count(wanted)));
      m_slot_words = held.alike() ? QStringList{words + holds + " slots" + bytes, words + holds + " slots", words + holds}
                                  : QStringList{words + range + ", mean " + holds + bytes, words + range + ", mean " + holds, words + range,
                                                words + holds};
    } else {
      const QString words = QString("%1 of %2 slots").arg(qs(viz::format_count(asked)), qs(viz::format_count(snapshot.n_prompt)));
      m_slot_words = {words + " · " + share + " of the text" + raise + bytes,
                      words + " · " + share + raise + bytes,
                      raise.isEmpty() ? words + bytes : words + " · " + share + raise,
                      words + raise,
                      words,
                      counted(asked, "slot", "slots")};
    }
  } else if (lane) {
    m_slot_words = {"no limit"};
    if (step && held.alike() && held.most == viz::tokens_seen(*step)) {
      const QString all = QString("no limit · all %1 tokens").arg(holds);
      m_slot_words = {all + bytes, all, "no limit"};
    } else if (step && held.mean + 0.05 < viz::tokens_seen(*step)) {  // tokens go, by no number that could be set
      const QString words = "holds " + (held.alike() ? holds + " slots" : holds + " slots on average");
      m_slot_words = {words + " · no budget to set" + bytes, words + " · no budget to set", words};
    }
  }
  m_slots->setToolTip(help);
}

void LectureRow::refresh() {
  m_policy->setEnabled(m_tools.policyBox()->isEnabled());
  m_policy->setCurrentIndex(m_tools.policyBox()->currentIndex());
  const LaneSnapshot* lane = m_workspace.lane();
  m_policy->setRunName(lane ? qs(lane->title) : m_policy->currentText());
  fitPolicy();
  m_slider->setEnabled(m_tools.budgetSlider()->isEnabled());
  m_ghosts->setChecked(m_workspace.ghostSteps() > 0);
  wordSlots();
  const QString clock = m_workspace.stepRecord() ? QString("step %1 of %2")
                                                       .arg(qs(viz::format_count(m_workspace.step())),
                                                            qs(viz::format_count(static_cast<int>(m_workspace.lane()->steps.size()) - 1)))
                                                 : QString();
  m_step->setVisible(!clock.isEmpty());
  m_step->setText(clock);
  m_step->setAccessibleName("step: " + clock);
  m_step->setToolTip(m_workspace.atLatestStep() ? "The latest step is shown" : "An older step is shown: click for the latest (End)");
  fitSlots();  // when all else has its words
}

}  // namespace kvscope
