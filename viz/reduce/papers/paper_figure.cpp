// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/papers/paper_figure.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "viz/draw/format.h"

namespace kvscope::viz {

namespace {

constexpr std::size_t kMostNumbers = 4'000'000;  // of attention that one figure reads
constexpr int kWindow = 8;                       // steps, of slow attention
constexpr double kHighest = 0.2;                 // share of the tokens that count as highest

enum Which {
  kSparse,
  kHighestFifth,
  kHighestTenth,
  kSlow,
  kComesBack,
  kHitRate,
  kPerturbation,
  kPrediction,
  kAlike,
  kKeys,
  kSlots,
  kSinks,
  kThreshold,
  kValues,
  kDirections,
  kMemory,
  kFigures
};

const PaperFigureInfo kInfos[kFigures] = {
    {"sparse attention", "arXiv:2306.14048, Fig. 2 (a)",
     "In almost all layers over 95 % of the attention is below 1 % of the largest of its row.",
     "attention below 1 % of the largest of its row", 0.95, "95 % in the paper"},
    {"highest fifth", "arXiv:2504.09936, Fig. 2 (a)", "The highest tokens do not always hold the majority of the attention.",
     "attention that the highest 20 % of the tokens hold", 0.5, "half"},
    {"highest tenth", "arXiv:2502.03805, Fig. 7",
     "With half of the budget the most attended tokens hold over half of the attention in 99 % of the heads.",
     "attention that the highest 10 % of the tokens hold", 0.5, "half"},
    {"slow attention", "arXiv:2504.09936, Fig. 2 (c)",
     "A token's attention changes slowly: it varies less within a few steps than over all.",
     "tokens whose attention varies less within 8 steps than over all", 0.5, "chance"},
    {"comes back", "arXiv:2504.09936, Fig. 2 (b)",
     "Of the prompt's tokens that are evicted, a part comes into the highest 20 % of the attention later.",
     "evicted tokens that later are among the full cache's highest 20 %", kNotAvailable, ""},
    {"hit rate", "arXiv:2404.14469, Fig. 2 and 3", "What the end of the prompt chooses is what later queries attend to.",
     "of what later queries attend to most in the prompt, kept", kNotAvailable, ""},
    {"output moved", "arXiv:2502.03805, Fig. 4 and 5",
     "Choosing by attention and projected value moves the output less in most heads than by attention alone.",
     "output moved after W_O, beside the other run", 0, "no change"},
    {"prediction error", "arXiv:2504.09936, Fig. 2 (d)", "An average of past scores predicts the next ones.",
     "relative error of predicted scores, median over steps", kNotAvailable, ""},
    {"attention alike", "arXiv:2503.01330, Fig. 2",
     "Once a value is joined to its neighbour's, attention stays what it is in the full cache.",
     "cosine of the run's attention with the full cache's", 1, "the same"},
    {"nearest keys", "arXiv:2407.08454, Fig. 2", "Keys of one sequence are alike.",
     "cosine of a key that went with the nearest one that stayed, mean", kNotAvailable, ""},
    {"slots left", "arXiv:2407.08454, Fig. 3 (b)",
     "How far merging sets compress a layer is the model's own: nearly the same for different texts, different from layer to layer.",
     "slots over tokens", kNotAvailable, ""},
    {"lost sinks", "arXiv:2309.17453, Table 1", "", "", kNotAvailable, "",
     "perplexity needs a text of some thousand tokens: kvscope-cli ppl --text FILE --prompt-mode stream --lane RUN --lane RUN"},
    {"when to merge", "arXiv:2504.09936, Table 1", "", "", kNotAvailable, "",
     "a curve over thresholds needs a run for each: kvscope-cli ppl --text FILE --lane RUN,threshold=0.8 --lane RUN,threshold=0.5"},
    {"value into neighbour", "arXiv:2503.01330, Fig. 4", "", "", kNotAvailable, "",
     "perplexity needs a text: kvscope-cli ppl --text FILE --prompt-mode stream --lane RUN --lane RUN,merge=off"},
    {"directions of keys", "arXiv:2503.01330, Fig. 1; arXiv:2407.08454, Fig. 3 (a)", "", "", kNotAvailable, "",
     "keys and values are not recorded: for the embedded model Help > What papers say has the picture"},
    {"constant memory", "arXiv:2503.10714, Fig. 3", "", "", kNotAvailable, "", "the timeline draws the slots of every run over its steps"},
};

/// Attention by token, as far as the step's query saw; empty: not recorded.
std::vector<float> attention_of(const StepRecord& step, int head) {
  const HeadRecord& h = step.heads[static_cast<std::size_t>(head)];
  if (h.attention.empty() || h.attention.size() != h.attended.size()) return {};
  std::vector<float> values(static_cast<std::size_t>(step.position) + 1, 0.0f);
  for (std::size_t i = 0; i < h.attended.size(); ++i) values[static_cast<std::size_t>(h.attended[i])] = h.attention[i];
  return values;
}

/// Which steps of a run count: those in the selected range, else those after the prompt, else the newest; of many the newest.
std::vector<const StepRecord*> counted(const Snapshot& s, const LaneSnapshot& run, const Selection& selection) {
  std::vector<const StepRecord*> steps;
  for (const StepPtr& step : run.steps) {
    const bool asked =
        selection.steps ? step->step >= selection.steps->first && step->step <= selection.steps->last : step->position >= s.n_prompt;
    if (asked && !step->heads.empty()) steps.push_back(step.get());
  }
  if (steps.empty() && !selection.steps && !run.steps.empty() && !run.steps.back()->heads.empty()) steps.push_back(run.steps.back().get());
  if (steps.empty()) return steps;
  const std::size_t each = steps.back()->heads.size() * (static_cast<std::size_t>(steps.back()->position) + 1);
  const std::size_t most = std::max<std::size_t>(1, kMostNumbers / std::max<std::size_t>(1, each));
  if (steps.size() > most) steps.erase(steps.begin(), steps.end() - static_cast<std::ptrdiff_t>(most));
  return steps;
}

double mean_of(const std::vector<double>& values) {
  return values.empty() ? kNotAvailable : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Single scores next to nothing make a relative error of any size: their mean would be that of one step.
double median_of(std::vector<double> values) {
  if (values.empty()) return kNotAvailable;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Mean over steps of a number that one row of attention has.
std::vector<double> by_head(const std::vector<const StepRecord*>& steps, const std::function<double(std::vector<float>)>& number) {
  std::vector<double> found(steps.front()->heads.size());
  for (std::size_t h = 0; h < found.size(); ++h) {
    std::vector<double> values;
    for (const StepRecord* step : steps) {
      std::vector<float> row = attention_of(*step, static_cast<int>(h));
      if (!row.empty()) values.push_back(number(std::move(row)));
    }
    found[h] = mean_of(values);
  }
  return found;
}

/// The least value that still is among the highest `n` of these.
float least_of_highest(std::vector<float> values, std::size_t n) {
  n = std::clamp<std::size_t>(n, 1, values.size());
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n - 1), values.end(), std::greater<>());
  return values[n - 1];
}
std::size_t highest_count(std::size_t n, double share) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(share * static_cast<double>(n))));
}

