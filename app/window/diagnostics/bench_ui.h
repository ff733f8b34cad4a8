// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <QJsonObject>
#include <QString>

namespace kvscope {

class MainWindow;

/// A limit of a script: "p95" of "submit" at most 4 ms.
struct BenchGate {
  QString figure, quantile;
  double limit = 0;
};

/// One kind of input, played so many times after some that do not count.
struct BenchAction {
  QString what;
  int times = 40, warm_up = 5;
  QJsonObject words;  // what else the script says about it
  std::vector<BenchGate> gates;
};

/// What --bench-ui plays; tests/bench/ui.json is an example.
struct BenchScript {
  QString prompt;  // empty: that of the start
  std::vector<BenchAction> actions;
  std::vector<BenchGate> gates;  // of the whole: open, stall (ms), memory (MiB)
};

/// Throws UsageError: no such file, no JSON, or a word that is unknown, each named.
BenchScript readBenchScript(const std::string& path);

/// Plays the script with real events, prints a line per figure and returns 0, or 1 if a gate was passed or there was no result.
int runBenchUi(MainWindow& window, const BenchScript& script);

/// Names that a script may use.
std::vector<QString> benchActions();

}  // namespace kvscope
