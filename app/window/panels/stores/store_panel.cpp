// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/stores/store_panel.h"

#include <algorithm>
#include <cmath>

#include <QComboBox>
#include <QDir>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QScrollBar>
#include <QStackedWidget>
#include <QTableWidget>
#include <QVBoxLayout>

#include "app/window/commands/commands.h"
#include "app/window/panels/runs/row_table.h"
#include "app/window/panels/stores/sweep_process.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/header_controls.h"
#include "app/window/shell/panel_paint.h"
#include "core/failure.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {

constexpr int kEveryMs = 1500;
constexpr std::size_t kFilesATime = 200;  // so that a large store does not hold up the window

enum Look { kCurves, kDepths, kHeads, kHeadsAtEnd };
/// Numbers end under their headings.
Qt::Alignment alignmentOf(int column) { return (column == 0 ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter; }

enum Column { kRun, kBudget, kItems, kValue, kSlots, kBetter, kWorse, kColumns };

}  // namespace

StorePanel::StorePanel(Workspace& workspace, SweepProcess& process, QWidget* parent)
    : QWidget(parent),
      m_workspace(workspace),
      m_process(process),
      m_title(new QLabel(this)),
      m_state(new QLabel(this)),
      m_progress(new QLabel(this)),
      m_pairs(new QLabel(this)),
      m_cancel(new QPushButton("Cancel", this)),
      m_table(new QTableWidget(0, kColumns, this)),
      m_chart(new StoreChart(workspace, m_data, this)),
      m_heads(new StoreHeads(workspace, m_data, this)),
      m_views(new QStackedWidget(this)),
      m_measure(headerBox("What the curves show")),
      m_look(headerBox("Curves over budgets, where the answers stood that were found, or what became of them in each head")) {
  for (const StoreMeasure& m : storeMeasures()) m_measure->addItem(m.name);
  m_look->addItems({"curves", "depth × budget", "heads after the prompt", "heads at the end"});
  layOut();
  setFocusProxy(m_chart);
  m_timer.setInterval(kEveryMs);
  connect(&m_timer, &QTimer::timeout, this, &StorePanel::take);
  connect(m_cancel, &QPushButton::clicked, this, [this] { m_process.running() ? m_process.stop() : m_process.again(); });
  connect(&m_process, &SweepProcess::changed, this, &StorePanel::refreshProcess);
  connect(m_measure, &QComboBox::currentIndexChanged, this, [this](int i) {
    m_chart->setMeasure(storeMeasures()[static_cast<std::size_t>(std::max(0, i))]);
    fillTable();
  });
  connect(m_look, &QComboBox::currentIndexChanged, this, &StorePanel::setLook);
  connect(m_table, &QTableWidget::itemSelectionChanged, this, [this] {
    if (const auto chosen = m_table->selectedItems(); !chosen.isEmpty()) m_chart->point(chosen.front()->data(Qt::UserRole).toInt());
  });
  connect(m_chart, &StoreChart::pointed, this, &StorePanel::selectRun);
  connect(m_heads, &StoreHeads::pointed, this, &StorePanel::selectRun);
  refresh();
}

void StorePanel::layOut() {
  m_title->setFont(uiFont(13, true));
  m_title->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_title->setTextFormat(Qt::PlainText);
  for (QLabel* label : {m_title, m_state, m_progress, m_pairs}) label->setWordWrap(true);
  for (QLabel* label : {m_state, m_progress, m_pairs}) {
    label->setObjectName("secondary");
    label->setFont(uiFont(12));
    label->setTextFormat(Qt::PlainText);
  }
  makeRowTable(*m_table, m_workspace, "Runs of the sweep with their numbers");
  m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  m_table->setSelectionMode(QAbstractItemView::SingleSelection);
  m_table->horizontalHeader()->setStretchLastSection(true);
  m_table->horizontalHeader()->setToolTip(
      "n: items, one per text and seed; lowest and highest of them in brackets; slots: held at the end, mean per head");
  auto* open = new QPushButton("Open another…", this);
  open->setToolTip("Opens a folder that kvscope-cli sweep --store fills");
  auto* another = new QPushButton("Sweep over texts…", this);
  another->setToolTip("Chooses texts, policies and budgets, and computes them beside this window");
  connect(open, &QPushButton::clicked, this, &StorePanel::openRequested);
  connect(another, &QPushButton::clicked, this, &StorePanel::sweepRequested);
  auto* running = new QHBoxLayout;
  running->setSpacing(8);
  running->addWidget(m_progress, 1);
  running->addWidget(m_cancel);
  auto* buttons = new QHBoxLayout;
  buttons->setSpacing(8);
  buttons->addWidget(open, 1);
  buttons->addWidget(another, 1);
  auto* side = new QVBoxLayout;
  side->setContentsMargins(0, 0, 0, 0);
  side->setSpacing(8);
  side->addWidget(m_title);
  side->addWidget(m_state);
  side->addLayout(running);
  side->addWidget(m_table, 1);
  side->addWidget(m_pairs);
  side->addLayout(buttons);
  auto* left = new QWidget(this);
  left->setLayout(side);
  m_side = left;
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(12, 10, 12, 10);
  row->setSpacing(14);
  row->addWidget(left);
  m_views->addWidget(m_chart);
  m_views->addWidget(m_heads);
  row->addWidget(m_views, 1);
}

