// SPDX-License-Identifier: Apache-2.0
#include "app/window/diagnostics/bench_ui.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <set>

#include <QJsonArray>
#include <QJsonDocument>

#include "app/window/canvas/gl_device.h"
#include "app/window/diagnostics/bench_ui_player.h"
#include "app/window/shell/main_window.h"
#include "core/error.h"
#include "io/files.h"
#include "snapshot/held_bytes.h"

namespace kvscope {

namespace {

std::vector<BenchGate> gatesOf(const QJsonObject& object, const std::string& where) {
  static const std::set<QString> quantiles = {"p50", "p95", "p99", "max"};
  std::vector<BenchGate> gates;
  for (auto figure = object.begin(); figure != object.end(); ++figure) {
    const QJsonObject limits = figure.value().toObject();
    for (auto limit = limits.begin(); limit != limits.end(); ++limit) {
      if (!quantiles.count(limit.key()) || !limit.value().isDouble())
        throw UsageError(where + ": a gate is \"figure\": {\"p95\": 4}, with p50, p95, p99 or max, got \"" + limit.key().toStdString() +
                         "\"");
      gates.push_back({figure.key(), limit.key(), limit.value().toDouble()});
    }
    if (limits.isEmpty()) throw UsageError(where + ": the gate \"" + figure.key().toStdString() + "\" has no limit");
  }
  return gates;
}

/// Prints lines and remembers whether a limit was passed.
class BenchReport {
 public:
  void head(const MainWindow& window, const Snapshot& s) {
    std::printf("%s: %d layers x %d KV heads x %zu tokens, %zu runs, %zu steps; window %dx%d\n", s.model.name.c_str(), s.model.n_layers,
                s.model.n_kv_heads, s.tokens.size(), s.lanes.size(), s.lanes.empty() ? 0 : s.lanes.front().steps.size(), window.width(),
                window.height());
    std::printf("%-12s %-18s %5s %9s %9s %9s %9s   gates\n", "input", "", "n", "p50", "p95", "p99", "max");
  }
  void row(const QString& what, const QString& figure, const Durations& d, const std::vector<BenchGate>& gates) {
    std::string words;
    for (const BenchGate& gate : gates) {
      if (gate.figure != figure) continue;
      const double q = gate.quantile == "p50" ? 0.5 : gate.quantile == "p95" ? 0.95 : gate.quantile == "p99" ? 0.99 : 1;
      const double value = d.quantile(q);
      const bool past = !(value <= gate.limit);  // no figure is no success
      m_past = m_past || past;
      words += gate.quantile.toStdString() + (past ? " PAST " : " within ") + QString::number(gate.limit).toStdString() + "  ";
    }
    std::printf("%-12s %-18s %5zu %9.2f %9.2f %9.2f %9.2f   %s\n", qPrintable(what), qPrintable(figure), d.n(), d.quantile(0.5),
                d.quantile(0.95), d.quantile(0.99), d.quantile(1), words.c_str());
    std::fflush(stdout);
  }
  void unknown(const QString& what, const std::vector<BenchGate>& gates, const std::set<QString>& figures) {
    for (const BenchGate& gate : gates) {
      if (figures.count(gate.figure)) continue;
      std::printf("%-12s %-18s has no such figure\n", qPrintable(what), qPrintable(gate.figure));
      m_past = true;
    }
  }
  bool past() const { return m_past; }

 private:
  bool m_past = false;
};

}  // namespace

BenchScript readBenchScript(const std::string& path) {
  QJsonParseError error;
  const QJsonDocument document = QJsonDocument::fromJson(QByteArray::fromStdString(read_text(path, 1u << 20)), &error);
  if (!document.isObject())
    throw UsageError(path + ": expected a script in JSON, got " +
                     (error.error ? error.errorString().toStdString() : std::string("no object")));
  const QJsonObject root = document.object();
  BenchScript script;
  script.prompt = root.value("prompt").toString().repeated(std::max(1, root.value("repeat").toInt(1)));
  script.gates = gatesOf(root.value("gates").toObject(), path);
  const std::vector<QString> known = benchActions();
  for (const QJsonValue& value : root.value("actions").toArray()) {
    BenchAction action;
    action.words = value.toObject();
    action.what = action.words.value("do").toString();
    if (std::find(known.begin(), known.end(), action.what) == known.end()) {
      std::string names;
      for (const QString& name : known) names += (names.empty() ? "" : ", ") + name.toStdString();
      throw UsageError(path + ": unknown action \"" + action.what.toStdString() + "\", expected one of " + names);
    }
    action.times = std::max(1, action.words.value("times").toInt(action.times));
    action.warm_up = std::max(0, action.words.value("warm_up").toInt(action.warm_up));
    action.gates = gatesOf(action.words.value("gates").toObject(), path);
    script.actions.push_back(std::move(action));
  }
  return script;
}

int runBenchUi(MainWindow& window, const BenchScript& script) {
  if (!window.views().noPictures().isEmpty()) {
    std::cerr << "kvscope: " << window.views().noPictures().toStdString() << "\n";
    return 1;
  }
  BenchPlayer player(window);
  if (!player.start(script.prompt)) {
    std::cerr << "kvscope: no result: " << window.workspace().snapshot().failure << "\n";
    return 1;
  }
  BenchReport report;
  report.head(window, window.workspace().snapshot());
  for (const BenchAction& action : script.actions) {
    const BenchFigures figures = player.play(action);
    std::set<QString> names;
    for (const auto& [figure, durations] : figures) {
      report.row(action.what, figure, durations, action.gates);
      names.insert(figure);
    }
    report.unknown(action.what, action.gates, names);
  }
  for (const QString& event : player.longest()) std::printf("long event, %s\n", qPrintable(event));
  Durations open, memory, stall = player.stalls();
  open.add(window.timing().latency().openMs().value_or(kNotAvailable));
  // An engine holds more than what it publishes: only of a synthetic snapshot is it known what the window needs beside it.
  const double held = held_bytes(window.workspace().snapshot());
  if (window.timing().synthetic()) memory.add((player.mostResidentBytes() - held) / (1 << 20));
  report.row("whole", "open", open, script.gates);
  report.row("whole", "stall", stall, script.gates);
  report.row("whole", "memory", memory, script.gates);
  report.unknown("whole", script.gates, {"open", "stall", "memory"});
  if (window.timing().synthetic())
    std::printf("memory: MiB resident at most, less the %.0f MiB that the snapshot holds\n", held / (1 << 20));
  return report.past() ? 1 : 0;
}

}  // namespace kvscope
