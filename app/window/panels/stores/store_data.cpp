// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/stores/store_data.h"

#include <algorithm>
#include <cmath>

#include "app/window/session/run_queue.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {

using Kind = StoreMeasure::Kind;

constexpr std::array<StoreMeasure, 9> kMeasures = {{
    {"score", "answers found", "share of the answers, more is better", Kind::share, /*band=*/false},
    {"kl", "mean KL", "nats, less is better", Kind::number},
    {"nll", "NLL", "nats per token, less is better", Kind::number},
    {"top1_same", "top-1 same", "share of steps, more is better", Kind::share},
    {"attention_loss", "attention lost", "share of the attention, less is better", Kind::share},
    {"local_rel_l2", "local error", "relative, less is better", Kind::number},
    {"slots", "slots held", "mean per head at the end", Kind::mean},
    {"kv_bytes", "KV bytes", "used by the slots, less is better", Kind::bytes},
    {"tokens_per_s", "tokens per second", "on the machine that computed the item", Kind::mean},
}};

/// The specification without its budget: what the runs of a curve have in common.
std::string without_share(std::string spec, const std::string& key) {
  const std::size_t at = spec.find(key + "=");
  if (at == std::string::npos || at == 0) return spec;
  const std::size_t end = std::min(spec.find_first_of(",@", at), spec.size());
  const bool more = end < spec.size() && spec[end] == ',';
  // "x:ratio=1,a=2" -> "x:a=2"; "x:a=2,ratio=1" -> "x:a=2"; "x:ratio=1" -> "x"
  return more ? spec.substr(0, at) + spec.substr(end + 1) : spec.substr(0, at - 1) + spec.substr(end);
}

}  // namespace

QString momentWords(StoreMoment moment) {
  return moment == StoreMoment::at_end ? "at the end of the answer" : "once the prompt was compressed";
}

std::span<const StoreMeasure> storeMeasures() { return kMeasures; }

QString StoreMeasure::text(double value) const {
  if (std::isnan(value)) return "n/a";
  switch (kind) {
    case Kind::share:
      return qs(viz::format_percent(value));
    case Kind::mean:
      return qs(viz::format_mean(value));
    case Kind::bytes:
      return qs(viz::format_bytes(value));
    case Kind::number:
      break;
  }
  return qs(viz::format_number(value));
}

void StoreData::set(const SweepReader& reader) {
  m_contents = reader.contents();
  m_there = reader.n_there();
  m_bad = reader.problems().size();
  m_problem = m_bad > 0 ? reader.problems().begin()->second : std::string();
  m_sweeps = reader.n_sweeps();
  m_folder = reader.folder();
  m_curves.clear();
  m_full.reset();
  const std::vector<SweepBand> bands = sweep_bands(m_contents.beside(), m_contents.seeds.size(), reader.results());
  const auto depths = sweep_depths(m_contents, reader.results());
  std::vector<SweepHeads> heads = sweep_heads(bands.size(), reader.results());
  std::vector<std::string> keys;  // of the curves
  for (std::size_t r = 0; r < bands.size(); ++r) {
    const SweepContents::Run& run = m_contents.runs[r];
    const std::string of_bytes = without_share(run.spec, "bytes"), key = without_share(of_bytes, "ratio");
    StoreMark mark{r, run.ratio, of_bytes != run.spec, bands[r], depths[r], std::move(heads[r])};
    if (key == run.spec && run.ratio == 1) {
      m_full = std::move(mark);
      continue;
    }
    const auto known = std::ranges::find(keys, key);
    if (known == keys.end()) {
      keys.push_back(key);
      m_curves.push_back({run.spec.substr(0, run.spec.find_first_of(":@")), qs(wordsOf(run.spec).title), {}});
      m_curves.back().marks.push_back(std::move(mark));
    } else {
      m_curves[static_cast<std::size_t>(known - keys.begin())].marks.push_back(std::move(mark));
    }
  }
  // Where one policy stands there with several settings, the settings tell its curves apart.
  std::vector<QString> titles;
  for (const StoreCurve& curve : m_curves) titles.push_back(curve.title);
  for (std::size_t i = 0; i < m_curves.size(); ++i) {
    if (std::ranges::count(titles, titles[i]) > 1) m_curves[i].title = qs(keys[i]);
    std::ranges::stable_sort(m_curves[i].marks, {}, &StoreMark::ratio);
  }
}

