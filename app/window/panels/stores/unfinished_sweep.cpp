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

constexpr const char *kGroup = "text_sweep", *kPolicies = "text_sweep/policies";
constexpr const char* kWindow = "text_sweep/window";  // process of the window that runs it; 0: nobody does

/// Calls f(key, field) for all but the policies.
template <typename Sweep, typename F>
void forFields(Sweep& sweep, F f) {
  f("text_sweep/texts", sweep.texts);
  f("text_sweep/store", sweep.store);
  f("text_sweep/model", sweep.model);
  f("text_sweep/stream", sweep.stream);
  f("text_sweep/temperature", sweep.temperature);
  f("text_sweep/budgets", sweep.budgets);
  f("text_sweep/of_bytes", sweep.of_bytes);
  f("text_sweep/seeds", sweep.seeds);
  f("text_sweep/depths", sweep.hidden.depths);
  f("text_sweep/samples", sweep.hidden.samples);
  f("text_sweep/tokens", sweep.hidden.tokens);
}

void write(QSettings& settings, TextSweep sweep, qint64 window) {
  for (QString* path : {&sweep.texts, &sweep.store, &sweep.model})  // the next start may have another folder to name them from
    if (QFileInfo::exists(*path)) *path = QFileInfo(*path).absoluteFilePath();
  QStringList policies;
  for (const std::string& policy : sweep.policies) policies << qs(policy);
  forFields(sweep, [&settings](const char* key, const auto& field) { settings.setValue(key, field); });
  settings.setValue(kPolicies, policies);
  settings.setValue(kWindow, window);
}

TextSweep read(const QSettings& settings) {
  TextSweep out;
  forFields(out, [&settings]<typename T>(const char* key, T& field) { field = settings.value(key, field).template value<T>(); });
  for (const QString& policy : settings.value(kPolicies).toStringList()) out.policies.push_back(policy.toStdString());
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
