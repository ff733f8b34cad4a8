// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/stores/unfinished_sweep.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include <QCoreApplication>
#include <QCryptographicHash>
#include <QDateTime>
#include <QFileInfo>
#include <QSettings>

#include "app/window/panels/stores/sweep_process.h"
#include "app/window/rows/rows.h"
#include "app/window/shell/panel_paint.h"

namespace kvscope {

namespace {

constexpr const char* kAll = "text_sweeps";  // a group each
constexpr const char *kPolicies = "policies", *kBegan = "began", *kAnswered = "answered", *kCancelled = "cancelled";
constexpr const char* kFilled = "filled";  // its store has been begun
constexpr const char* kWindow = "window";  // process of the window that runs it; 0: nobody does
constexpr qsizetype kMostSweeps = 20;      // that are remembered

/// Calls f(key, field) for all but the policies.
template <typename Sweep, typename F>
void forFields(Sweep& sweep, F f) {
  f("texts", sweep.texts);
  f("store", sweep.store);
  f("model", sweep.model);
  f("stream", sweep.stream);
  f("temperature", sweep.temperature);
  f("budgets", sweep.budgets);
  f("of_bytes", sweep.of_bytes);
  f("seeds", sweep.seeds);
  f("depths", sweep.hidden.depths);
  f("samples", sweep.hidden.samples);
  f("tokens", sweep.hidden.tokens);
}

/// The next start may have another folder to name them from.
TextSweep forLater(TextSweep sweep) {
  for (QString* path : {&sweep.texts, &sweep.store, &sweep.model})
    if (!path->isEmpty()) *path = QFileInfo(*path).absoluteFilePath();
  return sweep;
}

/// Sweeps that ask for the same are one.
QString keyOf(const TextSweep& sweep) {
  return QCryptographicHash::hash(argumentsOf(forLater(sweep)).join('\n').toUtf8(), QCryptographicHash::Sha1).toHex();
}

/// What is remembered of one sweep.
class Group {
 public:
  Group(QSettings& settings, QString key) : m_settings(settings), m_prefix(QString("%1/%2").arg(kAll, std::move(key))) {}

  QVariant value(const char* key, const QVariant& otherwise = {}) const { return m_settings.value(m_prefix + '/' + key, otherwise); }
  void set(const char* key, const QVariant& value) { m_settings.setValue(m_prefix + '/' + key, value); }
  void remove() { m_settings.remove(m_prefix); }
  void write(const TextSweep& sweep) {
    QStringList policies;
    for (const std::string& policy : sweep.policies) policies << qs(policy);
    const TextSweep later = forLater(sweep);
    forFields(later, [this](const char* key, const auto& field) { set(key, field); });
    set(kPolicies, policies);
  }
  TextSweep sweep() const {
    TextSweep out;
    forFields(out, [this]<typename T>(const char* key, T& field) { field = value(key, field).template value<T>(); });
    for (const QString& policy : value(kPolicies).toStringList()) out.policies.push_back(policy.toStdString());
    return out;
  }
  bool runsElsewhere() const {
    const auto window = value(kWindow).toLongLong();
    return window > 0 && window != QCoreApplication::applicationPid() && ::kill(static_cast<pid_t>(window), 0) == 0;
  }

