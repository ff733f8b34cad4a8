// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/runs/what_if_panel.h"

#include <algorithm>

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QSignalBlocker>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/window/look/spoken.h"
#include "app/window/panels/runs/row_table.h"
#include "app/window/panels/runs/what_if_panel_model.h"
#include "app/window/session/hand/hand_edits.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "snapshot/figures.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"

namespace kvscope {

namespace {

constexpr int kLowPanel = 190;  // px at 100 %, without the header

constexpr const char* kPinHelp =
    "Pin the selected tokens: the policy keeps them from this step on, and one that is gone gets its slot back "
    "(P; from the text Esc, P)";
constexpr const char* kUnpinHelp = "The selected tokens are pinned: let the policy choose again (P; from the text Esc, P)";

/// "'moon' .31" of a lane's most likely next token at a step.
QString choice(const Snapshot& snapshot, const StepRecord& step, bool reference) {
  const int id = reference ? step.top1_reference : step.top1;
  QString out = qs(viz::quoted(viz::text_of_id(snapshot, id)));
  for (const TopToken& t : step.top_tokens)
    if (t.id == id) out += " " + qs(viz::format_probability_short(reference ? t.p_reference : t.p));
  return out;
}

}  // namespace

WhatIfPanel::WhatIfPanel(Workspace& workspace, HandEdits& edits, QWidget* parent)
    : QWidget(parent),
      m_workspace(workspace),
      m_edits(edits),
      m_model(new WhatIfModel(workspace, edits, this)),
      m_table(new QTableView(this)),
      m_scope(new QComboBox(this)),
      m_said(new QLabel(this)),
      m_answer(new QLabel(this)),
      m_empty(new QLabel(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(10, 6, 10, 6);
  column->setSpacing(4);
  auto* tools = new QHBoxLayout;
  tools->setSpacing(6);
  m_scope->setAccessibleName("heads that an edit changes");
  m_scope->addItems({"this head", "this layer", "all heads"});
  tools->addWidget(m_scope);
  constexpr const char* kNames[] = {"Pin", "Evict", "Merge into…", "Restore"};
  constexpr const char* kHelp[] = {kPinHelp, "Evict the selected tokens after this step (E; from the text Esc, E)",
                                   "Merge the selected tokens into another slot, which you select next (M; from the text Esc, M)",
                                   "Bring evicted or merged tokens back from the uncompressed history (R; from the text Esc, R)"};
  for (int k = 0; k < 4; ++k) {
    m_buttons[k] = button(kNames[k], kHelp[k]);
    connect(m_buttons[k], &QToolButton::clicked, this, [this, k] { m_edits.edit(static_cast<WhatIf::Kind>(k)); });
    tools->addWidget(m_buttons[k]);
  }
  tools->addStretch(1);
  m_remove = button("Remove edit", "Take the edit of this row back");
  m_drop = button("Drop fork", "Take all edits back: the run they made goes, its baseline stays");
  for (QHBoxLayout* line : {m_tools = tools, m_more_tools = new QHBoxLayout}) column->addLayout(line);
  m_more_tools->setSpacing(6);
  m_more_tools->addStretch(1);
  m_said->setWordWrap(true);
  m_said->setTextFormat(Qt::PlainText);
  m_said->setObjectName("secondary");
  setSpoken(*m_said);
  m_said->hide();
  column->addWidget(m_said);
  m_empty->setText(
      "No token was changed by hand. Select tokens in the text, the atlas or the inspector, then pin (P), evict (E), merge (M) or restore (R) them. "
      "While you edit text, letters type: press Esc to use P, E, M, R. Edits run as a copy; the original stays.");
  m_empty->setWordWrap(true);
  m_empty->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  m_empty->setObjectName("secondary");
  column->addWidget(m_empty, 1);

  m_table->setModel(m_model);
  makeRowTable(*m_table, m_workspace, "what was done by hand, with its effect");
  m_table->setSelectionMode(QAbstractItemView::SingleSelection);
  column->addWidget(m_table, 1);
  m_answer->setTextFormat(Qt::PlainText);
  m_answer->setWordWrap(true);
  column->addWidget(m_answer);

  connect(m_scope, &QComboBox::activated, this, [this](int i) { m_edits.setScope(static_cast<HandEdits::Scope>(i)); });
  connect(m_remove, &QToolButton::clicked, this, [this] { m_edits.remove(m_table->currentIndex().row()); });
  connect(m_drop, &QToolButton::clicked, this, [this] { m_edits.dropFork(); });
  connect(&edits, &HandEdits::changed, this, &WhatIfPanel::refresh);
  connect(&edits, &HandEdits::said, this, [this](const QString& words) {
    m_said->setText(words);
    m_said->setAccessibleName(words);
    speak(*m_said);
    m_said->setVisible(!words.isEmpty());
    refresh();
  });
  connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &WhatIfPanel::refresh);
  connect(m_model, &QAbstractItemModel::modelReset, this, &WhatIfPanel::refresh);
  refresh();
}

/// In a narrow panel what takes edits back stands in a second line.
void WhatIfPanel::fitTools() {
  int need = layout()->contentsMargins().left() + layout()->contentsMargins().right();
  for (const QWidget* tool : {static_cast<QWidget*>(m_scope), static_cast<QWidget*>(m_buttons[0]), static_cast<QWidget*>(m_buttons[1]),
                              static_cast<QWidget*>(m_buttons[2]), static_cast<QWidget*>(m_buttons[3]), static_cast<QWidget*>(m_remove),
                              static_cast<QWidget*>(m_drop)})
    need += tool->sizeHint().width() + m_tools->spacing();
  QHBoxLayout* const line = need > width() ? m_more_tools : m_tools;
  for (QToolButton* tool : {m_remove, m_drop}) {
    tool->setVisible(line == m_tools || m_model->rowCount() > 0);  // a line for nothing is taken from the words
    if (line->indexOf(tool) >= 0) continue;
    (line == m_tools ? m_more_tools : m_tools)->removeWidget(tool);
    line->addWidget(tool);
  }
}

QToolButton* WhatIfPanel::button(const QString& text, const QString& help) {
  auto* out = new QToolButton(this);
  out->setObjectName("headerText");
  out->setText(text);
  out->setToolTip(help);
  out->setAccessibleName(help);
  out->setFocusPolicy(Qt::StrongFocus);
  out->installEventFilter(this);
  return out;
}

/// Left and right go on to the window, where they are steps: a button would move the focus to whatever control lies beside it.
bool WhatIfPanel::eventFilter(QObject* watched, QEvent* event) {
  const auto* key = event->type() == QEvent::KeyPress ? static_cast<QKeyEvent*>(event) : nullptr;
  if (!key || (key->key() != Qt::Key_Left && key->key() != Qt::Key_Right) || !qobject_cast<QToolButton*>(watched))
    return QWidget::eventFilter(watched, event);
  event->ignore();
  return true;
}

void WhatIfPanel::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  refresh();
}

