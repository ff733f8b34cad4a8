// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/runs/sweep_panel.h"

#include <algorithm>
#include <set>

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/window/panels/runs/run_grid.h"
#include "app/window/session/run_estimate.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {

/// How much of the sweep is measured: a thin bar.
class ShareBar : public QWidget {
 public:
  ShareBar(Workspace& workspace, const SweepData& sweep, QWidget* parent) : QWidget(parent), m_workspace(workspace), m_data(sweep) {
    setFixedHeight(4);
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.fillRect(rect(), toColor(m_workspace.theme().line));
    if (m_data.points().empty()) return;
    const double share = static_cast<double>(m_data.nMeasured()) / static_cast<double>(m_data.points().size());
    painter.fillRect(QRectF(0, 0, width() * share, height()), toColor(m_workspace.theme().accent));
  }

 private:
  Workspace& m_workspace;
  const SweepData& m_data;
};

QToolButton* toggle(const QString& text, const QString& help) {
  auto* button = new QToolButton;
  button->setObjectName("headerText");
  button->setText(text);
  button->setToolTip(help);
  button->setAccessibleName(help);
  button->setProperty("toggle", true);
  button->setCheckable(true);
  button->setChecked(true);
  button->setFixedHeight(22);
  button->setFocusPolicy(Qt::StrongFocus);
  return button;
}

QComboBox* box(const QString& name, const QStringList& items) {
  auto* out = new QComboBox;
  out->setObjectName("header");
  out->setAccessibleName(name);
  out->setToolTip(name);
  out->addItems(items);
  out->setFixedHeight(22);
  return out;
}

}  // namespace

SweepPanel::SweepPanel(Workspace& workspace, SessionController& controller, RunQueue& queue, QWidget* parent)
    : QWidget(parent),
      m_workspace(workspace),
      m_controller(controller),
      m_queue(queue),
      m_grid(new RunGrid(workspace, controller, RunGridModel::For::curves, "8 %, 12 %, 18 %, 25 %, 35 %, 50 %, 70 %", this)),
      m_chart(new SweepChart(workspace, m_data, this)),
      m_start(new QPushButton("Measure", this)),
      m_cancel(new QPushButton("Cancel", this)),
      m_progress(new QLabel(this)),
      m_lost(new QLabel(this)) {
  QStringList metrics;
  for (int m = 0; m < kSweepMetrics; ++m) metrics << nameOf(static_cast<SweepMetric>(m));
  m_metric = box("What the curves show", metrics);
  m_axis = box("Budget as", {"slots asked", "slots held", "% of the prompt", "KV bytes"});
  m_log_x = toggle("log budget", "Logarithmic budget axis");
  m_log_y = toggle("log value", "Logarithmic value axis where the values span two decades");
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(12, 10, 12, 10);
  row->setSpacing(14);
  auto* side = new QVBoxLayout;
  side->setSpacing(8);
  side->addWidget(m_grid, 1);
  m_progress->setWordWrap(true);
  m_progress->setObjectName("secondary");
  m_progress->setFont(uiFont(12));
  m_progress->setMinimumHeight(2 * m_progress->fontMetrics().lineSpacing());
  m_progress->setAlignment(Qt::AlignLeft | Qt::AlignTop);
  side->addWidget(m_progress);
  m_bar = new ShareBar(workspace, m_data, this);
  side->addWidget(m_bar);
  auto* buttons = new QHBoxLayout;
  m_start->setObjectName("primary");
  m_cancel->setToolTip("Cancel the runs of the sweep that are not measured yet");
  buttons->addWidget(m_start, 1);
  buttons->addWidget(m_cancel);
  auto* texts = new QPushButton("Over texts…", this);
  texts->setToolTip("Sweep over many texts with questions, beside this window");
  connect(texts, &QPushButton::clicked, this, &SweepPanel::textsRequested);
  buttons->addWidget(texts);
  side->addLayout(buttons);
  auto* left = new QWidget(this);
  left->setLayout(side);
  side->setContentsMargins(0, 0, 0, 0);
  left->setFixedWidth(466);
  row->addWidget(left);
  auto* right = new QVBoxLayout;
  m_lost->setObjectName("secondary");
  m_lost->hide();
  right->addWidget(m_lost);
  right->addWidget(m_chart, 1);
  row->addLayout(right, 1);

  listen();
  setFocusProxy(m_chart);
}

