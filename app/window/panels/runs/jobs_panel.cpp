// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/runs/jobs_panel.h"

#include <cmath>

#include <QAction>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QScrollBar>
#include <QTableWidget>
#include <QTime>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/window/session/run_queue.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel.h"
#include "app/window/shell/panel_paint.h"
#include "snapshot/held_bytes.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {

constexpr int kLogLines = 2000;

QString stateWords(const QueuedRun& run) {
  switch (run.state) {
    case QueuedRun::State::waiting:
      return "waiting";
    case QueuedRun::State::running:
      return "running, " + qs(viz::format_percent(run.progress));
    case QueuedRun::State::done:
      return "done";
    case QueuedRun::State::failed:
      return "refused";
    case QueuedRun::State::cancelled:
      return "cancelled";
  }
  return {};
}

QToolButton* button(const QString& text, const QString& help, QWidget* parent) {
  auto* b = new QToolButton(parent);
  b->setObjectName("flat");
  b->setText(text);
  b->setToolTip(help);
  b->setAccessibleName(help);
  b->setFocusPolicy(Qt::StrongFocus);
  return b;
}

/// A run of the queue, or those on screen.
bool computing(const Workspace& workspace) { return workspace.snapshot().phase == RunPhase::computing; }

}  // namespace

JobsPanel::JobsPanel(Workspace& workspace, SessionController& controller, RunQueue& queue, QWidget* parent)
    : QWidget(parent),
      m_workspace(workspace),
      m_controller(controller),
      m_queue(queue),
      m_table(new QTableWidget(0, 5, this)),
      m_memory(new ElidedLabel(this)),
      m_log(new QPlainTextEdit(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(10, 6, 10, 8);
  column->setSpacing(6);
  auto* tools = new QHBoxLayout;
  m_cancel = button("Cancel", "Cancel the chosen runs (Delete)", this);
  m_cancel_all = button("Cancel all", "Cancel everything that runs or waits", this);
  m_clear = button("Clear ended", "Forget the runs that have ended", this);
  for (QToolButton* b : {m_cancel, m_cancel_all, m_clear}) tools->addWidget(b);
  tools->addWidget(m_memory, 1);
  column->addLayout(tools);
  m_memory->setObjectName("secondary");
  m_memory->setFont(uiFont(12));
  m_table->setHorizontalHeaderLabels({"run", "budget", "for", "state", "time"});
  m_table->verticalHeader()->hide();
  m_table->verticalHeader()->setDefaultSectionSize(22);
  m_table->horizontalHeader()->setHighlightSections(false);
  m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  m_table->horizontalHeader()->setSectionResizeMode(3, QHeaderView::Stretch);
  m_table->setColumnWidth(0, 130);
  m_table->setColumnWidth(1, 120);
  m_table->setColumnWidth(2, 70);
  m_table->setColumnWidth(4, 80);
  m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
  m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  m_table->setShowGrid(false);
  m_table->setTabKeyNavigation(false);
  m_table->setFrameShape(QFrame::NoFrame);
  m_table->setFont(uiFont(12));
  m_table->setAccessibleName("Jobs");
  keepRowsInSight();
  column->addWidget(m_table, 3);
  m_log->setReadOnly(true);
  m_log->setMaximumBlockCount(kLogLines);
  m_log->setFont(monoFont(11));
  m_log->setAccessibleName("Log");
  m_log->setPlaceholderText("Warnings, refusals and what was loaded are written here.");
  m_log->setTabChangesFocus(true);
  column->addWidget(m_log, 2);
  auto* cancel = new QAction(this);
  cancel->setShortcut(Qt::Key_Delete);
  cancel->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  addAction(cancel);
  connect(cancel, &QAction::triggered, this, [this] { cancelSelected(); });
  connect(m_cancel, &QToolButton::clicked, this, [this] { cancelSelected(); });
  connect(m_cancel_all, &QToolButton::clicked, this, [this] {
    m_queue.cancelAll();
    m_controller.stop();
  });
  connect(m_clear, &QToolButton::clicked, &queue, &RunQueue::clearEnded);
  connect(&queue, &RunQueue::changed, this, [this] { refresh(); });
  connect(&workspace, &Workspace::snapshotChanged, this, [this] { readSnapshot(); });
  connect(&workspace, &Workspace::themeChanged, this, [this] { refresh(); });
  setFocusProxy(m_table);
  refresh();
}

/// Two rows at least, however low the panel is: the log gives way.
void JobsPanel::keepRowsInSight() {
  constexpr int kRows = 2, kLogLine = 24;
  m_table->setMinimumHeight(m_table->horizontalHeader()->sizeHint().height() + kRows * m_table->verticalHeader()->defaultSectionSize() +
                            m_table->horizontalScrollBar()->sizeHint().height());
  m_log->setMinimumHeight(kLogLine);
}

void JobsPanel::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::StyleChange)  // the table has it after the panel
    QMetaObject::invokeMethod(this, &JobsPanel::keepRowsInSight, Qt::QueuedConnection);
}