QString WhatIfPanel::facts() const {
  const int fork = m_model->fork();
  const Snapshot& s = m_workspace.snapshot();
  if (fork < 0) return "nothing was done by hand";
  const int base = fork < static_cast<int>(s.lanes.size()) ? s.lanes[static_cast<std::size_t>(fork)].fork_of : -1;
  return base < 0 ? QString("run %1").arg(qs(viz::lane_letter(fork)))
                  : QString("run %1, forked from run %2").arg(qs(viz::lane_letter(fork)), qs(viz::lane_letter(base)));
}

QString WhatIfPanel::answer() const {
  const int fork = m_model->fork();
  const Snapshot& s = m_workspace.snapshot();
  if (fork < 0 || fork >= static_cast<int>(s.lanes.size())) return {};
  const LaneSnapshot& lane = s.lanes[static_cast<std::size_t>(fork)];
  if (lane.steps.empty()) return {};
  if (lane.fork_of < 0) return WhatIfModel::kAlone;
  const LaneSnapshot& base = s.lanes[static_cast<std::size_t>(lane.fork_of)];
  const int step = std::min(m_workspace.step(), static_cast<int>(std::min(lane.steps.size(), base.steps.size())) - 1);
  if (step < 0) return {};
  const StepRecord &with = *lane.steps[static_cast<std::size_t>(step)], &without = *base.steps[static_cast<std::size_t>(step)];
  if (with.top1 < 0 || without.top1 < 0) return {};  // the text is being read
  return QString("Next token at step %1: full cache %2 · run %3 %4, KL %5 · run %6, by hand, %7, KL %8 nats")
      .arg(step)
      .arg(choice(s, without, true), qs(viz::lane_letter(lane.fork_of)), choice(s, without, false),
           qs(viz::format_number(compared_kl(s, base, step))), qs(viz::lane_letter(fork)), choice(s, with, false),
           qs(viz::format_number(compared_kl(s, lane, step))));
}

void WhatIfPanel::refresh() {
  const QSignalBlocker quiet(m_scope);
  m_scope->setCurrentIndex(static_cast<int>(m_edits.scope()));
  const QString obstacle = m_edits.obstacle();
  for (QToolButton* b : m_buttons) b->setEnabled(obstacle.isEmpty());
  const bool unpins = m_edits.unpins();
  m_buttons[0]->setText(unpins ? "Unpin" : "Pin");
  m_buttons[0]->setToolTip(unpins ? kUnpinHelp : kPinHelp);
  m_buttons[0]->setAccessibleName(m_buttons[0]->toolTip());
  fitTools();
  const bool any = m_model->rowCount() > 0;
  // Where not even one row has room the sentence is whole in its place; a bar to scroll by would stand over the only row.
  const int head = m_table->horizontalHeader()->sizeHint().height(), row_height = m_table->verticalHeader()->defaultSectionSize();
  const int room =
      height() - m_scope->geometry().bottom() - (m_said->isHidden() ? 0 : m_said->heightForWidth(width())) - 3 * layout()->spacing();
  m_table->setVisible(any && (m_said->isHidden() || room >= head + row_height));
  m_table->setHorizontalScrollBarPolicy(room < head + 2 * row_height ? Qt::ScrollBarAlwaysOff : Qt::ScrollBarAsNeeded);
  setFocusProxy(!m_table->isHidden() ? static_cast<QWidget*>(m_table) : m_scope);  // Tab ends at one that is hidden
  m_empty->setVisible(!any);
  // In a low panel the sentence of the edit made last says it; the rows of the edits need the room.
  m_answer->setVisible(any && (height() >= px(*this, kLowPanel) || m_said->isHidden()));
  m_drop->setEnabled(any && m_edits.changeable());
  const int row = m_table->currentIndex().row();
  m_remove->setEnabled(m_edits.changeable() && any && row >= 0 && row + 1 < m_model->rowCount());
  m_answer->setText(answer());
  if (any) {
    m_table->resizeColumnsToContents();
    const int free = m_table->viewport()->width() - m_table->horizontalHeader()->length();
    // The edit's words take what is left, or give way (they are whole in the tooltip): the measured columns stay in sight.
    m_table->setColumnWidth(0, std::max(px(*this, 110), m_table->columnWidth(0) + free));
    if (row < 0) m_table->scrollTo(m_model->index(m_model->rowCount() - 2, 0));  // the edit made last; below it are all together
  }
  Q_EMIT factsChanged();
}

}  // namespace kvscope
