// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include <fmt/core.h>

#include "app/cli/commands.h"
#include "app/cli/inputs.h"
#include "app/cli/interrupt.h"
#include "app/cli/lane_warnings.h"
#include "app/cli/progress.h"
#include "app/cli/sweep/ranks.h"
#include "app/cli/sweep/sweep_output.h"
#include "app/cli/sweep/sweep_plan.h"
#include "app/cli/sweep/sweep_work.h"
#include "app/cli/table.h"
#include "core/error.h"
#include "io/files.h"
#include "trace/sweep_store.h"

namespace kvscope::cli {

namespace {

/// The items that are there: of this process, or of the store that others fill, too.
class SweepResults {
 public:
  SweepResults(const Arguments& a, const SweepPlan& plan) : plan_(plan), results_(plan.size()), told_(plan.size()) {
    if (a.store.empty()) return;
    store_.emplace(a.store);
    const Interrupt::Critical writing;
    store_->announce(plan.contents(a));
  }

  /// Looks into the store; what is of no use there is said.
  bool has(std::size_t i) {
    if (results_[i] || !store_) return results_[i].has_value();
    std::string problem;
    results_[i] = store_->find(plan_.item(i), &problem);
    if (!problem.empty() && !told_[i]) note(problem + "; it is computed again");
    told_[i] = told_[i] || !problem.empty();
    return results_[i].has_value();
  }
  void put(std::size_t i, SweepResult result) {
    if (store_) {
      const Interrupt::Critical writing;
      store_->put(plan_.item(i), result);
    }
    results_[i] = std::move(result);
  }
  std::size_t n_there() const {
    return static_cast<std::size_t>(std::ranges::count_if(results_, [](const auto& result) { return result.has_value(); }));
  }
  /// Of all that are there, whoever computed them.
  LaneWarnings warnings() {
    LaneWarnings out(plan_.n_seeds() == 1 ? "texts" : plan_.texts().size() == 1 ? "seeds" : "texts and seeds");
    for (std::size_t i = 0; i < plan_.size(); ++i)
      if (i != plan_.reference_of(i) && has(i)) out.add(plan_.run(i).lane.text, results_[i]->warnings);
    return out;
  }
  /// All of them; nothing: some are not there yet, and it is said.
  std::optional<std::vector<SweepResult>> all(bool quiet) {
    std::vector<SweepResult> out;
    for (std::size_t i = 0; i < plan_.size(); ++i)
      if (has(i)) out.push_back(*results_[i]);
    if (out.size() == plan_.size()) return out;
    if (!quiet)
      note(fmt::format("{}: {} of {} items are there; once the others are, the same command prints the result", store_->folder(),
                       out.size(), plan_.size()));
    return std::nullopt;
  }

 private:
  const SweepPlan& plan_;
  std::optional<SweepStore> store_;
  std::vector<std::optional<SweepResult>> results_;
  std::vector<bool> told_;  // what is wrong with the file in an item's place
};

std::string output_of(const Arguments& a, const SweepPlan& plan, const std::vector<SweepResult>& results) {
  if (const std::string words = seeds_words(plan, results); !words.empty() && !a.quiet) note(words);
  if (a.json) return sweep_json(plan, results);
  if (!a.table) return sweep_csv(plan, results);
  return sweep_table(plan, results) + (a.follow == Follow::self ? fmt::format("{}\n", kComparedUntilTextsPart) : std::string());
}

// ---- an MPI job. A worker sends the number of the item that it has done (at first kNone) and what came out; it gets the number of the
// next one, kNone at the end. All ranks are the same program on machines of one kind, so numbers travel as they lie in memory.

constexpr std::uint64_t kNone = ~std::uint64_t{0};

struct Done {
  std::uint64_t n_items = 0;  // of the worker's plan
  std::uint64_t item = kNone;
};

std::string number_message(std::uint64_t item) { return {reinterpret_cast<const char*>(&item), sizeof item}; }

/// Which item is whose next. Items of one text share the full cache's run, so a worker stays with a text while that has any left, then
/// begins one that nobody has begun, and helps another worker where there is none.
class Deal {
 public:
  Deal(const SweepPlan& plan, SweepResults& results) : plan_(plan), results_(results), dealt_(plan.size()) {}

  /// last: what the worker has done before; kNone: nothing. kNone: all are dealt.
  std::uint64_t next(std::uint64_t last) {
    if (last != kNone)
      if (const std::uint64_t own = open_in(plan_.reference_of(last)); own != kNone) return take(own);
    for (; new_text_ < plan_.size(); new_text_ += plan_.runs().size()) {
      const std::uint64_t begun = dealt_in(new_text_) ? kNone : open_in(new_text_);
      if (begun != kNone) return take(begun);
    }
    for (; first_open_ < plan_.size(); ++first_open_)
      if (is_open(first_open_)) return take(first_open_);
    return kNone;
  }