void StorePanel::open(const QString& folder) {
  SweepReader reader(folder.toStdString());
  const bool again = m_reader && QFileInfo(folder) == QFileInfo(m_folder);  // what somebody chose to see of it stays
  m_reader.emplace(std::move(reader));
  m_folder = folder;
  m_lost.clear();
  m_data.set(*m_reader);
  m_timer.start();
  m_counted.invalidate();
  take();
  if (!again) {
    m_measure->setCurrentIndex(m_data.scored() ? 0 : 1);
    m_look->setCurrentIndex(0);
  }
  refresh();
}

void StorePanel::reopen(const QString& folder) {
  if (m_reader && QFileInfo(folder) == QFileInfo(m_folder)) return;
  try {
    open(folder);
  } catch (const std::exception& error) {  // memory, too
    m_lost = words_of(error);
    m_folder = folder;
    m_reader.reset();
    m_data = {};
    m_timer.stop();
    refresh();
  }
}

void StorePanel::take() {
  if (!m_reader) return;
  const SweepReader::Taken taken = m_reader->take(kFilesATime);
  if (taken.changed) {
    m_data.set(*m_reader);
    refresh();
  }
  m_more = taken.more;
  if (!m_more && !m_counted.isValid()) {
    m_counted.start();
    m_there_before = m_reader->n_there();
  }
  if (m_more) QTimer::singleShot(0, this, &StorePanel::take);
  if (m_reader->n_there() == m_reader->results().size()) m_timer.stop();  // nothing can come
}

void StorePanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  take();
}

QString StorePanel::stateText() const { return m_state->text(); }

QString StorePanel::processText() const { return m_progress->isHidden() ? QString() : m_progress->text(); }

QString StorePanel::facts() const {
  if (m_data.empty()) return "no store is open";
  return QStringList({m_data.over(), m_data.state().front(), qs(m_data.contents().model)}).join(" · ");
}

std::vector<QWidget*> StorePanel::controls() const { return {m_measure, m_look}; }

void StorePanel::refresh() {
  m_title->setText(m_folder.isEmpty() ? QString("No store is open") : QDir(m_folder).dirName());
  m_title->setToolTip(m_folder + qs(m_data.made()));
  m_state->setText(!m_lost.isEmpty() ? m_lost
                   : m_data.empty()  ? QString("A folder that kvscope-cli sweep --store fills, opened while it grows or when it is whole.")
                                    : QStringList(QStringList({m_data.over(), qs(m_data.contents().model)}) + m_data.state()).join(" · "));
  fillTable();
  m_chart->refresh();
  m_heads->refresh();
  refreshProcess();
  Q_EMIT factsChanged();
}

bool StorePanel::showsProcess() const { return m_process.announced() && m_reader && m_folder == m_process.sweep().store; }

/// From what has come since all that was there before had been read, at the same rate.
QString StorePanel::timeLeft() const {
  const std::size_t n = m_data.nThere() - std::min(m_there_before, m_data.nThere()), left = m_data.nItems() - m_data.nThere();
  if (n == 0 || left == 0 || !m_counted.isValid()) return {};
  const double ms = static_cast<double>(m_counted.elapsed()) / static_cast<double>(n) * static_cast<double>(left);
  return QString(" · about %1 left").arg(qs(viz::format_ms(ms)));
}