 private:
  QSettings& m_settings;
  QString m_prefix;
};

/// Of all that are remembered, the newest first.
QStringList keysIn(QSettings& settings) {
  settings.sync();  // other windows write there, too
  settings.beginGroup(kAll);
  QStringList keys = settings.childGroups();
  settings.endGroup();
  std::ranges::stable_sort(keys, std::ranges::greater(),
                           [&](const QString& key) { return Group(settings, key).value(kBegan).toLongLong(); });
  return keys;
}

}  // namespace

UnfinishedSweep::UnfinishedSweep(SweepProcess& process, MessageBar& notices, QSettings* settings, QObject* parent)
    : QObject(parent), m_process(process), m_notices(notices), m_settings(settings) {
  if (!m_settings) return;
  QMetaObject::invokeMethod(this, &UnfinishedSweep::recallAtStart, Qt::QueuedConnection);
}

std::vector<UnfinishedSweep::Remembered> UnfinishedSweep::all() const {
  std::vector<Remembered> out;
  for (const QString& key : keysIn(*m_settings)) {
    const Group group(*m_settings, key);
    Remembered one{group.sweep()};
    if (group.runsElsewhere() || one.sweep.policies.empty() || !QFileInfo(one.sweep.store).isDir()) continue;
    one.cancelled = group.value(kCancelled).toBool();
    one.offered = !one.cancelled && !group.value(kAnswered).toBool();
    out.push_back(std::move(one));
  }
  return out;
}

/// How the sweep ended that this window was at is said already, where one can go on with it.
std::optional<TextSweep> UnfinishedSweep::next() const {
  using State = SweepProcess::State;
  if (m_process.running()) return std::nullopt;
  const bool said = m_process.state() == State::failed || m_process.state() == State::stopped;
  const QString own = said ? keyOf(m_process.sweep()) : QString();
  for (const Remembered& one : all())
    if (one.offered && keyOf(one.sweep) != own) return one.sweep;
  return std::nullopt;
}

void UnfinishedSweep::recall(const Remembered& one) {
  m_process.recall(one.sweep, one.cancelled ? SweepProcess::State::stopped : SweepProcess::State::left);
}

void UnfinishedSweep::recallOf(const QString& folder) {
  if (!m_settings || m_process.running() || QFileInfo(folder) == QFileInfo(m_process.sweep().store)) return;
  for (const Remembered& one : all())
    if (QFileInfo(one.sweep.store) == QFileInfo(folder)) return recall(one);
}

void UnfinishedSweep::recallAtStart() {
  connect(&m_process, &SweepProcess::changed, this, &UnfinishedSweep::keep);
  connect(&m_process, &SweepProcess::storeBegun, this, &UnfinishedSweep::keep);
  connect(&m_notices, &MessageBar::dismissed, this, &UnfinishedSweep::answerByCross);
  // Another session was opened, or another offer took the place of this one: it comes back after that.
  connect(&m_notices, &MessageBar::cleared, this, &UnfinishedSweep::offer, Qt::QueuedConnection);
  connect(&m_notices, &MessageBar::said, this, &UnfinishedSweep::offer, Qt::QueuedConnection);
  if (m_process.running()) return;
  const std::vector<Remembered> left = all();
  const auto first = std::ranges::find_if(left, &Remembered::offered);
  if (!left.empty()) recall(first != left.end() ? *first : left.front());
  if (first != left.end()) Q_EMIT found(first->sweep.store);
  offer();
}

void UnfinishedSweep::keep() {
  using State = SweepProcess::State;
  const State state = m_process.state();
  Group group(*m_settings, keyOf(m_process.sweep()));
  if (state == State::running) {
    group.write(m_process.sweep());
    group.set(kWindow, QCoreApplication::applicationPid());
    group.set(kBegan, QDateTime::currentMSecsSinceEpoch());
    for (const char* key : {kAnswered, kCancelled}) group.set(key, false);
    if (m_process.announced()) group.set(kFilled, true);
    const QStringList keys = keysIn(*m_settings);
    for (const QString& old : keys.mid(std::min(kMostSweeps, keys.size()))) Group(*m_settings, old).remove();
  } else if (state == State::stopped) {
    group.set(kWindow, 0);
    group.set(kCancelled, true);
  } else if (state == State::done || (state == State::failed && !group.value(kFilled).toBool())) {
    group.remove();
  } else if (state == State::failed) {
    group.set(kWindow, 0);
  } else if (state == State::left) {
    group.set(kFilled, true);
  }
  offer();
}

void UnfinishedSweep::offer() {
  const std::optional<TextSweep> sweep = next();
  const QString words = sweep ? QString("A sweep over texts was not finished. What it has is in %1").arg(sweep->store) : QString();
  if (words != m_said && !m_said.isEmpty()) m_notices.takeBack(std::exchange(m_said, {}));
  if (!sweep || m_notices.holds(words)) return;
  m_offered = *sweep;
  m_said = words;
  m_notices.showAfter(
      words, words, "Go on", [this] { goOn(); }, MessageBar::Tone::news);
}

void UnfinishedSweep::goOn() {
  const TextSweep sweep = m_offered;
  m_process.recall(sweep, SweepProcess::State::left);
  m_process.again();
}

/// Its page still has it.
void UnfinishedSweep::answerByCross(const QString& details) {
  if (m_said.isEmpty() || details != m_said) return;
  m_said.clear();
  Group(*m_settings, keyOf(m_offered)).set(kAnswered, true);
  QMetaObject::invokeMethod(this, &UnfinishedSweep::offer, Qt::QueuedConnection);  // once this one is gone
}

}  // namespace kvscope