void SweepPanel::listen() {
  connect(m_grid, &RunGrid::changed, this, [this] {
    showBytes();
    m_data.setRuns(m_grid->model().chosen(), m_workspace.snapshot().n_prompt);
    refresh();
  });
  connect(m_start, &QPushButton::clicked, this, &SweepPanel::start);
  connect(m_cancel, &QPushButton::clicked, this, &SweepPanel::cancel);
  connect(m_metric, &QComboBox::currentIndexChanged, this, [this](int i) {
    m_chart->setMetric(static_cast<SweepMetric>(i));
    m_log_y->setEnabled(spansTwoDecades(m_data.series(), m_chart->metric()));
  });
  connect(m_axis, &QComboBox::currentIndexChanged, this, [this](int i) { m_chart->setBudget(static_cast<SweepChart::Budget>(i)); });
  connect(m_log_x, &QToolButton::toggled, m_chart, &SweepChart::setLogX);
  connect(m_log_y, &QToolButton::toggled, m_chart, &SweepChart::setLogY);
  connect(m_chart, &SweepChart::opened, this, &SweepPanel::openRequested);
  connect(&m_workspace, &Workspace::snapshotChanged, this, [this] { takeText(); });
  connect(&m_workspace, &Workspace::breakPointsChanged, this, [this] { m_data.setRemarks(sweepBreakWords(m_workspace)); });
  connect(&m_queue, &RunQueue::changed, this, [this] {
    for (const QueuedRun& run : m_queue.runs())
      if (run.state == QueuedRun::State::failed && run.purpose == QueuedRun::Purpose::point) m_data.fail(run.spec, run.failure);
    refresh();
  });
  connect(&m_queue, &RunQueue::measured, this, [this](const QueuedRun& run, const SnapshotPtr& result) {
    const std::uint64_t seed = m_controller.request().seed;
    const bool same = textIdentity(*result, seed) == textIdentity(m_workspace.snapshot(), seed);
    if (!same && run.purpose == QueuedRun::Purpose::point)
      m_data.fail(run.spec, "The text on screen is incomplete, because computing was stopped. Generate it again (F5), then measure");
    const bool known = same && m_data.set(run.spec, figuresOf(*result));
    refresh();
    if (known) Q_EMIT measured();
  });
}

/// Shares of bytes are no slots: what stores a token in less has all of them.
void SweepPanel::showBytes() {
  constexpr auto kBytes = static_cast<int>(SweepChart::Budget::bytes);
  const bool of_bytes = std::ranges::any_of(m_grid->model().budgets(), [](const GridBudget& b) { return b.key == "bytes"; });
  if (of_bytes == std::exchange(m_of_bytes, of_bytes)) return;
  if (of_bytes) return m_axis->setCurrentIndex(kBytes);
  if (m_axis->currentIndex() == kBytes) m_axis->setCurrentIndex(static_cast<int>(SweepChart::Budget::asked));
}

std::vector<QWidget*> SweepPanel::controls() const { return {m_metric, m_axis, m_log_x, m_log_y}; }

QString SweepPanel::progressText() const { return m_progress->text(); }

QString SweepPanel::facts() const {
  const auto n = m_data.points().size();
  if (n == 0) return "one prompt, every marker is a run";
  const bool all = m_data.nMeasured() == static_cast<decltype(m_data.nMeasured())>(n);
  const bool own_texts = m_workspace.snapshot().follow == "self";
  return QString("one prompt · %1 of %2 runs measured%3%4")
      .arg(m_data.nMeasured())
      .arg(n)
      .arg(all ? "" : " · hollow: not yet", own_texts ? " · KL and top-1 same: before a run's text parts" : "");
}

void SweepPanel::suggest() {
  if (m_suggested) return;
  const Snapshot& s = m_workspace.snapshot();
  if (s.lanes.size() < 2) return;
  m_suggested = true;
  for (std::size_t i = 1; i < s.lanes.size(); ++i) m_grid->model().choose(methodOf(s.lanes[i].spec), true);
  m_offered = m_grid->model().chosen();
}

bool SweepPanel::chosenHere() const {
  return m_data.nMeasured() > 0 || m_grid->budgets().isModified() || m_grid->seeds().isModified() || m_grid->model().chosen() != m_offered;
}

bool SweepPanel::open() const {
  return std::ranges::any_of(m_queue.runs(), [](const QueuedRun& r) { return r.open() && r.purpose == QueuedRun::Purpose::point; });
}

void SweepPanel::start() {
  m_lost->hide();
  std::set<std::string> asked;
  for (const QueuedRun& run : m_queue.runs())
    if (run.open()) asked.insert(computedBy(run.spec));
  std::vector<std::string> specs = m_data.missing();
  std::erase_if(specs, [&asked](const std::string& spec) { return asked.contains(computedBy(spec)); });
  m_queue.add(specs, QueuedRun::Purpose::point);
}

void SweepPanel::cancel() {
  std::vector<int> ids;
  for (const QueuedRun& run : m_queue.runs())
    if (run.open() && run.purpose == QueuedRun::Purpose::point) ids.push_back(run.id);
  std::ranges::reverse(ids);  // those that wait first: else each would start before it goes
  for (const int id : ids) m_queue.cancel(id);
}

void SweepPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  suggest();
  refresh();
}