void StorePanel::refreshProcess() {
  using State = SweepProcess::State;
  const State state = m_process.state();
  const QString folder = m_process.sweep().store, name = QDir(folder).dirName();
  const bool another = !m_folder.isEmpty() && QFileInfo(m_folder) != QFileInfo(folder);  // than the page is about
  const QString who = another ? QString("Another sweep, %1,").arg(name) : name;
  const QString so_far = showsProcess() ? QString("%1 of %2 items").arg(m_data.nThere()).arg(m_data.nItems()) : QString();
  switch (state) {
    case State::none:
    case State::done:
      break;
    case State::running:
      m_progress->setText(!m_process.announced() ? QString("%1 begins: the model and the texts are being read").arg(who)
                          : so_far.isEmpty()     ? QString("%1 is being computed").arg(who)
                                                 : QString("Being computed: %1%2").arg(so_far, timeLeft()));
      break;
    case State::stopped:
      m_progress->setText(so_far.isEmpty() ? QString("%1 was cancelled. What is finished stays.").arg(who)
                                           : QString("Cancelled at %1. What is finished stays.").arg(so_far));
      break;
    case State::left:
      m_progress->setText(so_far.isEmpty() ? QString("%1 was not finished. What it has stays.").arg(who)
                                           : QString("Not finished: it ended at %1. What is finished stays.").arg(so_far));
      break;
    case State::failed:
      m_progress->setText(QString("%1 ended: %2").arg(another ? who : QString("The sweep"), m_process.failure()));
      break;
  }
  for (QWidget* widget : {static_cast<QWidget*>(m_progress), static_cast<QWidget*>(m_cancel)})
    widget->setVisible(state != State::none && state != State::done);
  const QString does = m_process.running() ? "Cancel" : "Go on";
  const QString shorter = asLabel(m_cancel->fontMetrics().elidedText(name, Qt::ElideMiddle, px(*m_cancel, 160)));
  m_cancel->setText(another ? QString(m_process.running() ? "%1 %2" : "%1 with %2").arg(does, shorter) : does);
  m_cancel->setToolTip(another ? folder : QString());
  m_progress->setToolTip(shellLine("kvscope-cli", argumentsOf(m_process.sweep())));
}

bool StorePanel::showsHeads() const { return m_views->currentWidget() == m_heads; }

void StorePanel::setLook(int look) {
  m_chart->setDepths(look == kDepths);
  m_heads->setMoment(look == kHeadsAtEnd ? StoreMoment::at_end : StoreMoment::after_prompt);
  QWidget* const view = look >= kHeads ? static_cast<QWidget*>(m_heads) : m_chart;
  const bool focus = m_views->currentWidget()->hasFocus();
  m_views->setCurrentWidget(view);
  setFocusProxy(view);
  if (focus) view->setFocus();
  m_measure->setEnabled(look == kCurves);
  fillTable();
  Q_EMIT factsChanged();
}

viz::Table StorePanel::numbers() const { return showsHeads() ? m_data.headTable(m_heads->moment()) : m_data.table(); }

QImage StorePanel::picture(const QSize& size, double scale, const viz::Theme& theme) const {
  return showsHeads() ? m_heads->picture(size, scale, theme) : m_chart->picture(size, scale, theme);
}

void StorePanel::selectRun(int run) {
  for (int i = 0; i < m_table->rowCount(); ++i)
    if (run >= 0 && m_table->item(i, kRun)->data(Qt::UserRole).toInt() == run) return m_table->selectRow(i);
  m_table->clearSelection();
}

/// What the last columns say; empty: they say nothing.
QString StorePanel::wordsOfTable() const {
  if (showsHeads())
    return QString("kept, merged, evicted: share of the heads, mean over the texts, %1").arg(momentWords(m_heads->moment()));
  QString beside, unequal, once;
  double most = 0;
  for (const StoreCurve& curve : m_data.curves())
    for (const StoreMark& mark : curve.marks) {
      if (beside.isEmpty()) beside = m_data.besideOf(mark);
      if (mark.band.texts_once) once = " Where all seeds gave the same, each text counts once.";
      const QString words = m_data.unequalWords(curve, mark);
      if (words.isEmpty() || StoreData::inequality(mark) <= most) continue;
      most = StoreData::inequality(mark);
      unequal = QString(" The same budget is not the same memory: at %1, %2.").arg(StoreData::budgetOf(mark), words);
    }
  if (beside.isEmpty()) return {};
  return QString("better, worse: on how many of the same texts with the same seeds than %1 at the same budget, by %2.%3%4")
      .arg(beside, m_data.scored() ? "the answers found" : "KL", once, unequal);
}

