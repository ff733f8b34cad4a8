// SPDX-License-Identifier: Apache-2.0
// Five runs on three prompts in both prompt modes: every surface that prints a figure of a run prints the one that the steps of the trace
// come to, number by number, and its text where it is for people. The expected numbers are plain loops over the trace's JSON.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include <gtest/gtest.h>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QRegularExpression>
#include <QTemporaryDir>

#include "app/window/files/report.h"
#include "app/window/panels/runs/sweep_data.h"
#include "snapshot/number_text.h"
#include "tests/paths.h"
#include "trace/trace_reader.h"
#include "viz/draw/format.h"
#include "viz/headless.h"
#include "viz/reduce/lecture.h"
#include "viz/views/compare/compare.h"
#include "viz/views/timeline/timeline.h"
#include "window/support/file_bytes.h"

namespace kvscope {
namespace {

using viz::testing::Headless;

const char* const kSpecs[] = {"full", "streaming:ratio=0.2", "h2o:ratio=0.2", "snapkv:ratio=0.2",
                              "keepkv:ratio=0.2"};  // as in a sweep of ratio 0.2

struct Expected {
  double kl = 0, nll = 0, top1 = 0, attention_loss = 0, local = 0, slots = 0, used = 0, allocated = 0;
  int compared = 0, same = 0;
};

QByteArray cli(const QStringList& arguments) {
  QProcess process;
  process.start(KVSCOPE_CLI, arguments);
  EXPECT_TRUE(process.waitForFinished(90000));
  EXPECT_EQ(process.exitCode(), 0) << process.readAllStandardError().toStdString();
  return process.readAllStandardOutput();
}

/// From the JSON alone: steps after the prompt, or all where the prompt was streamed.
Expected expected_of(const QJsonObject& trace, const QJsonObject& lane) {
  const bool prefill = trace["prompt_mode"] == "prefill";
  const int n_prompt = trace["n_prompt"].toInt();
  Expected out;
  int n_nll = 0, n_steps = 0;
  double slots = 0;
  for (const QJsonValue& value : lane["steps"].toArray()) {
    const QJsonObject step = value.toObject();
    const QJsonArray heads = step["heads"].toArray();
    slots = 0;
    for (const QJsonValue& head : heads) slots += static_cast<double>(head["slots"].toArray().size());
    slots /= static_cast<double>(heads.size());
    if (prefill && step["position"].toInt() < n_prompt) continue;
    ++n_steps;
    out.kl += step["kl"].toDouble();
    out.same += step["top1_same"].toBool();
    if (step["nll"].isDouble()) out.nll += step["nll"].toDouble(), ++n_nll;
    double loss = 0, local = 0;
    for (const QJsonValue& head : heads) loss += head["attention_loss"].toDouble(), local += head["local_rel_l2"].toDouble();
    out.attention_loss += loss / static_cast<double>(heads.size());
    out.local += local / static_cast<double>(heads.size());
  }
  out.compared = n_steps;
  out.kl /= n_steps, out.attention_loss /= n_steps, out.local /= n_steps;
  out.top1 = static_cast<double>(out.same) / n_steps;
  out.nll /= n_nll;
  out.slots = slots;
  out.used = lane["kv_bytes"].toDouble();
  out.allocated = lane["bytes"].toDouble();
  return out;
}

void near(double got, double want, const std::string& where) { EXPECT_NEAR(got, want, 1e-12 * std::max(1.0, std::abs(want))) << where; }

/// Cells of a CSV without quoted quotes.
std::vector<std::map<std::string, std::string>> rows_of(const std::string& csv) {
  static const QRegularExpression between(",(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)");
  const QStringList lines = QString::fromStdString(csv).split('\n', Qt::SkipEmptyParts);
  std::vector<std::map<std::string, std::string>> out;
  for (int i = 1; i < lines.size(); ++i) {
    const QStringList names = lines[0].split(','), cells = lines[i].split(between);
    EXPECT_EQ(names.size(), cells.size()) << lines[i].toStdString();
    for (int c = 0; c < std::min(names.size(), cells.size()); ++c)
      out.resize(static_cast<std::size_t>(i)), out.back()[names[c].toStdString()] = QString(cells[c]).remove('"').toStdString();
  }
  return out;
}

std::size_t column(const viz::Table& table, const std::string& begins) {
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    if (table.columns[c].starts_with(begins)) return c;
  ADD_FAILURE() << "no column " << begins;
  return 0;
}

/// The cells of a report's table of runs, by row, under the first words of their column's heading.
std::vector<std::map<std::string, std::string>> runs_of(QString html) {
  html = html.section("<h2>Runs</h2>", 1).section("<h2>Texts</h2>", 0, 0).replace("&nbsp;", " ");
  static const QRegularExpression table("<table.*?</table>"), row("<tr.*?</tr>"), cell("<t[dh][^>]*>(.*?)</t[dh]>"), tag("<[^>]*>");
  std::vector<std::map<std::string, std::string>> out;
  for (auto t = table.globalMatch(html); t.hasNext();) {
    QStringList names;
    std::size_t n = 0;
    for (auto r = row.globalMatch(t.next().captured()); r.hasNext();) {
      QStringList cells;
      for (auto c = cell.globalMatch(r.next().captured()); c.hasNext();) cells << c.next().captured(1);
      if (names.isEmpty()) {
        for (const QString& c : cells) names << QString(c).section('<', 0, 0).trimmed();
        continue;
      }
      out.resize(std::max(out.size(), ++n));
      for (int i = 0; i < std::min(names.size(), cells.size()); ++i)
        out[n - 1][names[i].toStdString()] = QString(cells[i]).remove(tag).trimmed().toStdString();
    }
  }
  return out;
}

/// What one command line's trace says, and what its figures come to by plain loops.
struct Traced {
  explicit Traced(const QStringList& arguments) {
    const QTemporaryDir folder;
    const QString path = folder.filePath("t.json");
    cli(QStringList{"trace", "--detail", "why", "--out", path, "--quiet"} + arguments);
    const QByteArray text = bytesOf(path);
    json = QJsonDocument::fromJson(text).object();
    trace = read_trace(text.toStdString(), "t.json");
    for (const QJsonValue& lane : json["lanes"].toArray()) want.push_back(expected_of(json, lane.toObject()));
  }
  QJsonObject json;
  Trace trace;
  std::vector<Expected> want;
};

/// Every test asks the same ones, and a trace takes longer to compute and to read than the questions take.
const Traced& traced(const QStringList& arguments) {
  static std::map<QStringList, std::unique_ptr<Traced>> all;
  std::unique_ptr<Traced>& one = all[arguments];
  if (!one) one = std::make_unique<Traced>(arguments);
  return *one;
}

class RunFiguresEverywhere : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  void SetUp() override {
    const auto& [prompt, mode] = GetParam();
    common = {"--prompt-file", QString::fromStdString(in_checkout(std::string("assets/prompts/") + prompt)),
              "--prompt-mode", mode,
              "--generate",    "6",
              "--follow",      "reference"};
    for (const char* spec : kSpecs)
      if (std::string(spec) != "full") lanes << "--lane" << spec;
    const Traced& of = traced(common + lanes);
    json = of.json;
    trace = &of.trace;
    want = of.want;
    ASSERT_EQ(want.size(), std::size(kSpecs));
    EXPECT_GT(want[1].kl, 0) << "a case in which nothing differs would prove nothing";
  }
  const Snapshot& snapshot() const { return trace->snapshot; }
  viz::StepRange counted() const { return {snapshot().prefill_mode ? 1 : 0, static_cast<int>(snapshot().lanes[0].steps.size()) - 1}; }

