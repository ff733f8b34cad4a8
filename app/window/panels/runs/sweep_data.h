// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <QString>
#include <QStringList>

#include "snapshot/snapshot.h"
#include "viz/canvas.h"

namespace kvscope {

/// What a curve shows of a run. Numbers are those of the comparison's table.
enum class SweepMetric : std::uint8_t { mean_kl, top1, bytes, ms };
inline constexpr int kSweepMetrics = 4;

/// The figures of one measured run; NaN: not available.
struct SweepFigures {
  double mean_kl = kNotAvailable;  // nats; over which steps: RunFigures
  double top1 = kNotAvailable;     // share of the compared steps
  double bytes = kNotAvailable;    // KV bytes used at the end
  double ms = kNotAvailable;       // wall time of a decode step of this run alone
  double slots = kNotAvailable;    // held at the end, mean per head
  double of(SweepMetric metric) const;
};
/// Of the last lane of a result.
SweepFigures figuresOf(const Snapshot& result);

/// One run of a sweep.
struct SweepPoint {
  std::string spec;
  int slots = 0;                        // asked for, per head; of_bytes: as many as have those bytes in full precision
  std::optional<SweepFigures> figures;  // nullopt: not measured yet
  QString failure;                      // why it cannot be; empty: it can
  std::string method = {};              // the curve that it stands on: methodOf(spec)
  bool of_bytes = false;                // the budget is a share of the bytes
  std::string computes = {};            // by which it is found again: computedBy(spec)
};

/// The runs of one policy and its parameters with one marker each: those of several seeds at one budget together.
struct SweepMark {
  int slots = 0;
  std::vector<const SweepPoint*> points;
  bool of_bytes = false;
  bool measured() const;
  /// Seeds of its runs, each once; `with_figures`: of the measured ones.
  std::size_t nSeeds(bool with_figures) const;
  /// Mean, least and most of the measured ones.
  double mean(SweepMetric m) const;
  double least(SweepMetric m) const;
  double most(SweepMetric m) const;
  /// Slots really held at the end, mean of the measured ones; NaN: nothing is measured.
  double held() const;
};
struct SweepSeries {
  std::string policy, title;     // with its parameters (methodOf)
  std::vector<SweepMark> marks;  // by budget
};

/// Runs of policies × budgets on one text. What was measured holds for that text only.
class SweepData {
 public:
  /// The runs wanted now, in order of the series; figures of those that are known stay.
  void setRuns(const std::vector<std::string>& specs, int n_prompt);
  /// Another text or other settings: true if figures had to go.
  bool setText(const QString& identity);
  /// False: no run of this sweep.
  bool set(const std::string& spec, const SweepFigures& figures);
  bool fail(const std::string& spec, const QString& why);
  const std::vector<SweepPoint>& points() const { return m_points; }
  std::vector<SweepSeries> series() const;  // points into this: until the next change
  std::vector<std::string> missing() const;
  int nMeasured() const;
  int nPrompt() const { return m_n_prompt; }
  /// What the picture says beside the points.
  void setRemarks(const QStringList& remarks) { m_remarks = remarks; }
  /// Plain numbers, their units in the titles.
  viz::Table table() const;

 private:
  SweepPoint* find(const std::string& spec);

  std::vector<SweepPoint> m_points;
  QString m_text;
  QStringList m_remarks;
  int m_n_prompt = 0;
};

/// Two decades and more are not legible on a linear axis; less is not worth a logarithm, nor is a share.
bool spansTwoDecades(const std::vector<SweepSeries>& curves, SweepMetric metric);
/// "mean KL", "nats, less is better".
const char* nameOf(SweepMetric metric);
const char* unitOf(SweepMetric metric);
QString valueText(SweepMetric metric, double value);
/// What results are comparable under: model, text, mode, length, sampling. seed: of the request, from which a run draws lots that has none
/// of its own.
QString textIdentity(const Snapshot& snapshot, std::uint64_t seed);
/// The same in a few letters, for a file.
QString textDigest(const Snapshot& snapshot, std::uint64_t seed);

}  // namespace kvscope