QStringList StorePanel::cellsOf(const QString& title, const StoreMark& mark) const {
  const bool full = m_data.full() && &mark == &*m_data.full();
  QStringList out = {title, full ? QString("–") : StoreData::budgetOf(mark)};
  const QString slots = qs(viz::format_mean(mark.band.figure("slots").mean()));
  if (showsHeads()) {
    const std::vector<HeadAnswers>& heads = headsAt(mark.heads, m_heads->moment());
    out << QString::number(mark.heads.n);
    QStringList shares;
    for (const auto what : {&HeadAnswers::kept, &HeadAnswers::merged, &HeadAnswers::evicted}) {
      double sum = 0;
      for (const HeadAnswers& head : heads) sum += static_cast<double>(head.*what);
      shares << (heads.empty() ? QString("n/a") : qs(viz::format_percent(sum / static_cast<double>(heads.size() * mark.heads.n))));
    }
    return out << shares[0] << slots << shares[1] << shares[2];
  }
  const StoreMeasure& measure = m_look->currentIndex() == kDepths ? storeMeasures().front() : m_chart->measure();
  const SweepBand& band = mark.band;
  const Statistics& s = band.figure(measure.figure);
  QString value = measure.text(s.mean());
  if (measure.band && s.n > 1 && s.min != s.max) value += QString(" (%1 to %2)").arg(measure.text(s.min), measure.text(s.max));
  const bool paired = band.compared > 0;
  return out << QString::number(band.n) << value << slots
             << (paired ? QString("%1 of %2").arg(band.better).arg(band.compared) : QString("–"))
             << (paired ? QString::number(band.worse) : QString("–"));
}

void StorePanel::fillTable() {
  const QString words = wordsOfTable();
  m_pairs->setVisible(!words.isEmpty());
  m_pairs->setText(words);
  const StoreMeasure& measure = m_look->currentIndex() == kDepths ? storeMeasures().front() : m_chart->measure();
  m_table->setHorizontalHeaderLabels(QStringList{"run", "budget", "n"} + (showsHeads()
                                                                              ? QStringList{"kept", "slots", "merged", "evicted"}
                                                                              : QStringList{measure.name, "slots", "better", "worse"}));
  for (int c = 0; c < kColumns; ++c) m_table->horizontalHeaderItem(c)->setTextAlignment(alignmentOf(c));
  m_table->setRowCount(0);
  const auto add = [&](const QString& title, const StoreMark& mark) {
    const int row = m_table->rowCount();
    m_table->insertRow(row);
    const QStringList cells = cellsOf(title, mark);
    for (int c = 0; c < kColumns; ++c) {
      auto* item = new QTableWidgetItem(cells[c]);
      item->setData(Qt::UserRole, static_cast<int>(mark.run));
      item->setToolTip(cells[c]);
      item->setTextAlignment(alignmentOf(c));
      m_table->setItem(row, c, item);
    }
  };
  if (m_data.full()) add("Full cache", *m_data.full());
  for (const StoreCurve& curve : m_data.curves())
    for (const StoreMark& mark : curve.marks) add(curve.title, mark);
  for (int c = 0; c < kColumns; ++c) m_table->resizeColumnToContents(c);
  m_table->setColumnWidth(kRun, std::min(m_table->columnWidth(kRun), px(*m_table, 104)));
  constexpr int kLeast = 500, kMost = 640;
  const int last = kColumns - 1;  // takes what room there is
  const QAbstractItemView& cells = *m_table;
  int needed = std::max(cells.sizeHintForColumn(last), m_table->horizontalHeader()->sectionSizeHint(last)) +
               m_table->verticalScrollBar()->sizeHint().width() + 2 * m_table->frameWidth();
  for (int c = 0; c < last; ++c) needed += m_table->columnWidth(c);
  m_side->setFixedWidth(std::clamp(needed, kLeast, kMost));
}

}  // namespace kvscope