double sparse_share(const std::vector<float>& row) {
  const float limit = 0.01f * *std::ranges::max_element(row);
  return static_cast<double>(std::ranges::count_if(row, [limit](float a) { return a < limit; })) / static_cast<double>(row.size());
}

/// What the prompt's compression evicted in a head, ascending.
std::vector<int> evicted_at_prompt(const StepRecord& prompt, std::size_t head) {
  std::vector<int> gone;
  for (const Event& e : prompt.heads[head].events)
    if (e.kind == Event::Kind::evict) gone.push_back(e.pos);
  return gone;
}

double share_that_comes_back(const std::vector<const StepRecord*>& full, int head, const std::vector<int>& gone) {
  std::vector<char> seen(gone.size(), 0);
  bool any = false;
  for (const StepRecord* step : full) {
    const std::vector<float> row = attention_of(*step, head);
    if (row.empty()) continue;
    any = true;
    const float least = least_of_highest(row, highest_count(row.size(), kHighest));
    for (std::size_t i = 0; i < gone.size(); ++i) seen[i] |= row[static_cast<std::size_t>(gone[i])] >= least;
  }
  if (!any || gone.empty()) return kNotAvailable;
  return static_cast<double>(std::ranges::count(seen, 1)) / static_cast<double>(seen.size());
}

