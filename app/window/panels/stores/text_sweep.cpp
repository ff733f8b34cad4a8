// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/stores/text_sweep.h"

#include <algorithm>

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

#include "app/window/files/usual_folder.h"
#include "app/window/session/run_estimate.h"
#include "app/window/shell/panel_paint.h"
#include "core/assets.h"
#include "core/error.h"
#include "io/files.h"
#include "io/shell_line.h"
#include "policy/catalog.h"

namespace kvscope {

namespace {

constexpr const char* kProgram = "kvscope-cli";
constexpr std::size_t kMostBytes = std::size_t(64) << 20;  // of texts that are counted before

/// "0,0.25,0.5,0.75,1": from the first place to the last; one alone is in the middle.
QString depthsOf(int n) {
  QStringList out;
  for (int i = 0; i < n; ++i) out << QString::number(n == 1 ? 0.5 : static_cast<double>(i) / (n - 1), 'g', 3);
  return out.join(',');
}

}  // namespace

QStringList argumentsOf(const TextSweep& sweep) {
  QStringList policies;
  for (const std::string& policy : sweep.policies) policies << qs(policy);
  QStringList out = {"sweep"};
  if (!sweep.model.isEmpty()) out << "--model" << sweep.model;
  if (sweep.texts.isEmpty())
    out << "--hidden-numbers"
        << "--context" << QString::number(sweep.hidden.tokens) << "--depths" << depthsOf(sweep.hidden.depths) << "--samples"
        << QString::number(sweep.hidden.samples);
  else
    out << "--texts" << sweep.texts;
  out << "--policies" << policies.join(',') << (sweep.of_bytes ? "--bytes" : "--ratios") << sweep.budgets.join(',');
  if (sweep.seeds != 1) out << "--seeds" << QString::number(sweep.seeds);
  if (sweep.stream)
    out << "--prompt-mode"
        << "stream";
  if (sweep.temperature > 0) out << "--temperature" << QString::number(sweep.temperature);
  return out << "--store" << sweep.store << "--table";
}

QString shellLine(const QString& program, const QStringList& arguments) {
  std::vector<std::string> words = {program.toStdString()};
  for (const QString& argument : arguments) words.push_back(argument.toStdString());
  return qs(shell_line(words));
}

QString sweepProgram() {
  const QString here = QDir(QCoreApplication::applicationDirPath()).filePath(kProgram);
  return QFileInfo(here).isExecutable() ? here : QStandardPaths::findExecutable(kProgram);
}

QString ownTexts() { return qs(asset("text/questions.jsonl")); }

std::vector<std::string> policiesOf(const std::vector<LaneSpec>& lanes) {
  std::vector<std::string> out;
  for (const LaneSpec& lane : lanes) {
    if (lane.name.empty() || !find_policy(lane.name).takes_bytes) continue;
    const std::string policy = methodOf(lane);
    if (std::ranges::find(out, policy) == out.end()) out.push_back(policy);
  }
  return out;
}

std::vector<std::string> parsePolicies(const QString& text, QString* wrong) {
  std::vector<std::string> out;
  for (const std::string& one : split_policies(text.toStdString())) {
    const QString spec = qs(one);
    try {
      static const QRegularExpression kBudget("[:,](slots|ratio|bytes)=");
      if (spec.contains(kBudget)) throw Error(spec.toStdString() + ": expected no budget, got one; the budgets are those below");
      const std::string name = spec.section(':', 0, 0).toStdString();
      if (name == reference_policy()) throw Error(name + ": it runs in any case, and takes no budget");
      if (const PolicyInfo& info = find_policy(name); !info.takes_bytes)
        throw Error(name + ": it takes no budget, and a sweep compares budgets; a run of it can stand beside others in Compare");
      const std::string policy = methodOf(parse_lane_spec(with_param(spec.toStdString(), "bytes", "0.5")));  // checked with a budget
      if (std::ranges::find(out, policy) == out.end()) out.push_back(policy);
    } catch (const Error& error) {
      if (wrong->isEmpty()) *wrong = QString::fromUtf8(error.what());
    }
  }
  return out;
}

int countTexts(const QString& file) {
  const std::string text = read_text(file.toStdString(), kMostBytes);
  int n = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    n += std::string_view(text).substr(begin, end - begin).find_first_not_of(" \t\r") != std::string_view::npos;
    begin = end + 1;
  }
  return n;
}

QString storeFor(const QString& texts) {
  const QFileInfo file(texts.isEmpty() ? QString("hidden-numbers") : texts);
  QString folder = file.absolutePath();
  if (texts.isEmpty() || QFileInfo(ownTexts()) == file || !QFileInfo(folder).isWritable()) folder = usualFolder();
  return QDir(folder).filePath(file.completeBaseName() + "-sweep");
}

}  // namespace kvscope
