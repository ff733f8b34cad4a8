// SPDX-License-Identifier: Apache-2.0
#include "app/window/rows/loading_row.h"

#include <algorithm>

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>

#include "app/window/look/style.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {

constexpr int kRow = 34;
constexpr double kEtaAfterMs = 500;  // earlier guesses jump about

}  // namespace

QString stageWords(const LoadStage& stage) {
  if (stage.state == LoadStage::State::waiting) return {};
  if (stage.state == LoadStage::State::done || stage.of_bytes <= 0) return stage.ms > 0 ? qs(viz::format_ms(stage.ms)) : QString();
  QString text = QString("%1 of %2").arg(qs(viz::format_bytes(stage.bytes)), qs(viz::format_bytes(stage.of_bytes)));
  if (stage.ms >= kEtaAfterMs && stage.bytes > 0) {
    const double left = stage.ms / stage.bytes * std::max(0.0, stage.of_bytes - stage.bytes);
    text += QString(", about %1 s left").arg(std::max(1.0, left / 1000), 0, 'f', 0);
  }
  return text;
}

LoadingRow::LoadingRow(Workspace& workspace, SessionController& controller, QWidget* parent)
    : QFrame(parent), m_workspace(workspace), m_controller(controller) {
  setObjectName("messageBar");
  setFixedHeight(kRow);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(13, 0, 14, 0);
  row->setSpacing(18);
  m_title = new QLabel(this);
  m_title->setFont(uiFont(13, true));
  row->addWidget(m_title);
  for (QLabel*& stage : m_stages) {
    stage = new QLabel(this);
    row->addWidget(stage);
  }
  m_bar = new QProgressBar(this);
  m_bar->setRange(0, 1000);
  m_bar->setTextVisible(false);
  m_bar->setObjectName("loadingBar");
  m_bar->setFixedHeight(4);
  m_bar->setMaximumWidth(240);
  m_bar->setAccessibleName("Progress of opening the model");
  row->addWidget(m_bar, 1);
  row->addStretch(0);
  m_cancel = new QPushButton("Cancel", this);
  m_cancel->setAccessibleName("Cancel opening the model");
  m_cancel->setToolTip("The model that was open stays");
  row->addWidget(m_cancel);
  m_show_after.setSingleShot(true);
  m_show_after.setInterval(kShowAfterMs);
  connect(&m_show_after, &QTimer::timeout, this, [this] {
    show();
    refresh();
  });
  connect(m_cancel, &QPushButton::clicked, this, [this] { m_controller.stopLoading(); });
  connect(&workspace, &Workspace::snapshotChanged, this, [this] { refresh(); });
  connect(&workspace, &Workspace::themeChanged, this, [this] { refresh(); });
  hide();
}

QString LoadingRow::stageText(int stage) const { return m_stages[static_cast<std::size_t>(stage)]->property("words").toString(); }

void LoadingRow::refresh() {
  const Snapshot& s = m_workspace.snapshot();
  if (s.phase != RunPhase::loading || s.loading.size() != kStages) {
    m_show_after.stop();
    m_slow_said = -1;
    hide();
    return;
  }
  if (!isVisible() && !m_show_after.isActive()) m_show_after.start();
  const viz::Theme& t = m_workspace.theme();
  const QString name = m_controller.modelName();
  m_title->setText("Opening " + m_title->fontMetrics().elidedText(name, Qt::ElideMiddle, 200));
  m_title->setToolTip(m_controller.modelFolder());
  for (int i = 0; i < kStages; ++i) {
    const LoadStage& stage = s.loading[static_cast<std::size_t>(i)];
    const bool running = stage.state == LoadStage::State::running, done = stage.state == LoadStage::State::done;
    const QString words = stageWords(stage);
    QLabel& label = *m_stages[static_cast<std::size_t>(i)];
    const QString plain = qs(stage.name) + (words.isEmpty() ? QString() : ' ' + words);
    label.setProperty("words", plain);
    label.setAccessibleName(plain + (done ? ", done" : running ? ", running" : ", waiting"));
    label.setText(QString("<span style='color:%1'>%2 %3</span> <span style='color:%4'>%5</span>")
                      .arg(toColor(running ? t.text : t.secondary).name(),
                           done      ? "✓"
                           : running ? "▸"
                                     : "·",
                           running ? "<b>" + qs(stage.name) + "</b>" : qs(stage.name), toColor(t.secondary).name(), words));
    if (!running) continue;
    m_bar->setRange(0, stage.of_bytes > 0 ? 1000 : 0);  // 0, 0: busy, progress unknown
    if (stage.of_bytes > 0) m_bar->setValue(static_cast<int>(1000 * std::clamp(stage.bytes / stage.of_bytes, 0.0, 1.0)));
    if (stage.ms > kLongStageMs && m_slow_said != i) {
      m_slow_said = i;
      Q_EMIT slow(QString("opening %1: '%2' takes longer than %3 s (%4)").arg(name, qs(stage.name)).arg(kLongStageMs / 1000).arg(words));
    }
  }
}

}  // namespace kvscope
