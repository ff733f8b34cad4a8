// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QToolButton>

#include "app/window/look/restyle.h"
#include "app/window/look/spoken.h"
#include "app/window/look/style.h"
#include "app/window/rows/rows.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "core/machine_memory.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {

QString keyCap(const viz::Theme& theme, const QString& key, const QString& what) {
  return QString("<span style='background:%1;font-family:\"Noto Sans Mono\",\"DejaVu Sans Mono\"'>&nbsp;%2&nbsp;</span> %3")
      .arg(toColor(theme.raised).name(), key, what);
}

/// With a capital and a full stop; what begins with the name of a file or a key keeps its letters.
QString sentenceOf(const QString& text) {
  QString sentence = text;
  const QString first = text.section(' ', 0, 0);
  if (!first.isEmpty() && !first.contains('.') && !first.contains('/')) sentence[0] = sentence[0].toUpper();
  return sentence.endsWith('.') || sentence.endsWith('?') ? sentence : sentence + '.';
}

bool busy(const Workspace& workspace) {
  const RunPhase phase = workspace.snapshot().phase;
  return phase == RunPhase::computing || phase == RunPhase::loading || (workspace.stale() && phase != RunPhase::failed);
}

}  // namespace

MessageBar::MessageBar(Workspace& workspace, QWidget* parent) : QFrame(parent) {
  setObjectName("messageBar");
  setSpoken(*this);
  m_text = new QLabel(this);
  m_text->setWordWrap(true);
  m_text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  auto* copy = new QPushButton("Copy details", this);
  copy->setObjectName("copyDetails");
  m_close = new QToolButton(this);
  m_close->setObjectName("header");
  m_close->setToolTip("Dismiss");
  m_close->setAccessibleName("Dismiss the message");
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(13, 5, 14, 5);
  row->setSpacing(10);
  row->addWidget(m_text, 1);
  m_remedy = new QPushButton(this);
  m_other = new QPushButton(this);
  for (QPushButton* b : {m_remedy, m_other, copy}) b->setFocusPolicy(Qt::TabFocus);  // a click leaves the keys where they were
  for (QPushButton* b : {m_remedy, m_other}) {
    b->setAccessibleName("Remedy");
    b->hide();
    row->addWidget(b, 0, Qt::AlignTop);
  }
  row->addWidget(copy, 0, Qt::AlignTop);
  row->addWidget(m_close, 0, Qt::AlignTop);
  connect(copy, &QPushButton::clicked, this, [this] { QApplication::clipboard()->setText(m_now.details); });
  connect(m_close, &QToolButton::clicked, this, [this] {
    Q_EMIT dismissed(m_now.details);
    dismiss();
  });
  const auto theme = [this, &workspace] {
    m_close->setIcon(icon(Icon::close, toColor(workspace.theme().secondary), toColor(workspace.theme().disabled)));
  };
  connect(&workspace, &Workspace::themeChanged, this, theme);
  theme();
  hide();
}

void MessageBar::show(const QString& text, const QString& details, const QString& remedy, const std::function<void()>& run,
                      const QString& other, const std::function<void()>& run_other) {
  const QString sentence = sentenceOf(text);
  if (!isHidden() && !m_now.remedy.isEmpty() && remedy.isEmpty()) m_below = m_now;
  if (!remedy.isEmpty()) m_below.reset();  // another offer takes its place
  say({sentence, details.isEmpty() ? sentence : details, remedy, other, run, run_other, false});
  Q_EMIT said(sentence);
}

void MessageBar::showAfter(const QString& text, const QString& details, const QString& remedy, const std::function<void()>& run,
                           Tone tone) {
  if (!isHidden()) return m_after.push_back({text, details, remedy, {}, run, {}, tone == Tone::news});
  show(text, details, remedy, run);
  if (tone == Tone::news) markNews();
}