/// Of as many of the prompt's tokens as are kept, those that a later query attends to most: which share is kept.
double hits(const std::vector<const StepRecord*>& full, int head, const std::vector<int>& kept, int n_prompt) {
  std::vector<double> shares;
  for (const StepRecord* step : full) {
    std::vector<float> row = attention_of(*step, head);
    if (row.size() <= static_cast<std::size_t>(n_prompt) || kept.empty()) continue;
    row.resize(static_cast<std::size_t>(n_prompt));
    std::vector<int> order(row.size());
    std::iota(order.begin(), order.end(), 0);
    const auto n = static_cast<std::ptrdiff_t>(std::min(kept.size(), row.size()));
    std::nth_element(order.begin(), order.begin() + (n - 1), order.end(), [&](int a, int b) {
      const float x = row[static_cast<std::size_t>(a)], y = row[static_cast<std::size_t>(b)];
      return x != y ? x > y : a < b;
    });
    const auto hit = std::count_if(order.begin(), order.begin() + n, [&](int pos) { return std::ranges::binary_search(kept, pos); });
    shares.push_back(static_cast<double>(hit) / static_cast<double>(n));
  }
  return mean_of(shares);
}

/// Sum over the counted steps of a figure of the head's record; NaN where one step has none.
std::vector<double> sums(const std::vector<const StepRecord*>& steps, double HeadRecord::*figure) {
  std::vector<double> found(steps.front()->heads.size(), 0.0);
  for (const StepRecord* step : steps)
    for (std::size_t h = 0; h < found.size() && h < step->heads.size(); ++h) found[h] += step->heads[h].*figure;
  return found;
}

/// The figure in the making: what it may read.
struct Maker {
  const Snapshot& s;
  const Selection& selection;
  PaperFigure figure = {};

  const LaneSnapshot& run(int i) const { return s.lanes[static_cast<std::size_t>(i)]; }
  bool compressed(int i) const { return i > 0 && i < static_cast<int>(s.lanes.size()) && !run(i).steps.empty(); }

  void fill(const std::vector<double>& by_head, const std::vector<HeadRecord>& heads) {
    for (std::size_t h = 0; h < by_head.size(); ++h) figure.bars.push_back({heads[h].layer, heads[h].kv_head, by_head[h]});
    if (std::ranges::none_of(by_head, [](double v) { return std::isfinite(v); })) figure.bars.clear();
  }

  /// The full cache's attention alone.
  void of_full(int which) {
    const auto steps = counted(s, run(0), selection);
    if (steps.empty()) return void(figure.missing = "no step of the full cache counts");
    figure.n_steps = static_cast<int>(steps.size());
    figure.of_runs = "full cache";
    std::vector<double> found;
    if (which == kSparse) {
      found = by_head(steps, sparse_share);
    } else if (which == kSlow) {
      for (std::size_t h = 0; h < steps.front()->heads.size(); ++h) {
        std::vector<std::vector<float>> rows;
        for (const StepRecord* step : steps) rows.push_back(attention_of(*step, static_cast<int>(h)));
        found.push_back(share_of_slow(rows, kWindow));
      }
    } else {
      const double share = which == kHighestFifth ? kHighest : kHighest / 2;
      found = by_head(steps, [share](std::vector<float> row) { return sum_of_highest(std::move(row), share); });
    }
    fill(found, steps.front()->heads);
    if (figure.bars.empty())
      figure.missing = which == kSlow ? fmt::format("needs more than {} steps after the prompt: generate some", kWindow)
                                      : "attention was not captured in these steps";
    else if (which == kSparse)
      figure.bars = layer_means(figure.bars);
  }

  /// What the shown run kept of the prompt, beside what the full cache attends to afterwards.
  void of_prompt(int which) {
    const int lane = selection.lane;
    if (!compressed(lane)) return void(figure.missing = "needs a run with a budget: select one, or add one");
    if (!s.prefill_mode) return void(figure.missing = "needs a prompt that is compressed as a whole: the prompt mode is stream");
    const StepRecord& prompt = *run(lane).steps.front();
    const auto steps = counted(s, run(0), selection);
    if (steps.empty() || steps.front()->position < s.n_prompt) return void(figure.missing = "needs steps after the prompt: generate some");
    figure.n_steps = static_cast<int>(steps.size());
    figure.of_runs = fmt::format("{}, attention of the full cache", run(lane).title);
    std::vector<double> found, kept_share;
    for (std::size_t h = 0; h < prompt.heads.size(); ++h) {
      const HeadRecord& head = prompt.heads[h];
      found.push_back(which == kComesBack ? share_that_comes_back(steps, static_cast<int>(h), evicted_at_prompt(prompt, h))
                                          : hits(steps, static_cast<int>(h), head.pos, s.n_prompt));
      kept_share.push_back(static_cast<double>(head.n_slots) / std::max(1, s.n_prompt));
    }
    fill(found, prompt.heads);
    if (figure.bars.empty())
      figure.missing = which == kComesBack ? "nothing was evicted at the end of the prompt" : "attention was not captured in these steps";
    if (which == kHitRate) figure.line = mean_of(kept_share), figure.line_words = "as many at random";
  }

