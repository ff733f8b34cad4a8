// SPDX-License-Identifier: Apache-2.0
#include "app/share/page_run.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "snapshot/figures.h"
#include "snapshot/number_text.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"
#include "viz/reduce/finding.h"
#include "viz/reduce/generated.h"
#include "viz/reduce/text.h"

namespace kvscope::share {

namespace {

/// The columns of one head after one step.
class HeadFiller {
 public:
  HeadFiller(const Snapshot& snapshot, bool coarse, NumberTable& numbers, FateTable& fates, RunColumns& out)
      : snapshot_(snapshot), coarse_(coarse), numbers_(numbers), fates_(fates), out_(out) {}

  /// from: place of the head's first token in the columns.
  void fill(const viz::HeadPick& pick, std::size_t from) {
    const viz::HeadColumns columns = viz::head_columns(snapshot_, pick);
    Missed& missed = out_.missed[static_cast<std::size_t>(pick.head)];
    const int n = std::min(columns.size(), static_cast<int>(missed.size()));
    for (int token = 0; token < n; ++token) {
      const auto t = static_cast<std::size_t>(token);
      const std::size_t at = from + t;
      out_.fate.values[at] = fates_.place({columns.category[t], viz::fate_text(columns, token)});
      const bool lost = !std::isfinite(columns.attention[t]) && std::isfinite(columns.lost[t]);
      const double attention = lost ? columns.lost[t] : columns.attention[t];
      out_.attention.values[at] = 2 * attention_place(attention) + (lost ? 1 : 0);
      out_.has_attention |= std::isfinite(attention);
      if (lost) missed[t] = std::max(missed[t], static_cast<float>(attention));
      out_.score.values[at] = numbers_.number(columns.score[t]);
      out_.has_scores |= std::isfinite(columns.score[t]);
      out_.votes.values[at] = static_cast<std::uint32_t>(std::max(0, columns.votes[t]));
      if (!pick.run->fates) continue;
      const int slot = slot_of(*pick.run->fates, *pick.record, pick.head, token);
      out_.slot.values[at] = slot < 0 ? 0u : slot == token ? 1u : static_cast<std::uint32_t>(2 + slot);
    }
  }

 private:
  std::uint32_t attention_place(double value) { return coarse_ ? numbers_.percent(value) : numbers_.place(format_attention(value), value); }

