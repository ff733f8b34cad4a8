// SPDX-License-Identifier: Apache-2.0
#include "app/cli/sweep/sweep_output.h"

#include <cmath>
#include <optional>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "app/cli/json_number.h"
#include "app/cli/table.h"
#include "snapshot/number_text.h"
#include "trace/csv.h"
#include "trace/sweep_bands.h"

namespace kvscope::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string cell(double x) { return std::isfinite(x) ? fmt::format("{}", x) : ""; }
bool one_row_per_item(const SweepPlan& plan) { return plan.size() == plan.runs().size() && plan.texts()[0].answers.empty(); }

std::vector<SweepBand> bands_of(const SweepPlan& plan, const std::vector<SweepResult>& results) {
  std::vector<std::size_t> beside;
  for (const SweepPlan::Run& run : plan.runs()) beside.push_back(run.beside);
  return sweep_bands(beside, plan.n_seeds(), std::vector<std::optional<SweepResult>>(results.begin(), results.end()));
}

std::vector<SweepHeads> heads_of(const SweepPlan& plan, const std::vector<SweepResult>& results) {
  return sweep_heads(plan.runs().size(), std::vector<std::optional<SweepResult>>(results.begin(), results.end()));
}

Json json_of(const std::vector<HeadAnswers>& heads) {
  Json out{{"kept", Json::array()}, {"merged", Json::array()}, {"evicted", Json::array()}};
  for (const HeadAnswers& head : heads) {
    out["kept"].push_back(head.kept);
    out["merged"].push_back(head.merged);
    out["evicted"].push_back(head.evicted);
  }
  return out;
}

Json json_of(const SweepHeads& heads) {
  if (heads.n == 0) return nullptr;
  return {{"n", heads.n},
          {"layers", heads.n_layers},
          {"kv_heads", heads.n_kv_heads},
          {"after_prompt", json_of(heads.after_prompt)},
          {"at_end", json_of(heads.at_end)}};
}

/// "61.2 %": of all heads and items those in which the answers are whole.
std::string share_kept(const SweepHeads& heads) {
  double sum = 0;
  for (const HeadAnswers& head : heads.after_prompt) sum += static_cast<double>(head.kept);
  return heads.n == 0 ? "n/a" : format_percent(sum / static_cast<double>(heads.n * heads.after_prompt.size()));
}

}  // namespace

std::string sweep_csv(const SweepPlan& plan, const std::vector<SweepResult>& results) {
  const bool plain = one_row_per_item(plan);
  const std::vector<SweepBand> bands = bands_of(plan, results);
  std::vector<std::string> header = {"policy", "spec", "ratio"};
  if (!plain) header.push_back("n");
  for (const std::string_view name : kSweepFigures) {
    if (plain && name == "score") continue;
    header.emplace_back(name);
    if (!plain) header.push_back(fmt::format("{}_min", name)), header.push_back(fmt::format("{}_max", name));
  }
  if (!plain) header.insert(header.end(), {"better", "worse", "compared"});
  std::string out = csv_line(header);
  for (std::size_t r = 0; r < bands.size(); ++r) {
    const SweepBand& band = bands[r];
    const SweepPlan::Run& run = plan.runs()[r];
    std::vector<std::string> cells = {run.lane.name, run.lane.text, cell(run.ratio)};
    if (!plain) cells.push_back(std::to_string(band.n));
    for (std::size_t f = 0; f < band.figures.size(); ++f) {
      const Statistics& s = band.figures[f];
      if (plain && kSweepFigures[f] == "score") continue;
      cells.push_back(cell(plain ? results[r].figures[f] : s.mean()));
      if (!plain) cells.push_back(cell(s.min)), cells.push_back(cell(s.max));
    }
    if (!plain)
      for (const std::size_t n : {band.better, band.worse, band.compared}) cells.push_back(band.compared > 0 ? std::to_string(n) : "");
    out += csv_line(cells);
  }
  return out;
}

