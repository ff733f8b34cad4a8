// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/runs/sweep_data.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <QCryptographicHash>

#include "app/window/session/run_estimate.h"
#include "app/window/session/run_queue.h"
#include "app/window/shell/panel_paint.h"
#include "core/error.h"
#include "policy/catalog.h"
#include "snapshot/figures.h"
#include "viz/draw/draw.h"
#include "viz/draw/format.h"

namespace kvscope {

double SweepFigures::of(SweepMetric metric) const {
  switch (metric) {
    case SweepMetric::mean_kl:
      return mean_kl;
    case SweepMetric::top1:
      return top1;
    case SweepMetric::bytes:
      return bytes;
    case SweepMetric::ms:
      return ms;
  }
  return kNotAvailable;
}

SweepFigures figuresOf(const Snapshot& result) {
  SweepFigures out;
  if (result.lanes.empty() || result.lanes.back().steps.empty()) return out;
  const LaneSnapshot& lane = result.lanes.back();
  const RunFigures f = run_figures(result, lane);
  out.mean_kl = f.kl.mean();
  out.top1 = f.top1_share();
  out.bytes = f.bytes;
  out.slots = f.slots;
  out.ms = f.ms.mean();
  return out;
}

bool SweepMark::measured() const {
  return std::ranges::any_of(points, [](const SweepPoint* p) { return p->figures.has_value(); });
}

std::size_t SweepMark::nSeeds(bool with_figures) const {
  std::set<std::string> seeds;
  for (const SweepPoint* p : points) {
    if (with_figures && !p->figures) continue;
    std::string seed;  // the session's
    for (const auto& [key, value] : lane_spec_of_result(p->spec).given)
      if (key == "seed") seed = value;
    seeds.insert(seed);
  }
  return seeds.size();
}

double SweepMark::mean(SweepMetric m) const {
  double sum = 0;
  int n = 0;
  for (const SweepPoint* p : points) {
    if (!p->figures || std::isnan(p->figures->of(m))) continue;
    sum += p->figures->of(m);
    ++n;
  }
  return n > 0 ? sum / n : kNotAvailable;
}

double SweepMark::held() const {
  double sum = 0;
  int n = 0;
  for (const SweepPoint* p : points)
    if (p->figures && std::isfinite(p->figures->slots)) sum += p->figures->slots, ++n;
  return n > 0 ? sum / n : kNotAvailable;
}

double SweepMark::least(SweepMetric m) const {
  double out = kNotAvailable;
  for (const SweepPoint* p : points)
    if (p->figures && !(p->figures->of(m) >= out)) out = std::isnan(p->figures->of(m)) ? out : p->figures->of(m);
  return out;
}

double SweepMark::most(SweepMetric m) const {
  double out = kNotAvailable;
  for (const SweepPoint* p : points)
    if (p->figures && !(p->figures->of(m) <= out)) out = std::isnan(p->figures->of(m)) ? out : p->figures->of(m);
  return out;
}

void SweepData::setRuns(const std::vector<std::string>& specs, int n_prompt) {
  std::vector<SweepPoint> next;
  for (const std::string& spec : specs) {
    const SweepPoint* known = find(spec);
    SweepPoint point = known ? *known : SweepPoint{};
    point.spec = spec;
    point.computes = computedBy(spec);
    point.slots = slotsAsked(spec, n_prompt);
    point.method = methodOf(spec);
    point.of_bytes = asksBytes(spec);
    next.push_back(std::move(point));
  }
  m_points = std::move(next);
  m_n_prompt = n_prompt;
}

bool SweepData::setText(const QString& identity) {
  if (identity == m_text) return false;
  m_text = identity;
  bool lost = false;
  for (SweepPoint& p : m_points) {
    lost = lost || p.figures;
    p.figures.reset();
    p.failure.clear();
  }
  return lost;
}

SweepPoint* SweepData::find(const std::string& spec) {
  const auto it = std::ranges::find(m_points, computedBy(spec), &SweepPoint::computes);
  return it == m_points.end() ? nullptr : &*it;
}

bool SweepData::set(const std::string& spec, const SweepFigures& figures) {
  SweepPoint* point = find(spec);
  if (point) point->figures = figures;
  return point != nullptr;
}

bool SweepData::fail(const std::string& spec, const QString& why) {
  SweepPoint* point = find(spec);
  if (point) point->failure = why;
  return point != nullptr;
}

bool spansTwoDecades(const std::vector<SweepSeries>& curves, SweepMetric metric) {
  double low = INFINITY, high = 0;
  for (const SweepSeries& curve : curves) {
    for (const SweepMark& mark : curve.marks) {
      for (const double v : {mark.least(metric), mark.most(metric)})
        if (std::isfinite(v) && v > 0) low = std::min(low, v), high = std::max(high, v);
    }
  }
  return metric != SweepMetric::top1 && std::isfinite(low) && viz::spans_two_decades(low, high);
}

std::vector<SweepSeries> SweepData::series() const {
  std::vector<SweepSeries> out;
  for (const SweepPoint& point : m_points) {
    auto one = std::ranges::find(out, point.method, &SweepSeries::policy);
    if (one == out.end()) one = out.insert(out.end(), SweepSeries{point.method, methodTitle(point.spec), {}});
    auto mark =
        std::ranges::find_if(one->marks, [&](const SweepMark& m) { return m.slots == point.slots && m.of_bytes == point.of_bytes; });
    if (mark == one->marks.end()) mark = one->marks.insert(one->marks.end(), SweepMark{point.slots, {}, point.of_bytes});
    mark->points.push_back(&point);
  }
  for (SweepSeries& one : out) std::ranges::sort(one.marks, {}, &SweepMark::slots);
  return out;
}

std::vector<std::string> SweepData::missing() const {
  std::vector<std::string> out;
  for (const SweepPoint& p : m_points)
    if (!p.figures && p.failure.isEmpty()) out.push_back(p.spec);
  return out;
}

int SweepData::nMeasured() const {
  return static_cast<int>(std::ranges::count_if(m_points, [](const SweepPoint& p) { return p.figures.has_value(); }));
}

viz::Table SweepData::table() const {
  viz::Table out;
  out.columns = {"policy",
                 "run",
                 "slots asked",
                 "share asked",
                 "mean KL (nats)",
                 "top-1 same (share of the steps)",
                 "KV bytes (at the end)",
                 "time per step (ms)",
                 "slots held at the end (mean per head)",
                 "share of what"};
  for (const SweepPoint& p : m_points) {
    std::vector<std::string> row = {wordsOf(p.spec).title, p.spec, std::to_string(p.slots),
                                    viz::format_plain(m_n_prompt > 0 ? static_cast<double>(p.slots) / m_n_prompt : kNotAvailable)};
    const auto cell = [&p](double v) { return p.figures ? viz::format_plain(v) : !p.failure.isEmpty() ? "refused" : "not yet"; };
    const SweepFigures f = p.figures.value_or(SweepFigures{});
    for (int m = 0; m < kSweepMetrics; ++m) row.push_back(cell(f.of(static_cast<SweepMetric>(m))));
    row.push_back(cell(f.slots));
    row.emplace_back(p.of_bytes ? "bytes in full precision" : "tokens of the prompt");
    out.rows.push_back(std::move(row));
  }
  out.note = "one prompt; every number is measured, none is interpolated";
  for (const QString& remark : m_remarks) out.note += "; " + remark.toStdString();
  return out;
}

const char* nameOf(SweepMetric metric) {
  constexpr const char* kNames[kSweepMetrics] = {"mean KL", "top-1 same", "KV bytes", "time per step"};
  return kNames[static_cast<int>(metric)];
}

const char* unitOf(SweepMetric metric) {
  constexpr const char* kUnits[kSweepMetrics] = {"nats, less is better", "share of steps, more is better",
                                                 "used by the slots, less is better", "of the run alone, less is better"};
  return kUnits[static_cast<int>(metric)];
}

QString valueText(SweepMetric metric, double value) {
  if (std::isnan(value)) return "n/a";
  switch (metric) {
    case SweepMetric::mean_kl:
      return qs(viz::format_number(value));
    case SweepMetric::top1:
      return qs(viz::format_percent(value));
    case SweepMetric::bytes:
      return qs(viz::format_bytes(value));
    case SweepMetric::ms:
      return qs(viz::format_ms(value));
  }
  return {};
}

QString textIdentity(const Snapshot& s, std::uint64_t seed) {
  QString ids;
  for (const TokenInfo& t : s.tokens)
    ids += QString::number(t.id) + ' ';  // what was generated, too: another seed or temperature gives another text
  const QString drawn = seed == 0 ? QString() : QString("|%1").arg(seed);  // of 0 as in files that were written without it
  return QString("%1|%2|%3|%4|%5|%6").arg(qs(s.model.name), qs(s.precision), qs(s.follow)).arg(s.prefill_mode).arg(s.n_prompt).arg(ids) +
         drawn;
}

QString textDigest(const Snapshot& s, std::uint64_t seed) {
  return QString::fromLatin1(QCryptographicHash::hash(textIdentity(s, seed).toUtf8(), QCryptographicHash::Sha256).toHex());
}

}  // namespace kvscope