void MessageBar::say(const Message& message) {
  m_now = message;
  m_text->setText(message.text);
  setAccessibleName(message.text);
  const auto offer = [this](QPushButton* button, const QString& words, const std::function<void()>& does) {
    QObject::disconnect(button, &QPushButton::clicked, this, nullptr);  // not what the style listens to
    button->setText(words);
    button->setAccessibleName(words);
    button->setVisible(!words.isEmpty());
    if (does) connect(button, &QPushButton::clicked, this, does);
  };
  offer(m_remedy, message.remedy, message.run);
  offer(m_other, message.other, message.run_other);
  setNews(message.news);
  const int sign = std::max(16, 2 * m_text->fontMetrics().xHeight());  // of a lecture's type, too
  m_close->setIconSize({sign, sign});
  speak(*this);
  QFrame::show();
}

void MessageBar::markNews() {
  m_now.news = true;
  setNews(true);
}

void MessageBar::setNews(bool news) {
  if (property("news").toBool() == news) return;
  setProperty("news", news);
  restyle(*this);
}

void MessageBar::dismiss() {
  if (const std::optional<Message> below = std::exchange(m_below, std::nullopt)) return say(*below);
  hide();
  if (m_after.empty()) return;
  const Message next = m_after.front();
  m_after.erase(m_after.begin());
  show(next.text, next.details, next.remedy, next.run);
  if (next.news) markNews();
}

void MessageBar::clear() {
  m_below.reset();
  m_after.clear();
  hide();
  Q_EMIT cleared();
}

void MessageBar::takeBack(const QString& text) {
  const QString sentence = sentenceOf(text);
  if (m_below && m_below->text == sentence) m_below.reset();
  std::erase_if(m_after, [&](const Message& later) { return sentenceOf(later.text) == sentence; });
  if (m_text->text() == sentence) dismiss();
}

QString MessageBar::text() const { return m_text->text(); }

bool MessageBar::holds(const QString& text) const {
  const QString sentence = sentenceOf(text);
  return (!isHidden() && m_now.text == sentence) || (m_below && m_below->text == sentence) ||
         std::ranges::any_of(m_after, [&](const Message& later) { return sentenceOf(later.text) == sentence; });
}

ProgressLine::ProgressLine(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
  setFixedHeight(2);
  setAttribute(Qt::WA_TransparentForMouseEvents);
  connect(&workspace, &Workspace::snapshotChanged, this, [this] { update(); });
  connect(&workspace, &Workspace::staleChanged, this, [this] { update(); });
}

void ProgressLine::paintEvent(QPaintEvent*) {
  if (!busy(m_workspace)) return;
  QPainter painter(this);
  const double part = std::clamp(m_workspace.snapshot().progress, 0.02, 1.0);
  painter.fillRect(QRectF(0, 0, width() * part, height()), toColor(m_workspace.theme().accent));
}

StatusRow::StatusRow(Workspace& workspace, SessionController& controller, QWidget* parent)
    : QFrame(parent), m_workspace(workspace), m_controller(controller) {
  setObjectName("statusRow");
  setFixedHeight(kStatusRow);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(14, 0, 14, 0);
  row->setSpacing(20);
  for (QLabel** label : {&m_state, &m_jobs, &m_run, &m_seed, &m_memory}) {
    *label = new QLabel(this);
    (*label)->setTextFormat(Qt::RichText);
    row->addWidget(*label);
  }
  row->addStretch(1);
  auto* keys = new QLabel(this);
  keys->setTextFormat(Qt::RichText);
  row->addWidget(keys);
  setSpoken(*m_jobs);
  m_jobs->setToolTip("What runs and waits, and the log");
  connect(m_jobs, &QLabel::linkActivated, this, &StatusRow::jobsClicked);
  const auto theme = [this, keys] {
    keys->setText(keyCap(m_workspace.theme(), "F1", "keys") + "&nbsp;&nbsp;&nbsp;&nbsp;" +
                  keyCap(m_workspace.theme(), "Ctrl Shift P", "commands"));
    refresh();
  };
  connect(&workspace, &Workspace::themeChanged, this, theme);
  connect(&workspace, &Workspace::snapshotChanged, this, [this] { refresh(); });
  connect(&workspace, &Workspace::selectionChanged, this, [this] { refresh(); });
  connect(&workspace, &Workspace::staleChanged, this, [this] { refresh(); });
  connect(&controller, &SessionController::requestChanged, this, [this] { refresh(); });
  theme();
}