  QStringList common, lanes;
  QJsonObject json;
  const Trace* trace = nullptr;
  std::vector<Expected> want;
};

TEST_P(RunFiguresEverywhere, TheCommandLinesJsonAndTableSayWhatTheTraceComesTo) {
  const QJsonArray run = QJsonDocument::fromJson(cli(QStringList{"run", "--json"} + common + lanes)).object()["lanes"].toArray();
  const QStringList table = QString::fromUtf8(cli(QStringList{"run"} + common + lanes)).split('\n', Qt::SkipEmptyParts);
  ASSERT_EQ(run.size(), static_cast<int>(want.size()));
  for (std::size_t l = 0; l < want.size(); ++l) {
    const QJsonObject lane = run[static_cast<int>(l)].toObject();
    near(lane["kl"].toDouble(), want[l].kl, kSpecs[l]);
    near(lane["nll"].toDouble(), want[l].nll, kSpecs[l]);
    near(lane["top1_same"].toDouble(), want[l].top1, kSpecs[l]);
    near(lane["slots"].toDouble(), want[l].slots, kSpecs[l]);
    near(lane["kv_bytes"].toDouble(), want[l].used, kSpecs[l]);
    near(lane["bytes"].toDouble(), want[l].allocated, kSpecs[l]);
    static const QRegularExpression gap(" {2,}");
    const auto of_run = [&](const QString& line) { return line.split(gap).value(1) == kSpecs[l]; };
    const auto line = std::ranges::find_if(table, of_run);
    ASSERT_NE(line, table.end()) << kSpecs[l];
    const QStringList cells = line->split(gap);
    ASSERT_EQ(cells.size(), 7) << line->toStdString();
    EXPECT_EQ(cells[2].toStdString(), format_mean(want[l].slots));
    EXPECT_EQ(cells[3].toStdString(), format_bytes(want[l].used));
    EXPECT_EQ(cells[4].toStdString(), format_number(want[l].kl));
    EXPECT_EQ(cells[5].toStdString(), format_percent(want[l].top1));
    EXPECT_EQ(cells[6].toStdString(), format_number(want[l].nll));
  }
}

TEST_P(RunFiguresEverywhere, SoDoTheRowsOfASweep) {
  const auto sweep =
      rows_of(cli(QStringList{"sweep", "--policies", "streaming,h2o,snapkv,keepkv", "--ratios", "0.2"} + common).toStdString());
  ASSERT_EQ(sweep.size(), want.size());
  for (std::size_t l = 0; l < want.size(); ++l) {
    const auto number = [&](const char* name) { return std::stod(sweep[l].at(name)); };
    EXPECT_EQ(sweep[l].at("spec"), kSpecs[l]);
    near(number("kl"), want[l].kl, kSpecs[l]);
    near(number("nll"), want[l].nll, kSpecs[l]);
    near(number("top1_same"), want[l].top1, kSpecs[l]);
    near(number("attention_loss"), want[l].attention_loss, kSpecs[l]);
    near(number("local_rel_l2"), want[l].local, kSpecs[l]);
    near(number("slots"), want[l].slots, kSpecs[l]);
    near(number("kv_bytes"), want[l].used, kSpecs[l]);
  }
}

TEST_P(RunFiguresEverywhere, SoDoTheComparisonAndTheReport) {
  Headless h(snapshot());
  const viz::Compare compare(std::make_shared<viz::TokenWindow>());
  const viz::Table table = compare.table(h.frame);
  h.frame.selection.steps = counted();
  const viz::Table ranged = compare.table(h.frame);
  Report report;
  report.snapshot = std::make_shared<Snapshot>(snapshot());
  report.runs = table;
  const auto reported = runs_of(reportHtml(report));
  ASSERT_EQ(reported.size(), want.size());
  const auto in_report = [](double v) { return v == std::round(v) ? viz::format_count(std::llround(v)) : format_number(v); };
  for (std::size_t l = 0; l < want.size(); ++l) {
    const auto number = [&](const viz::Table& of, const char* name) { return std::stod(of.rows[l][column(of, name)]); };
    for (const viz::Table* of : {&table, &ranged}) {
      near(number(*of, "mean KL"), want[l].kl, kSpecs[l]);
      near(number(*of, "top-1 same"), want[l].same, kSpecs[l]);
      near(number(*of, "slots"), want[l].slots, kSpecs[l]);
      near(number(*of, "KV bytes"), want[l].used, kSpecs[l]);
    }
    near(number(ranged, "−ln p"), want[l].nll, kSpecs[l]);
    near(number(ranged, "attention lost"), want[l].attention_loss, kSpecs[l]);
    EXPECT_EQ(reported[l].at("mean KL, nats"), format_number(want[l].kl)) << kSpecs[l];
    EXPECT_EQ(reported[l].at("top-1 same"), std::to_string(want[l].same)) << kSpecs[l];
    EXPECT_EQ(reported[l].at("slots per head"), in_report(want[l].slots)) << kSpecs[l];
    EXPECT_EQ(reported[l].at("KV bytes"), in_report(want[l].used)) << kSpecs[l];
  }
  EXPECT_NE(table.columns[column(table, "top-1 same")].find("of " + std::to_string(want[0].compared)), std::string::npos);
}

TEST_P(RunFiguresEverywhere, SoDoTheTimelineTheLectureAndTheSweepsFigures) {
  for (std::size_t l = 0; l < want.size(); ++l) {
    Headless h(snapshot());
    h.frame.selection.lane = static_cast<int>(l);
    viz::Timeline timeline;
    const std::string differ = std::to_string(want[l].compared - want[l].same), of = std::to_string(want[l].compared);
    EXPECT_NE(timeline.facts(h.frame).find("differs in " + differ + " of " + of + " steps"), std::string::npos) << timeline.facts(h.frame);
    h.frame.selection.steps = counted();
    EXPECT_NE(timeline.facts(h.frame).find("mean KL " + format_number(want[l].kl) + " "), std::string::npos) << timeline.facts(h.frame);
    const viz::Table steps = timeline.table(h.frame);
    const QJsonArray written = json["lanes"][static_cast<int>(l)]["steps"].toArray();
    for (std::size_t i = 0; i < steps.rows.size(); ++i)
      EXPECT_EQ(steps.rows[i][column(steps, "KL")], format_number(written[static_cast<int>(i) + counted().first]["kl"].toDouble(), 6)) << i;

    h.frame.selection.steps.reset();
    const viz::Facts facts = viz::lecture_facts(snapshot(), h.frame.selection);
    EXPECT_EQ(facts.at("differ").text, differ);
    EXPECT_EQ(facts.at("after").text, of);

    Snapshot alone = snapshot();
    alone.lanes = {snapshot().lanes[0], snapshot().lanes[l]};
    const SweepFigures sweep = figuresOf(alone);
    near(sweep.mean_kl, want[l].kl, kSpecs[l]);
    near(sweep.top1, want[l].top1, kSpecs[l]);
    near(sweep.bytes, want[l].used, kSpecs[l]);
    near(sweep.slots, want[l].slots, kSpecs[l]);
    EXPECT_EQ(valueText(SweepMetric::mean_kl, sweep.mean_kl).toStdString(), format_number(want[l].kl));
    EXPECT_EQ(valueText(SweepMetric::bytes, sweep.bytes).toStdString(), format_bytes(want[l].used));
  }
  // The lecture names the closest and the farthest of the runs by the same numbers.
  viz::Selection selection;
  selection.lane = 1;
  const viz::Facts facts = viz::lecture_facts(snapshot(), selection);
  std::vector<std::string> texts;
  for (std::size_t l = 1; l < want.size(); ++l) texts.push_back(format_number(want[l].kl));
  EXPECT_TRUE(std::ranges::count(texts, facts.at("best_kl").text) > 0 && std::ranges::count(texts, facts.at("worst_kl").text) > 0)
      << facts.at("best_kl").text << " " << facts.at("worst_kl").text;
}

INSTANTIATE_TEST_SUITE_P(
    Prompts, RunFiguresEverywhere,
    ::testing::Combine(::testing::Values("needle.txt", "count.txt", "cat.txt"), ::testing::Values("prefill", "stream")),
    [](const auto& test) {
      return QString("%1_%2").arg(QString(std::get<0>(test.param)).section('.', 0, 0), std::get<1>(test.param)).toStdString();
    });

}  // namespace
}  // namespace kvscope