bool StoreData::scored() const {
  const auto has = [](const StoreMark& mark) { return mark.band.figure("score").n > 0; };
  return (m_full && has(*m_full)) ||
         std::ranges::any_of(m_curves, [&](const StoreCurve& curve) { return std::ranges::any_of(curve.marks, has); });
}

std::vector<std::size_t> StoreData::depths() const {
  std::vector<std::size_t> out;
  for (std::size_t d = 0; d < kSweepDepths; ++d)
    if (std::ranges::any_of(m_contents.texts, [d](const auto& text) { return sweep_depth_of(text) == d; })) out.push_back(d);
  return out;
}

bool StoreData::knowsHeads() const {
  const auto knows = [](const StoreMark& mark) { return mark.heads.n > 0; };
  return std::ranges::any_of(m_curves, [&](const StoreCurve& curve) { return std::ranges::any_of(curve.marks, knows); });
}

QString StoreData::over() const {
  const QString texts = counted(m_contents.texts.size(), "text", "texts");
  return m_contents.seeds.size() == 1 ? texts : QString("%1 × %2 seeds").arg(texts).arg(m_contents.seeds.size());
}

QString StoreData::overThere() const {
  const std::size_t n_all = m_contents.texts.size() * m_contents.seeds.size();
  std::size_t least = n_all, most = 0;
  const auto look = [&](const StoreMark& mark) {
    if (mark.band.n > 0) least = std::min(least, mark.band.n), most = std::max(most, mark.band.n);
  };
  if (m_full) look(*m_full);
  for (const StoreCurve& curve : m_curves) std::ranges::for_each(curve.marks, look);
  if (most == 0 || least == n_all) return over();
  const QString n = least == most ? QString::number(most) : QString("%1 to %2").arg(least).arg(most);
  return m_contents.seeds.size() == 1 ? QString("%1 of %2").arg(n, over()) : QString("%1 of %2 items (%3)").arg(n).arg(n_all).arg(over());
}

QStringList StoreData::state() const {
  QStringList out;
  out << (m_there == nItems() ? QString("all %1 items").arg(nItems()) : QString("%1 of %2 items so far").arg(m_there).arg(nItems()));
  if (m_bad > 0) out << QString("%1 cannot be used: %2").arg(counted(m_bad, "file", "files"), qs(m_problem));
  if (m_sweeps > 1) out << QString("the latest of %1 sweeps in this folder").arg(m_sweeps);
  return out;
}

QString StoreData::budgetWords() const {
  bool bytes = false, tokens = false;
  for (const StoreCurve& curve : m_curves)
    for (const StoreMark& mark : curve.marks) (mark.of_bytes ? bytes : tokens) = true;
  return bytes && tokens ? "of tokens, or of bytes" : bytes ? "of the bytes" : "of the prompt";
}

QString StoreData::shareOf(const StoreMark& mark) { return QString::number(100 * mark.ratio, 'g', 4) + " %"; }
QString StoreData::budgetOf(const StoreMark& mark) { return shareOf(mark) + (mark.of_bytes ? " bytes" : ""); }

QString StoreData::budgetInWords(const StoreMark& mark) {
  return budgetOf(mark) + (mark.of_bytes ? " of the prompt's keys and values in full precision" : " of the prompt");
}

QString StoreData::besideOf(const StoreMark& mark) const {
  const std::size_t beside = m_contents.runs[mark.run].beside;
  if (beside == mark.run) return {};
  for (const StoreCurve& curve : m_curves)
    if (std::ranges::find(curve.marks, beside, &StoreMark::run) != curve.marks.end()) return curve.title;
  return {};
}

double StoreData::inequality(const StoreMark& mark) {
  const double own = mark.band.own_bytes.mean(), other = mark.band.other_bytes.mean();
  return std::max(own, other) / std::min(own, other);
}

QString StoreData::unequalWords(const StoreCurve& curve, const StoreMark& mark) const {
  constexpr double kAlike = 1.1;
  if (!(inequality(mark) > kAlike)) return {};
  return QString("%1 holds %2 there, %3 %4")
      .arg(curve.title, qs(viz::format_bytes(mark.band.own_bytes.mean())), besideOf(mark),
           qs(viz::format_bytes(mark.band.other_bytes.mean())));
}