  void of_error() {
    const int lane = selection.lane;
    int other = 1;
    while (other == lane || (other < static_cast<int>(s.lanes.size()) && !compressed(other))) ++other;
    if (!compressed(lane) || !compressed(other))
      return void(figure.missing = "needs two runs with budgets: add another, and select one of them");
    const auto mine = counted(s, run(lane), selection), theirs = counted(s, run(other), selection);
    if (mine.empty() || mine.size() != theirs.size()) return void(figure.missing = "the two runs have not read the same steps yet");
    figure.n_steps = static_cast<int>(mine.size());
    figure.of_runs = fmt::format("{} beside {}", run(lane).title, run(other).title);
    std::vector<double> ratio = sums(mine, &HeadRecord::local_l1_wo);
    const std::vector<double> below = sums(theirs, &HeadRecord::local_l1_wo);
    for (std::size_t h = 0; h < ratio.size() && h < below.size(); ++h) ratio[h] = below[h] > 0 ? ratio[h] / below[h] - 1 : kNotAvailable;
    fill(ratio, mine.front()->heads);
    if (figure.bars.empty()) figure.missing = "how far outputs move was not measured: it needs the uncompressed history";
  }

  /// The shown run's own records: what its steps hold.
  void of_run(int which) {
    const int lane = selection.lane;
    if (!compressed(lane)) return void(figure.missing = "needs a run with a budget: select one, or add one");
    const auto steps = counted(s, run(lane), selection);
    if (steps.empty()) return void(figure.missing = "no step of the run counts");
    figure.n_steps = static_cast<int>(which == kKeys ? run(lane).steps.size() : steps.size());  // what went, went in all of them
    figure.of_runs = which == kAlike ? run(lane).title + " beside the full cache" : run(lane).title;
    const std::vector<HeadRecord>& heads = steps.back()->heads;
    std::vector<double> found;
    for (std::size_t h = 0; h < heads.size(); ++h)
      found.push_back(which == kAlike  ? cosine_with_full(steps, static_cast<int>(h))
                      : which == kKeys ? mean_cosine(run(lane), h)
                                       : static_cast<double>(heads[h].n_slots) / (steps.back()->position + 1));
    fill(found, heads);
    if (figure.bars.empty())
      figure.missing = which == kKeys ? "needs a run that looks for the nearest key, as those that merge do: select one, or add one"
                                      : "attention was not captured in these steps";
    else if (which == kSlots)
      figure.bars = layer_means(figure.bars);
  }

  double cosine_with_full(const std::vector<const StepRecord*>& steps, int head) const {
    std::vector<double> cosines;
    for (const StepRecord* step : steps) {
      if (step->step >= static_cast<int>(run(0).steps.size())) break;
      const std::vector<float> a = attention_of(*run(0).steps[static_cast<std::size_t>(step->step)], head), b = attention_of(*step, head);
      if (a.empty() || a.size() != b.size()) continue;
      const auto product = [](const std::vector<float>& x, const std::vector<float>& y) {
        return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
      };
      cosines.push_back(product(a, b) / std::sqrt(product(a, a) * product(b, b)));
    }
    return mean_of(cosines);
  }

  /// Of all that went, in whichever step.
  static double mean_cosine(const LaneSnapshot& of, std::size_t head) {
    std::vector<double> cosines;
    for (const StepPtr& step : of.steps)
      if (head < step->heads.size())
        for (const Event& event : step->heads[head].events)
          if (std::isfinite(event.cos)) cosines.push_back(event.cos);
    return mean_of(cosines);
  }