std::string sweep_json(const SweepPlan& plan, const std::vector<SweepResult>& results) {
  Json items = Json::array(), bands = Json::array();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const SweepItem& item = plan.item(i);
    Json row{{"text", item.text}, {"seed", item.seed}, {"policy", item.policy}, {"spec", item.run}, {"ratio", item.ratio}};
    for (std::size_t f = 0; f < kSweepFigures.size(); ++f) row[std::string(kSweepFigures[f])] = number(results[i].figures[f]);
    if (!plan.place(i).text.answers.empty()) row["said"] = results[i].said;
    items.push_back(std::move(row));
  }
  const std::vector<SweepBand> all = bands_of(plan, results);
  const std::vector<SweepHeads> heads = heads_of(plan, results);
  for (std::size_t r = 0; r < all.size(); ++r) {
    const SweepPlan::Run& run = plan.runs()[r];
    Json row{{"policy", run.lane.name}, {"spec", run.lane.text}, {"ratio", run.ratio}, {"n", all[r].n}};
    for (std::size_t f = 0; f < kSweepFigures.size(); ++f) {
      const Statistics& s = all[r].figures[f];
      row[std::string(kSweepFigures[f])] = Json{{"n", s.n}, {"mean", number(s.mean())}, {"min", number(s.min)}, {"max", number(s.max)}};
    }
    const bool compared = all[r].compared > 0;
    row["beside"] = compared ? Json(plan.runs()[run.beside].lane.text) : Json(nullptr);
    row["better"] = compared ? Json(all[r].better) : Json(nullptr);
    row["worse"] = compared ? Json(all[r].worse) : Json(nullptr);
    row["compared"] = all[r].compared;
    row["seeds_alike"] = all[r].seeds_alike;
    row["answer_heads"] = json_of(heads[r]);
    bands.push_back(std::move(row));
  }
  Json document{{"schema", "kvscope.sweep/1"}, {"model", plan.item(0).model}, {"texts", plan.texts().size()},
                {"seeds", plan.n_seeds()},     {"items", std::move(items)},   {"bands", std::move(bands)}};
  if (const std::string& notice = plan.texts()[0].notice; !notice.empty()) document["notice"] = notice;  // of a prompt, which is alone
  return document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string sweep_table(const SweepPlan& plan, const std::vector<SweepResult>& results) {
  const std::vector<SweepBand> bands = bands_of(plan, results);
  const std::vector<SweepHeads> heads = heads_of(plan, results);
  const bool scored = !plan.texts()[0].answers.empty();
  std::vector<std::vector<std::string>> rows = {{"run", "n", "slots", "KL", "NLL", "top-1 same"}};
  if (scored) rows[0].insert(rows[0].end(), {"answers", "kept in heads"});
  rows[0].emplace_back("beside the first policy");
  const auto ranged = [](const Statistics& s, std::string (*text)(double)) {
    if (s.n < 2 || s.min == s.max) return text(s.mean());
    return fmt::format("{} ({} to {})", text(s.mean()), text(s.min), text(s.max));
  };
  const auto decimal = [](double x) { return format_number(x); };
  for (std::size_t r = 0; r < bands.size(); ++r) {
    const SweepBand& band = bands[r];
    const auto of = [&](std::string_view name) -> const Statistics& { return band.figures[sweep_figure(name)]; };
    std::vector<std::string> row = {plan.runs()[r].lane.text,  std::to_string(band.n),     format_mean(of("slots").mean()),
                                    ranged(of("kl"), decimal), ranged(of("nll"), decimal), ranged(of("top1_same"), format_percent)};
    if (scored) row.insert(row.end(), {format_percent(of("score").mean()), share_kept(heads[r])});
    if (band.compared > 0) row.push_back(words_of_pairs(band));
    rows.push_back(std::move(row));
  }
  return aligned(rows, 1);
}

std::string seeds_words(const SweepPlan& plan, const std::vector<SweepResult>& results) {
  const std::vector<SweepBand> bands = bands_of(plan, results);
  std::string names;
  std::size_t n = 0;
  for (std::size_t r = 0; r < bands.size(); ++r)
    if (bands[r].seeds_alike) names += (n++ == 0 ? "" : ", ") + plan.runs()[r].lane.text;
  if (n == 0) return {};
  return fmt::format("{}: all {} seeds gave the same, nothing is drawn by chance there: more seeds are no more evidence",
                     n == bands.size() ? "every run" : names, plan.n_seeds());
}

}  // namespace kvscope::cli