 private:
  std::uint64_t end_of(std::uint64_t text) const { return text + plan_.runs().size(); }
  bool is_open(std::uint64_t item) { return !dealt_[item] && !results_.has(item); }
  bool dealt_in(std::uint64_t text) const {
    return std::any_of(dealt_.begin() + static_cast<std::ptrdiff_t>(text), dealt_.begin() + static_cast<std::ptrdiff_t>(end_of(text)),
                       [](bool dealt) { return dealt; });
  }
  std::uint64_t open_in(std::uint64_t text) {
    for (std::uint64_t i = text; i < end_of(text); ++i)
      if (is_open(i)) return i;
    return kNone;
  }
  std::uint64_t take(std::uint64_t item) {
    dealt_[item] = true;
    return item;
  }

  const SweepPlan& plan_;
  SweepResults& results_;
  std::vector<bool> dealt_;
  std::uint64_t new_text_ = 0, first_open_ = 0;
};

/// Rank 0. Throws Error, Cancelled.
void deal(const Ranks& ranks, const SweepPlan& plan, SweepResults& results, bool quiet, const CancelToken& cancel) {
  Progress progress(quiet);
  Deal items(plan, results);
  for (int working = ranks.size() - 1; working > 0;) {
    const auto [worker, message] = ranks.receive([&] { cancel.check(); });
    Done done;
    if (message.size() >= sizeof done) std::memcpy(&done, message.data(), sizeof done);
    if (done.n_items != plan.size() || (done.item != kNone && done.item >= plan.size()))
      throw Error(fmt::format("--mpi: rank {} has {} items of work, rank 0 has {}; every rank needs the same files", worker, done.n_items,
                              plan.size()));
    if (done.item != kNone) results.put(done.item, read_sweep_result(std::string_view(message).substr(sizeof done), "--mpi"));
    progress.show(fmt::format("{} ranks at work", working), static_cast<double>(results.n_there()) / static_cast<double>(plan.size()));
    const std::uint64_t next = items.next(done.item);
    working -= next == kNone;
    ranks.send(worker, number_message(next));
  }
}

/// The other ranks. Throws Error, Cancelled.
void work_for(const Ranks& ranks, const SweepPlan& plan, SweepWork& work, const CancelToken& cancel) {
  Done done{.n_items = plan.size()};
  std::string result;
  while (true) {
    ranks.send(0, std::string(reinterpret_cast<const char*>(&done), sizeof done) + result);
    const std::string message = ranks.receive([&] { cancel.check(); }).second;
    KVSCOPE_ASSERT(message.size() == sizeof done.item);
    std::memcpy(&done.item, message.data(), sizeof done.item);
    if (done.item == kNone) return;
    result = sweep_result_json(work.compute(done.item, cancel, {}));
  }
}

/// One process does what is missing of its part.
void compute_alone(const Arguments& a, const SweepPlan& plan, SweepResults& results, SweepWork& work, const CancelToken& cancel) {
  Progress progress(a.quiet);
  const auto [first, last] = plan.shard(a.shard.first, a.shard.second);
  for (std::size_t i = first; i < last; ++i) {
    cancel.check();
    if (results.has(i)) continue;
    const double before = static_cast<double>(i - first), all = static_cast<double>(last - first);
    results.put(i, work.compute(i, cancel, [&](const std::string&, double fraction) {
      progress.show(plan.run(i).lane.text, (before + fraction) / all);
    }));
  }
}

/// The table in the place of one of the store's files, by its own name or through a link.
void check_not_of_store(const Arguments& a) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path named = fs::absolute(a.out, ignored);
  for (const fs::path& out : {named, fs::weakly_canonical(named, ignored)}) {
    const std::string name = out.filename().string();
    if (!a.store.empty() && (is_sweep_item_name(name) || is_sweep_contents_name(name)) &&
        fs::equivalent(out.parent_path(), a.store, ignored))
      throw UsageError(fmt::format("--out {}: this is the name of a file of --store {}; choose another name", a.out, a.store));
  }
}

}  // namespace

int sweep(const Arguments& a) {
  const bool to_stdout = a.out.empty() || a.out == "-";
  check_targets(a, {{"--out", a.out}});
  check_not_of_store(a);
  std::optional<Ranks> ranks;
  if (a.mpi) ranks.emplace();
  const Interrupt interrupt;
  ModelFiles model = open_model_of(a);
  const bool works_for_another = ranks && ranks->rank() > 0;
  const SweepPlan plan(a, model, /*with_keys=*/!a.store.empty() && !works_for_another);
  SweepWork work(plan, std::move(model), {.precision = a.precision, .n_threads = a.threads, .device = a.device});
  if (works_for_another) {
    work_for(*ranks, plan, work, interrupt.token());
    ranks->finish();
    return 0;
  }
  if (!a.quiet)
    for (const SweepText& text : plan.texts())
      if (!text.notice.empty()) note(text.notice);
  SweepResults results(a, plan);
  if (ranks && ranks->size() > 1)
    deal(*ranks, plan, results, a.quiet, interrupt.token());
  else
    compute_alone(a, plan, results, work, interrupt.token());
  if (ranks) ranks->finish();
  if (!a.quiet)
    for (const std::string& warning : results.warnings().all()) note(warning);
  const auto all = results.all(a.quiet);
  if (!all) return 0;
  const std::string text = output_of(a, plan, *all);
  if (to_stdout) return print(text);
  const Interrupt::Critical writing;
  write_atomically(a.out, text);
  return 0;
}

}  // namespace kvscope::cli