  void of_prediction() {
    const auto steps = compressed(selection.lane) ? counted(s, run(selection.lane), selection) : std::vector<const StepRecord*>{};
    if (!steps.empty()) {
      std::vector<double> found;
      for (std::size_t h = 0; h < steps.front()->heads.size(); ++h) {
        std::vector<double> values;
        for (const StepRecord* step : steps)
          if (h < step->heads.size() && std::isfinite(step->heads[h].predictor_rel_error))
            values.push_back(step->heads[h].predictor_rel_error);
        found.push_back(median_of(std::move(values)));
      }
      fill(found, steps.front()->heads);
      figure.n_steps = static_cast<int>(steps.size());
      figure.of_runs = run(selection.lane).title;
    }
    if (!figure.bars.empty()) return;
    figure.unmeasured = compressed(selection.lane) && !s.measures.prediction;
    figure.missing = figure.unmeasured ? "how far predicted scores are off is not measured in this result yet"
                                       : "needs a run that predicts scores, as those do whose score is an EMA: select one, or add one";
  }
};

}  // namespace

std::span<const PaperFigureInfo> paper_figure_infos() { return kInfos; }

double sum_of_highest(std::vector<float> values, double share) {
  if (values.empty()) return kNotAvailable;
  const auto n = static_cast<std::ptrdiff_t>(std::min(values.size(), highest_count(values.size(), share)));
  std::nth_element(values.begin(), values.begin() + (n - 1), values.end(), std::greater<>());
  return std::accumulate(values.begin(), values.begin() + n, 0.0);
}

double share_of_slow(std::span<const std::vector<float>> steps, int window) {
  const auto n_steps = static_cast<int>(steps.size());
  if (n_steps <= window || steps.front().empty()) return kNotAvailable;
  const std::size_t n_tokens = steps.front().size();
  for (const std::vector<float>& step : steps)
    if (step.size() < n_tokens) return kNotAvailable;
  const auto variance = [&](std::size_t token, int first, int n) {
    double sum = 0, squares = 0;
    for (int i = first; i < first + n; ++i) sum += steps[static_cast<std::size_t>(i)][token];
    for (int i = first; i < first + n; ++i) squares += std::pow(steps[static_cast<std::size_t>(i)][token] - sum / n, 2);
    return squares / (n - 1);
  };
  std::size_t slow = 0;
  for (std::size_t token = 0; token < n_tokens; ++token) {
    double within = 0;
    for (int first = 0; first + window <= n_steps; ++first) within += variance(token, first, window);
    slow += variance(token, 0, n_steps) > within / (n_steps - window + 1);
  }
  return static_cast<double>(slow) / static_cast<double>(n_tokens);
}

PaperFigure paper_figure(const Snapshot& snapshot, const Selection& selection, int which) {
  const PaperFigureInfo& info = kInfos[std::clamp(which, 0, kFigures - 1)];
  Maker maker{snapshot, selection};
  maker.figure.line = info.line;
  maker.figure.line_words = info.line_words;
  if (*info.elsewhere)
    maker.figure.missing = info.elsewhere;
  else if (snapshot.lanes.empty() || snapshot.lanes.front().steps.empty())
    maker.figure.missing = "no run yet";
  else if (which <= kSlow)
    maker.of_full(which);
  else if (which <= kHitRate)
    maker.of_prompt(which);
  else if (which == kPerturbation)
    maker.of_error();
  else if (which == kPrediction)
    maker.of_prediction();
  else
    maker.of_run(which);
  return std::move(maker.figure);
}

std::vector<PaperFigure::Bar> layer_means(const std::vector<PaperFigure::Bar>& heads) {
  std::vector<PaperFigure::Bar> means;
  for (std::size_t i = 0; i < heads.size();) {
    std::vector<double> values;
    const int layer = heads[i].layer;
    for (; i < heads.size() && heads[i].layer == layer; ++i)
      if (std::isfinite(heads[i].value)) values.push_back(heads[i].value);
    means.push_back({layer, -1, mean_of(values)});
  }
  return means;
}

std::string bar_name(const PaperFigure::Bar& bar) {
  return bar.kv_head < 0 ? fmt::format("L{}", bar.layer) : fmt::format("L{} H{}", bar.layer, bar.kv_head);
}

Table paper_figure_table(const PaperFigure& figure, int which) {
  const PaperFigureInfo& info = kInfos[std::clamp(which, 0, kFigures - 1)];
  Table table{{"layer", "KV head", *info.value ? info.value : info.name}, {}, figure.missing};
  for (const PaperFigure::Bar& bar : figure.bars)
    table.rows.push_back({std::to_string(bar.layer), bar.kv_head < 0 ? "all" : std::to_string(bar.kv_head), format_plain(bar.value)});
  if (table.note.empty())
    table.note = fmt::format("{}. {} Steps counted: {} ({}).", info.source, info.says, figure.n_steps, figure.of_runs);
  return table;
}

}  // namespace kvscope::viz