QString JobsPanel::memoryText() const { return m_memory->text(); }

QString JobsPanel::facts() const {
  const int n = m_queue.nOpen();
  if (n == 0 && computing(m_workspace)) return "the runs on screen are computed, nothing waits";
  return n == 0 ? QString("nothing runs or waits") : QString("%1 %2 or wait").arg(n).arg(n == 1 ? "runs" : "run");
}

void JobsPanel::note(const QString& text) { m_log->appendPlainText(QTime::currentTime().toString("hh:mm:ss  ") + text); }

void JobsPanel::cancelSelected() {
  QList<int> ids;
  for (const QModelIndex& row : m_table->selectionModel()->selectedRows())
    ids.prepend(m_table->item(row.row(), 0)->data(Qt::UserRole).toInt());
  for (const int id : ids) m_queue.cancel(id);  // from the end: else each would start before it goes
}

void JobsPanel::readSnapshot() {
  const Snapshot& s = m_workspace.snapshot();
  if (s.phase == RunPhase::loading && !s.activity.empty() && !m_said.contains(qs(s.activity))) {
    m_said.insert(qs(s.activity));
    note(qs(s.activity));
  }
  if (m_cancel_all->isEnabled() != (m_queue.busy() || computing(m_workspace))) refresh();
  if (s.phase != RunPhase::idle) return;
  for (const LaneSnapshot& lane : s.lanes) {
    for (const LaneWarning& w : lane.warnings) {
      const QString text = qs(lane.spec) + ": " + qs(text_of(w));
      if (m_said.contains(text)) continue;
      m_said.insert(text);
      note("warning: " + text);
    }
  }
  refresh();
}

void JobsPanel::refresh() {
  const std::vector<QueuedRun>& runs = m_queue.runs();
  const viz::Theme& theme = m_workspace.theme();
  m_table->setRowCount(static_cast<int>(runs.size()));
  for (int row = 0; row < m_table->rowCount(); ++row) {
    const QueuedRun& run = runs[static_cast<std::size_t>(row)];
    const RunWords words = wordsOf(run.spec);
    const QString cells[] = {qs(words.title), qs(words.budget),
                             run.purpose == QueuedRun::Purpose::lane     ? "a run"
                             : run.purpose == QueuedRun::Purpose::head   ? "a head"
                             : run.purpose == QueuedRun::Purpose::budget ? "a budget"
                                                                         : "a curve",
                             stateWords(run), std::isnan(run.ms) ? QString() : qs(viz::format_ms(run.ms))};
    for (int c = 0; c < 5; ++c) {
      QTableWidgetItem* item = m_table->item(row, c);
      if (!item) m_table->setItem(row, c, item = new QTableWidgetItem);
      if (item->text() != cells[c]) item->setText(cells[c]);
      item->setToolTip(run.failure.isEmpty() ? qs(run.spec) : run.failure);
      item->setForeground(toColor(run.state == QueuedRun::State::failed ? theme.changed : run.open() ? theme.text : theme.secondary));
      item->setTextAlignment(c == 4 ? Qt::AlignRight | Qt::AlignVCenter : Qt::AlignLeft | Qt::AlignVCenter);
    }
    m_table->item(row, 0)->setData(Qt::UserRole, run.id);
    if (run.state == QueuedRun::State::failed && !m_failed.contains(run.id)) {
      m_failed.insert(run.id);
      note("refused: " + run.failure);
    }
  }
  double caches = 0;
  const Snapshot& s = m_workspace.snapshot();
  for (const LaneSnapshot& lane : s.lanes) caches += lane.bytes;
  const auto words = [](double bytes) { return qs(viz::format_bytes(bytes)); };
  m_memory->setText(QString("weights %1 · caches %2 · prompt's attention %3 · records %4")
                        .arg(words(s.weight_bytes), words(caches), words(s.attention_bytes), words(held_bytes(s.lanes))));
  m_memory->setToolTip(
      "Held by the engine: the model's weights, keys and values of all runs, what runs ask of the attention that the prompt "
      "paid, and what the pictures read");
  m_cancel_all->setEnabled(m_queue.busy() || computing(m_workspace));
  m_cancel->setEnabled(m_queue.busy());
  m_clear->setEnabled(static_cast<int>(runs.size()) > m_queue.nOpen());
  Q_EMIT factsChanged();
}

}  // namespace kvscope
