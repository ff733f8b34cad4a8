// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/stores/unfinished_sweep.h"

#include <csignal>

#include <QCoreApplication>
#include <QFileInfo>
#include <QSettings>

#include "app/window/panels/stores/sweep_process.h"
#include "app/window/shell/panel_paint.h"

namespace kvscope {

namespace {

constexpr const char *kGroup = "text_sweep", *kWindow = "text_sweep/window";  // process of the window that runs it; 0: nobody does

/// The next start may have another folder to name it from.
QString absolute(const QString& path) { return QFileInfo::exists(path) ? QFileInfo(path).absoluteFilePath() : path; }

void write(QSettings& settings, const TextSweep& sweep, qint64 window) {
  QStringList policies;
  for (const std::string& policy : sweep.policies) policies << qs(policy);
  settings.beginGroup(kGroup);
  settings.setValue("texts", absolute(sweep.texts));
  settings.setValue("store", absolute(sweep.store));
  settings.setValue("model", absolute(sweep.model));
  settings.setValue("stream", sweep.stream);
  settings.setValue("temperature", sweep.temperature);
  settings.setValue("policies", policies);
  settings.setValue("budgets", sweep.budgets);
  settings.setValue("of_bytes", sweep.of_bytes);
  settings.setValue("seeds", sweep.seeds);
  settings.setValue("depths", sweep.hidden.depths);
  settings.setValue("samples", sweep.hidden.samples);
  settings.setValue("tokens", sweep.hidden.tokens);
  settings.endGroup();
  settings.setValue(kWindow, window);
}

TextSweep read(QSettings& settings) {
  TextSweep out;
  settings.beginGroup(kGroup);
  out.texts = settings.value("texts").toString();
  out.store = settings.value("store").toString();
  out.model = settings.value("model").toString();
  out.stream = settings.value("stream").toBool();
  out.temperature = settings.value("temperature").toDouble();
  for (const QString& policy : settings.value("policies").toStringList()) out.policies.push_back(policy.toStdString());
  out.budgets = settings.value("budgets").toStringList();
  out.of_bytes = settings.value("of_bytes").toBool();
  out.seeds = settings.value("seeds", out.seeds).toInt();
  out.hidden.depths = settings.value("depths", out.hidden.depths).toInt();
  out.hidden.samples = settings.value("samples", out.hidden.samples).toInt();
  out.hidden.tokens = settings.value("tokens", out.hidden.tokens).toInt();
  settings.endGroup();
  return out;
}

}  // namespace

UnfinishedSweep::UnfinishedSweep(SweepProcess& process, QSettings* settings, QObject* parent)
    : QObject(parent), m_process(process), m_settings(settings) {
  if (!m_settings) return;
  QMetaObject::invokeMethod(this, &UnfinishedSweep::recall, Qt::QueuedConnection);
}

void UnfinishedSweep::recall() {
  connect(&m_process, &SweepProcess::changed, this, &UnfinishedSweep::keep);
  const TextSweep sweep = read(*m_settings);
  const auto window = m_settings->value(kWindow).toLongLong();
  const bool runs = window > 0 && window != QCoreApplication::applicationPid() && ::kill(static_cast<pid_t>(window), 0) == 0;
  if (runs || m_process.running() || sweep.policies.empty() || !QFileInfo(sweep.store).isDir()) return;
  m_process.recall(sweep);
  if (window > 0) Q_EMIT found(sweep.store);
}

void UnfinishedSweep::keep() {
  using State = SweepProcess::State;
  if (m_process.state() == State::done) return m_settings->remove(kGroup);
  write(*m_settings, m_process.sweep(), m_process.running() ? QCoreApplication::applicationPid() : 0);
}

}  // namespace kvscope