  const Snapshot& snapshot_;
  bool coarse_;
  NumberTable& numbers_;
  FateTable& fates_;
  RunColumns& out_;
};

/// The length of a bar; there is none where there is no number.
float drawn(double value) { return std::isfinite(value) ? static_cast<float>(value) : 0.0f; }

/// The tokens of a step's whole cache by category, all heads.
void write_counts(JsonText& json, const LaneSnapshot& run, const StepRecord& record, bool prefill_step) {
  std::array<int, kCategories> n{};
  for (std::size_t h = 0; run.fates && h < std::min(record.heads.size(), run.fates->heads.size()); ++h)
    for (const Category c : categories(*run.fates, record, static_cast<int>(h), run.sinks, prefill_step)) ++n[static_cast<std::size_t>(c)];
  json.key("counts").values(n);
}

void write_top(JsonText& json, const Snapshot& snapshot, const LaneSnapshot& run, int step) {
  json.key("top").begin_array();
  for (const TopToken& t : viz::candidates(snapshot, run, step)) {
    json.begin_array().value(viz::text_of_id(snapshot, t.id));
    json.value(t.rank == t.rank_reference || t.rank_reference == 0 ? std::to_string(t.rank)
                                                                   : std::to_string(t.rank_reference) + " → " + std::to_string(t.rank));
    json.value(format_probability(t.p_reference)).value(format_probability(t.p)).value(format_delta(t.p - t.p_reference));
    json.value(drawn(t.p_reference)).value(drawn(t.p));
    json.value((t.rank_reference == 1 ? 1 : 0) + (t.rank == 1 ? 2 : 0)).end_array();
  }
  json.end_array();
}

/// "6" evicted and "18" merged, by how many slots left in all heads.
void write_removed(JsonText& json, const StepRecord& record) {
  int n_evicted = 0, n_merged = 0;
  for (const HeadRecord& head : record.heads)
    for (const Event& event : head.events) {
      n_evicted += event.kind == Event::Kind::evict ? 1 : 0;
      n_merged += event.kind == Event::Kind::merge ? 1 : 0;
    }
  json.member("evicted", record.heads.empty() ? std::string(viz::kNotAvailableText) : format_count(n_evicted));
  json.member("merged", record.heads.empty() ? std::string(viz::kNotAvailableText) : format_count(n_merged));
}

void write_finding(JsonText& json, const Snapshot& snapshot, const LaneSnapshot& run, int step) {
  const viz::Finding finding = viz::finding_of(snapshot, run, step);
  json.member("finding",
              compares(snapshot, run, step) ? viz::finding_sentence(snapshot, run, finding) : viz::other_text_words(snapshot, run));
  json.key("lost");
  if (finding.loss.step < 0) {
    json.null();
    return;
  }
  json.begin_array().value(finding.loss.layer * snapshot.model.n_kv_heads + finding.loss.kv_head).value(finding.loss.token).end_array();
}

}  // namespace

RunColumns::RunColumns(int n_heads, int n_steps, int n_tokens)
    : fate(static_cast<std::size_t>(n_heads) * static_cast<std::size_t>(n_steps) * static_cast<std::size_t>(n_tokens)),
      attention(fate),
      score(fate),
      votes(fate),
      slot(fate),
      missed(static_cast<std::size_t>(n_heads), Missed(static_cast<std::size_t>(n_tokens), 0.0f)) {}

void RunColumns::move(const std::vector<std::uint32_t>& places) {
  for (std::uint32_t& v : attention.values) v = 2 * places[v / 2] + v % 2;
  for (std::vector<std::uint32_t>* column : {&score.values, &loss, &local, &error, &compression, &budget, &slots})
    for (std::uint32_t& v : *column) v = places[v];
}

RunColumns run_columns(const Snapshot& snapshot, int lane, bool coarse, NumberTable& numbers, FateTable& fates) {
  const LaneSnapshot& run = snapshot.lanes[static_cast<std::size_t>(lane)];
  const int n_heads = snapshot.model.n_layers * snapshot.model.n_kv_heads;
  const int n_steps = static_cast<int>(run.steps.size()), n_tokens = static_cast<int>(snapshot.tokens.size());
  RunColumns out(n_heads, n_steps, n_tokens);
  HeadFiller filler(snapshot, coarse, numbers, fates, out);
  for (int s = 0; s < n_steps; ++s) {
    const StepRecord& record = *run.steps[static_cast<std::size_t>(s)];
    for (int h = 0; h < n_heads; ++h) {
      const HeadRecord* const head = h < static_cast<int>(record.heads.size()) ? &record.heads[static_cast<std::size_t>(h)] : nullptr;
      out.loss.push_back(numbers.percent(head ? head->attention_loss : kNotAvailable));
      out.local.push_back(numbers.percent(head ? head->local_rel_l2 : kNotAvailable));
      out.error.push_back(numbers.number(head ? head->local_l1_wo : kNotAvailable));
      out.compression.push_back(numbers.percent(head ? head->compress_rel_l2 : kNotAvailable));
      out.slots.push_back(head ? numbers.place(format_count(head->n_slots), head->n_slots) : 0);
      out.budget.push_back(head && head->budget >= 0 ? numbers.place(format_count(head->budget), head->budget) : 0);
      if (head == nullptr) continue;
      viz::HeadPick pick{.lane = lane, .step = s, .head = h, .chosen = true, .run = &run, .record = &record, .values = head};
      filler.fill(pick, (static_cast<std::size_t>(h) * static_cast<std::size_t>(n_steps) + static_cast<std::size_t>(s)) *
                            static_cast<std::size_t>(n_tokens));
    }
  }
  return out;
}

void write_steps(JsonText& json, const Snapshot& snapshot, int lane) {
  const LaneSnapshot& run = snapshot.lanes[static_cast<std::size_t>(lane)];
  std::vector<viz::GeneratedToken> said(run.steps.size());
  for (viz::GeneratedToken& token : viz::generated_tokens(snapshot, run)) said[static_cast<std::size_t>(token.step)] = std::move(token);
  const auto n_compared = static_cast<std::size_t>(steps_of_one_text(snapshot, run));
  json.key("steps").begin_array(true);
  for (std::size_t s = 0; s < run.steps.size(); ++s) {
    const StepRecord& record = *run.steps[s];
    const int step = static_cast<int>(s);
    const viz::HeadPick worst = viz::pick_head(snapshot, {.lane = lane, .step = step});
    const bool compared = s < n_compared;
    json.begin_object().member("position", record.position).key("same");
    compared ? json.value(record.top1_same) : json.null();
    json.member("reference", said[s].reference).member("choice", said[s].choice).key("says_same");
    compared ? json.value(said[s].same) : json.null();
    json.member("says", said[s].says).member("p", format_probability_short(said[s].p));
    const double kl = compared ? record.kl : kNotAvailable;
    json.member("kl", format_number(kl)).member("kl_value", drawn(kl));
    json.member("nll", format_number(record.nll)).member("next", record.next_token < 0 ? "" : viz::text_of_id(snapshot, record.next_token));
    json.member("worst", worst.head);
    write_finding(json, snapshot, run, step);
    write_removed(json, record);
    write_counts(json, run, record, snapshot.prefill_mode && step == 0);
    write_top(json, snapshot, run, step);
    json.end_object();
  }
  json.end_array();
}

}  // namespace kvscope::share
