// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/policy/policy_panel_facts.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include <QStringList>

#include "app/window/panels/effect/step_votes.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "policy/catalog.h"
#include "policy/text/head_keys.h"
#include "snapshot/held_bytes.h"
#include "viz/draw/format.h"
#include "viz/reduce/text.h"

namespace kvscope {

namespace {

/// The heads that the card is about.
std::vector<const HeadRecord*> scope(const Workspace& workspace) {
  std::vector<const HeadRecord*> heads;
  const StepRecord* step = workspace.stepRecord();
  if (!step) return heads;
  const auto one = selectedHead(workspace.snapshot(), workspace.selection().layer, workspace.selection().kv_head);
  for (std::size_t h = 0; h < step->heads.size(); ++h) {
    if (!one || static_cast<std::size_t>(*one) == h) heads.push_back(&step->heads[h]);
  }
  return heads;
}

QString count(long long n) { return qs(viz::format_count(n)); }

/// The window that was asked for, where it is more than the half of the budget that it may take; 0: it has its room.
int tooWideWindow(const LaneSnapshot& lane, const PolicyInfo& info) {
  const bool halves = std::ranges::any_of(
      info.params, [](const ParamInfo& p) { return p.key == "window" && p.help.find("at most half of the budget") != std::string::npos; });
  const std::string* given = lane.param("window");
  if (!halves || given == nullptr || lane.slots_asked < 0) return 0;
  const int asked = qs(*given).toInt();
  return asked > lane.slots_asked / 2 ? asked : 0;
}

CardFact question(const Snapshot& snapshot, const LaneSnapshot& lane, const std::optional<PolicyInfo>& info) {
  constexpr const char* kName = "question";
  if (const int asked = lane.sees_question && info ? tooWideWindow(lane, *info) : 0; asked > 0)
    return {kName, QString("seen: the last %1 queries take part, half of the budget, not all %2").arg(lane.slots_asked / 2).arg(asked),
            "The other half is chosen by what they look at. kvpress keeps its whole window, and where the budget is smaller nothing else."};
  return {kName, qs(viz::question_text(snapshot, lane, info && info->sees_question_in_prefill))};
}

/// The parameters as they hold in the selected head; without one those of the run, with a note where a head has its own.
std::vector<ParamText> paramsInScope(const Workspace& workspace, const LaneSnapshot& lane) {
  std::vector<ParamText> params = lane.params;
  const LaneSpec read = lane_spec_of_result(lane.spec);
  const std::vector<HeadKey> own = read.name.empty() ? std::vector<HeadKey>{} : given_head_keys(read);
  const viz::Selection& s = workspace.selection();
  const bool one = selectedHead(workspace.snapshot(), s.layer, s.kv_head).has_value();
  for (ParamText& param : params) {
    bool differs = false;
    for (const HeadKey& k : own) {
      if (k.key != param.key) continue;
      differs = !one;
      if (one && k.has(*s.layer, *s.kv_head)) param.value = k.value;
    }
    if (differs) param.value += " (some heads their own)";
  }
  return params;
}

/// What the run was given beside its budget; the rest stands at its defaults.
QString givenParams(const LaneSnapshot& lane) {
  const LaneSpec spec = lane_spec_of_result(lane.spec);
  if (spec.name.empty()) return qs(lane.spec);  // this build cannot read it: as it is
  QStringList set;
  for (const auto& [key, value] : spec.given)
    if (key != "slots" && key != "ratio") set << qs(key) + " " + qs(value);
  return set.join(" · ");
}

QString allocation(const StepRecord& step) {
  std::set<int> budgets, first_of_layer;
  bool same_in_layer = true;
  long long total = 0;
  int layer = -1, first = -1;
  for (const HeadRecord& head : step.heads) {
    budgets.insert(head.budget);
    if (head.layer != layer) {
      layer = head.layer;
      first = head.budget;
    }
    same_in_layer = same_in_layer && head.budget == first;
    total += std::max(0, head.budget);
  }
  const auto n = static_cast<long long>(step.heads.size());
  const QString heads = QString("%1 heads").arg(count(n));
  if (budgets.size() == 1 && *budgets.begin() < 0) return QString("no limit · %1").arg(heads);
  if (budgets.size() == 1) return QString("uniform · %1 × %2 = %3 slots").arg(count(*budgets.begin()), heads, count(total));
  if (*budgets.begin() < 0) {
    const auto free = std::count_if(step.heads.begin(), step.heads.end(), [](const HeadRecord& h) { return h.budget < 0; });
    return QString("%1 of %2 without limit, the others %3–%4 slots")
        .arg(count(free), heads, count(*std::next(budgets.begin())), count(*budgets.rbegin()));
  }
  return QString("%1, %2–%3 · %4 = %5 slots")
      .arg(same_in_layer ? "by layer" : "by head", count(*budgets.begin()), count(*budgets.rbegin()), heads, count(total));
}

}  // namespace

BudgetFacts budgetFacts(const Workspace& workspace) {
  BudgetFacts facts;
  const LaneSnapshot* lane = workspace.lane();
  const std::vector<const HeadRecord*> heads = scope(workspace);
  if (!lane || heads.empty()) return facts;
  facts.known = true;
  facts.heavy_name = viz::category_word(*lane, Category::kept);
  double asked = 0;
  bool unlimited = false;
  for (const HeadRecord* head : heads) {
    const bool listed = !only_figures(*head);
    const auto n = listed ? static_cast<std::ptrdiff_t>(head->pos.size()) : head->n_slots;
    const auto sinks = listed ? std::lower_bound(head->pos.begin(), head->pos.end(), lane->sinks) - head->pos.begin()  // in order of pos
                              : std::min<std::ptrdiff_t>(lane->sinks, n);
    const std::ptrdiff_t recent = std::min<std::ptrdiff_t>(head->recent, n - sinks);
    facts.sinks += static_cast<double>(sinks);
    facts.recent += static_cast<double>(recent);
    facts.heavy += static_cast<double>(n - sinks - recent);
    unlimited = unlimited || head->budget < 0;
    asked += head->budget;
  }
  const HeadRecord& one = *heads.front();
  const auto unlike = [&one](const HeadRecord& head) { return head.budget != one.budget || head.n_slots != one.n_slots; };
  const bool own = heads.size() == 1 && std::ranges::any_of(workspace.stepRecord()->heads, unlike);
  const QString what = lane->slots_asked < 0 ? "Slots" : "Budget";  // nobody set one: how many stay is an outcome
  facts.title = what + (own ? " of " + qs(viz::head_name(one.layer, one.kv_head)) : QString(" per head"));
  const auto n = static_cast<double>(heads.size());
  for (double* part : {&facts.sinks, &facts.heavy, &facts.recent}) *part /= n;
  facts.asked = unlimited ? -1 : asked / n;
  QStringList parts;
  for (const double part : {facts.sinks, facts.heavy, facts.recent}) {
    if (part > 0) parts << qs(viz::format_mean(part));
  }
  const QString used = qs(viz::format_mean(facts.used()));
  facts.words = parts.size() > 1 ? parts.join(" + ") + " = " + used : used;
  // What was asked for is said wherever it is not what there is.
  if (facts.asked < 0) {
    facts.words += lane->slots_asked < 0 ? ", no limit" : " slots, no limit";
  } else if (facts.used() < facts.asked) {
    facts.words += QString(" of %1 slots").arg(qs(viz::format_mean(facts.asked)));
  } else if (facts.used() > facts.asked) {
    facts.words += QString(" slots, budget %1").arg(qs(viz::format_mean(facts.asked)));
  } else {
    facts.words += " slots";
  }
  return facts;
}

VotesFacts votesFacts(const Workspace& workspace) {
  VotesFacts facts;
  const std::vector<const HeadRecord*> heads = scope(workspace);
  if (heads.empty()) return facts;
  facts.known = true;
  const StepVotes votes = heads.size() == 1 ? countVotes(*heads.front(), workspace.stepRecord()->position) : workspace.stepVotes();
  facts.in_slots = votes.in_slots;
  facts.lost = votes.lost;
  facts.title = heads.size() == 1 ? QString("Votes, %1").arg(qs(viz::head_name(heads.front()->layer, heads.front()->kv_head)))
                                  : QString("Votes, %1 heads").arg(count(static_cast<long long>(heads.size())));
  facts.words =
      QString("%1 in slots + %2 lost = %3 seen").arg(count(facts.in_slots), count(facts.lost), count(facts.in_slots + facts.lost));
  facts.brief = QString("%1 + %2 lost = %3").arg(count(facts.in_slots), count(facts.lost), count(facts.in_slots + facts.lost));
  return facts;
}

std::vector<CardFact> cardFacts(const Workspace& workspace) {
  std::vector<CardFact> facts;
  const LaneSnapshot* lane = workspace.lane();
  const StepRecord* step = workspace.stepRecord();
  if (!lane) return facts;
  const std::optional<PolicyInfo> info = info_of_result(lane->policy, lane->spec);
  const std::vector<ParamText> params = paramsInScope(workspace, *lane);
  // A comparison with a parameter is shown with its value: "cosine ≥ threshold" as "cosine ≥ 0.8".
  const auto words = [&params](const std::string& text) {
    QString shown = qs(text).replace(">=", "≥");
    for (const ParamText& param : params) shown.replace("≥ " + qs(param.key), "≥ " + qs(param.value));
    return shown;
  };
  if (info) facts.push_back({"ranking", words(info->ranking)});
  if (!lane->looks_at.empty()) facts.push_back({"looks at", qs(lane->looks_at)});
  if (const CardFact fact = question(workspace.snapshot(), *lane, info); !fact.value.isEmpty()) facts.push_back(fact);
  if (info) facts.push_back({"merge", words(info->merging)});
  if (!lane->statistic.empty()) {
    QString value = qs(lane->statistic);
    if (!std::isnan(lane->half_life)) value += QString(" · half-life %1 queries").arg(qs(viz::format_number(lane->half_life, 2)));
    facts.push_back({"statistic", value});
  }
  if (step && !step->heads.empty()) facts.push_back({"allocation", allocation(*step)});
  if (!lane->warnings.empty()) {
    QStringList all;
    for (const LaneWarning& w : lane->warnings) all << qs(text_of(w));
    const QString more = all.size() > 1 ? QString("  (+%1)").arg(all.size() - 1) : QString();
    facts.push_back(
        {all.size() == 1 ? QString("1 warning") : QString("%1 warnings").arg(all.size()), all.front() + more, all.join("\n"), true});
  }
  if (const QString set = givenParams(*lane); !set.isEmpty()) facts.push_back({"set to", set});
  // Without a selected head the votes bar says this already.
  const bool one_head = selectedHead(workspace.snapshot(), workspace.selection().layer, workspace.selection().kv_head).has_value();
  if (one_head && step && !step->heads.empty()) {
    const StepVotes all = workspace.stepVotes();
    facts.push_back({QString("%1 heads").arg(count(static_cast<long long>(step->heads.size()))),
                     QString("%1 votes in slots + %2 lost").arg(count(all.in_slots), count(all.lost))});
  }
  return facts;
}

QString policyIdea(const Workspace& workspace) {
  const LaneSnapshot* lane = workspace.lane();
  const std::optional<PolicyInfo> info = lane ? info_of_result(lane->policy, lane->spec) : std::nullopt;
  return info ? qs(info->idea) : QString();
}

}  // namespace kvscope