QStringList StoreData::describe(const StoreCurve& curve, const StoreMark& mark, const StoreMeasure& measure) const {
  QStringList out{QString("%1, %2").arg(curve.title, budgetInWords(mark))};
  const Statistics& of = mark.band.figure(measure.figure);
  QString value = QString("%1 %2").arg(measure.name, measure.text(of.mean()));
  if (of.n > 1) value += QString(", mean of %1; lowest %2, highest %3").arg(of.n).arg(measure.text(of.min), measure.text(of.max));
  out << value;
  const std::size_t n = m_contents.texts.size() * m_contents.seeds.size();
  out << (mark.band.n == n ? QString("all %1 items: %2").arg(n).arg(over()) : QString("%1 of %2 items so far").arg(mark.band.n).arg(n));
  if (const QString beside = besideOf(mark); !beside.isEmpty() && mark.band.compared > 0)
    out << QString("%1 than %2 at the same budget, on the same texts with the same seeds, %3")
               .arg(qs(words_of_pairs(mark.band)), beside, mark.band.figure("score").n > 0 ? "by the answers found" : "by KL");
  if (const QString unequal = unequalWords(curve, mark); !unequal.isEmpty()) out << "but not in the same memory: " + unequal;
  return out;
}

viz::Table StoreData::table() const {
  viz::Table out;
  out.columns = {"policy", "run", "budget (share " + budgetWords().toStdString() + ")", "items"};
  for (const StoreMeasure& m : kMeasures)
    for (const char* what : {"mean", "lowest", "highest", "items that have it"})
      out.columns.push_back(std::string(m.name) + " (" + m.unit + "), " + what);
  for (const char* name : {"compared with", "better on", "worse on", "of items"}) out.columns.emplace_back(name);
  const auto add = [&](const QString& title, const StoreMark& mark) {
    std::vector<std::string> row = {title.toStdString(), m_contents.runs[mark.run].spec, viz::format_plain(mark.ratio),
                                    std::to_string(mark.band.n)};
    for (const StoreMeasure& m : kMeasures) {
      const Statistics& s = mark.band.figure(m.figure);
      for (const double v : {s.mean(), s.min, s.max}) row.push_back(viz::format_plain(v));
      row.push_back(std::to_string(s.n));
    }
    const bool compared = mark.band.compared > 0;
    row.push_back(compared ? m_contents.runs[m_contents.runs[mark.run].beside].spec : "n/a");
    for (const std::size_t n : {mark.band.better, mark.band.worse, mark.band.compared}) row.push_back(compared ? std::to_string(n) : "n/a");
    out.rows.push_back(std::move(row));
  };
  if (m_full) add("full cache", *m_full);
  for (const StoreCurve& curve : m_curves)
    for (const StoreMark& mark : curve.marks) add(curve.title, mark);
  out.note = (QStringList{over()} + state()).join("; ").toStdString() +
             "; the answers found where a run has them, else KL, decide which is better" + made();
  return out;
}

std::string StoreData::made() const {
  std::string out;
  if (!m_contents.how.empty()) out += "; " + m_contents.how;
  if (!m_contents.command.empty()) out += "; to compute it again: " + m_contents.command;
  return out;
}

viz::Table StoreData::headTable(StoreMoment moment) const {
  viz::Table out;
  out.columns = {"policy",     "run",     "budget (share " + budgetWords().toStdString() + ")", "layer", "KV head", "kept in", "merged in",
                 "evicted in", "of items"};
  const auto add = [&](const QString& title, const StoreMark& mark) {
    const std::vector<HeadAnswers>& heads = headsAt(mark.heads, moment);
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const auto across = static_cast<std::size_t>(mark.heads.n_kv_heads);
      std::vector<std::string> row = {title.toStdString(), m_contents.runs[mark.run].spec, viz::format_plain(mark.ratio)};
      for (const std::size_t n : {h / across, h % across, heads[h].kept, heads[h].merged, heads[h].evicted, mark.heads.n})
        row.push_back(std::to_string(n));
      out.rows.push_back(std::move(row));
    }
  };
  if (m_full) add("full cache", *m_full);
  for (const StoreCurve& curve : m_curves)
    for (const StoreMark& mark : curve.marks) add(curve.title, mark);
  out.note = (QStringList{"answers " + momentWords(moment), over()} + state()).join("; ").toStdString() +
             "; kept: all tokens of the answer have their slots; merged: some stand only in another's; evicted: one at least is gone" +
             made();
  return out;
}

}  // namespace kvscope
