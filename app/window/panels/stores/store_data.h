// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include <QString>
#include <QStringList>

#include "trace/sweep_bands.h"
#include "trace/sweep_reader.h"
#include "viz/canvas.h"

namespace kvscope {

/// What of a sweep's items can be looked at: a figure, as people call it.
struct StoreMeasure {
  std::string_view figure;  // of kSweepFigures
  const char *name, *unit;
  enum class Kind : std::uint8_t { share, number, mean, bytes } kind;
  bool band = true;                  // false: an item has all or nothing of it, so that lowest and highest say nothing
  QString text(double value) const;  // n/a: there is none
};
std::span<const StoreMeasure> storeMeasures();

/// When it is asked what has become of the answers.
enum class StoreMoment : std::uint8_t { after_prompt, at_end };
/// "once the prompt was compressed"
QString momentWords(StoreMoment moment);
inline const std::vector<HeadAnswers>& headsAt(const SweepHeads& heads, StoreMoment moment) {
  return moment == StoreMoment::at_end ? heads.at_end : heads.after_prompt;
}

/// One run of the sweep over the texts and seeds that are there.
struct StoreMark {
  std::size_t run = 0;
  double ratio = 1;
  bool of_bytes = false;  // that share is of the bytes of the prompt's keys and values, else of its tokens
  SweepBand band;
  std::array<Statistics, kSweepDepths> depths;  // share answered, by depth
  SweepHeads heads;                             // what became of the answers
};
/// The runs of one policy, by budget.
struct StoreCurve {
  std::string policy;
  QString title;
  std::vector<StoreMark> marks;
};

/// What a store of a sweep shows: a curve per policy, over all texts and seeds, and what they are compared with.
class StoreData {
 public:
  void set(const SweepReader& reader);

  bool empty() const { return m_curves.empty() && !m_full; }
  const std::vector<StoreCurve>& curves() const { return m_curves; }
  const std::optional<StoreMark>& full() const { return m_full; }  // the full cache
  const SweepContents& contents() const { return m_contents; }
  std::size_t nThere() const { return m_there; }
  std::size_t nItems() const { return m_contents.keys.size(); }
  bool scored() const;  // the texts have answers, and one item at least is there
  /// The fifths of the context in which an answer stands, one at least.
  std::vector<std::size_t> depths() const;
  /// One item at least tells what became of its answer.
  bool knowsHeads() const;

  /// "8 texts × 2 seeds", "one text".
  QString over() const;
  /// Over how many of them the means are that there are so far: "1 to 6 of 8 texts"; the same where all are there.
  QString overThere() const;
  /// "212 of 320 items so far", what is damaged, how many sweeps the folder has.
  QStringList state() const;
  /// What the shares of its budgets are of.
  QString budgetWords() const;
  /// "20 %"
  static QString shareOf(const StoreMark& mark);
  /// "20 %", "20 % bytes"
  static QString budgetOf(const StoreMark& mark);
  /// "20 % of the prompt"
  static QString budgetInWords(const StoreMark& mark);
  /// All of one mark, a line each.
  QStringList describe(const StoreCurve& curve, const StoreMark& mark, const StoreMeasure& measure) const;
  /// The run that `mark` is compared with: "H2O"; empty: none.
  QString besideOf(const StoreMark& mark) const;
  /// By how much one of both holds more slots in the items compared; NaN: not known.
  static double inequality(const StoreMark& mark);
  /// "H2O holds 20.1 slots there, SnapKV 43.9"; empty: much the same, within a tenth.
  QString unequalWords(const StoreCurve& curve, const StoreMark& mark) const;
  /// Every number: a row per run, with how many items each is of.
  viz::Table table() const;
  /// A row per run, layer and KV head: in how many items the answer was kept, merged, evicted.
  viz::Table headTable(StoreMoment moment) const;
  /// "; compressed once ...": what the notes of both end with.
  std::string made() const;

 private:
  SweepContents m_contents;
  std::vector<StoreCurve> m_curves;
  std::optional<StoreMark> m_full;
  std::size_t m_there = 0, m_bad = 0, m_sweeps = 1;
  std::string m_problem;  // the first
  std::string m_folder;
};

}  // namespace kvscope