QString StatusRow::stateText() const {
  const Snapshot& snapshot = m_workspace.snapshot();
  if (snapshot.phase == RunPhase::loading) return QString::fromStdString(snapshot.activity.empty() ? "loading" : snapshot.activity);
  if (busy(m_workspace)) {
    return snapshot.activity.empty() || snapshot.phase != RunPhase::computing ? QString("computing")
                                                                              : "computing " + QString::fromStdString(snapshot.activity);
  }
  if (snapshot.phase == RunPhase::failed) return "failed";
  if (m_queued > 0) return "running beside the others";
  if (m_sweeping) return "sweeping over texts (Ctrl+. ends it)";
  if (snapshot.phase == RunPhase::idle && !snapshot.activity.empty()) return "idle · " + QString::fromStdString(snapshot.activity);
  return "idle";
}

void StatusRow::setQueued(int n, bool sweeping) {
  if (n == m_queued && sweeping == m_sweeping) return;
  m_queued = n;
  m_sweeping = sweeping;
  refresh();
  if (n == 0 && !sweeping) speak(*m_jobs);
}

void StatusRow::refresh() {
  const Snapshot& snapshot = m_workspace.snapshot();
  const viz::Theme& theme = m_workspace.theme();
  const bool working = busy(m_workspace);
  const viz::Rgb dot = working || m_queued > 0 || m_sweeping ? theme.accent
                       : snapshot.phase == RunPhase::failed  ? theme.changed
                                                             : theme.category[int(Category::recent)];
  m_state->setText(QString("<span style='color:%1'>●</span> %2").arg(toColor(dot).name(), stateText().toHtmlEscaped()));
  // The run in work of the queue is the job that computes, unless something else comes first.
  const int n = std::max(m_queued, working ? 1 : 0) + (m_sweeping ? 1 : 0);
  const QString words = n == 1 ? QString("1 job") : QString("%1 jobs").arg(n);
  m_jobs->setText(QString("<a href='jobs' style='color:%1;text-decoration:none'>%2</a>")
                      .arg(toColor(n > 0 ? theme.text : theme.secondary).name(), words));
  m_jobs->setAccessibleName(n > 0 ? words : words + ", all are done");
  QString run;
  if (const LaneSnapshot* lane = m_workspace.lane(); lane && snapshot.phase != RunPhase::empty) {
    const auto n_steps = static_cast<std::int64_t>(lane->steps.size());
    run = snapshot.lanes.size() == 1 ? "1 run, " + counted(n_steps, "step", "steps")
                                     : QString("%1 runs, %2 each").arg(snapshot.lanes.size()).arg(counted(n_steps, "step", "steps"));
    if (!snapshot.precision.empty()) run += ", " + QString::fromStdString(snapshot.precision);
    if (snapshot.total_ms > 0)
      run += ", " + QString::fromStdString(viz::format_ms(snapshot.total_ms));  // what was not computed took no time
  }
  if (m_controller.computesElsewhere()) {
    const EngineLink link = m_controller.engineLink();
    QString place = "engine " + QString::fromStdString(link.place).toHtmlEscaped();
    if (!link.connected) place += link.problem.empty() ? ": connecting" : ": no connection";
    if (link.connected && link.step_ms >= 0) place += ", line " + QString::fromStdString(viz::format_ms(link.step_ms));
    run = run.isEmpty() ? place : place + " · " + run;
    m_run->setToolTip(
        QString::fromStdString(link.problem.empty() ? "What the line to the engine added to the newest picture" : link.problem));
  } else {
    m_run->setToolTip({});
  }
  m_run->setText(run);
  m_seed->setText(QString("seed %1").arg(m_controller.request().seed));
  const double memory = process_memory().resident;
  m_memory->setText(memory > 0 ? QString("RAM %1").arg(QString::fromStdString(viz::format_bytes(memory))) : QString());
}

}  // namespace kvscope