void SweepPanel::takeText() {
  const Snapshot& s = m_workspace.snapshot();
  if (s.phase != RunPhase::idle || s.lanes.empty()) return;
  if (isVisible()) suggest();
  const std::string model = s.model_stamp.empty() ? s.model.name : s.model_stamp;
  const bool other_model = std::exchange(m_model, model) != model;
  if (m_data.setText(textIdentity(s, m_controller.request().seed))) {
    m_lost->setText(other_model ? "The model changed: what was measured held for the old one and is gone."
                                : "The text or its settings changed: what was measured held for the old ones and is gone.");
    m_lost->show();
    // Runs that were asked for are still wanted, on the new text.
    if (open()) start();
  }
  takeSaved();
  m_data.setRuns(m_grid->model().chosen(), s.n_prompt);
  refresh();
}

std::optional<TextSweepDialog::Swept> SweepPanel::swept() const {
  if (m_data.nMeasured() == 0 && !m_grid->budgets().isModified()) return std::nullopt;
  TextSweepDialog::Swept out;
  for (const GridBudget& budget : m_grid->model().budgets())
    if (budget.key == "ratio") out.budgets << budget.text;
  for (const SweepSeries& series : m_data.series()) out.policies << qs(series.policy);
  if (m_grid->model().nSeeded() > 0) out.seeds = static_cast<int>(m_grid->model().nSeeds());
  return out;
}

SavedSweep SweepPanel::saved() const {
  const bool waits = !m_saved.points.empty() && m_data.nMeasured() == 0;  // a choice must not take the place of what was measured
  if (waits || m_data.points().empty() || !chosenHere()) return m_saved;
  return {.text = textDigest(m_workspace.snapshot(), m_controller.request().seed),
          .budgets = m_grid->budgets().text(),
          .seeds = m_grid->seeds().text(),
          .figure = m_metric->currentText(),
          .axis = m_axis->currentText(),
          .points = m_data.points()};
}

void SweepPanel::restore(const SavedSweep& sweep) {
  m_saved = sweep;
  takeText();
}

void SweepPanel::takeSaved() {
  if (m_saved.points.empty()) return;
  const bool measured = std::ranges::any_of(m_saved.points, [](const SweepPoint& p) { return p.figures.has_value(); });
  if (measured && m_saved.text != textDigest(m_workspace.snapshot(), m_controller.request().seed)) return;
  const SavedSweep sweep = std::exchange(m_saved, {});
  m_suggested = true;
  m_lost->hide();
  m_grid->model().clear();
  m_grid->budgets().setText(sweep.budgets);
  m_grid->seeds().setText(sweep.seeds);
  std::vector<std::string> specs;
  for (const SweepPoint& p : sweep.points) specs.push_back(p.spec);
  m_grid->model().chooseRuns(specs);
  for (const SweepPoint& p : sweep.points)
    if (p.figures) m_data.set(p.spec, *p.figures);
  for (const auto& [box, choice] : {std::pair(m_metric, sweep.figure), std::pair(m_axis, sweep.axis)})
    if (const int known = box->findText(choice); known >= 0) box->setCurrentIndex(known);
}

void SweepPanel::refresh() {
  Q_EMIT factsChanged();
  if (!isVisible()) return;  // the estimate reads the records of all runs
  const std::vector<std::string> missing = m_data.missing();
  const RunEstimate estimate = estimateRuns(m_workspace.snapshot(), missing, m_queue.times(), false);
  const bool running = open();
  const QString never = running || missing.empty() ? QString() : m_controller.whyViewOnly();
  m_start->setToolTip(never);
  if (!never.isEmpty()) {
    m_progress->setText(never);
  } else if (running) {
    const QueuedRun* run = m_queue.running();
    QString now = run && run->purpose == QueuedRun::Purpose::point
                      ? " · running " + qs(wordsOf(run->spec).title) + ", " + qs(wordsOf(run->spec).budget)
                  : m_workspace.snapshot().phase == RunPhase::failed ? QString(" · waits for a text that is taken")
                                                                     : QString();
    const QString left = estimate.ms > 0 ? QString(" · about %1 left").arg(qs(viz::format_ms(estimate.ms))) : QString();
    m_progress->setText(QString("%1 of %2 measured%3%4").arg(m_data.nMeasured()).arg(m_data.points().size()).arg(now, left));
  } else if (missing.empty() && !m_data.points().empty()) {
    m_progress->setText(QString("all %1 measured").arg(m_data.nMeasured()));
  } else {
    m_progress->setText(estimateWords(missing.size(), estimate, false));
  }
  m_start->setText(missing.empty()       ? QString("Measure")
                   : missing.size() == 1 ? QString("Measure 1 run")
                                         : QString("Measure %1 runs").arg(missing.size()));
  m_start->setEnabled(!missing.empty() && !running && never.isEmpty());
  m_cancel->setEnabled(running);
  m_bar->update();
  m_log_y->setEnabled(spansTwoDecades(m_data.series(), m_chart->metric()));
  m_chart->refresh();
}

}  // namespace kvscope
