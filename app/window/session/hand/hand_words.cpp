// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/hand/hand_words.h"

#include <algorithm>

#include <QStringList>

#include "app/window/shell/panel_paint.h"
#include "snapshot/figures.h"
#include "snapshot/hand_events.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"

namespace kvscope {

namespace {

const char* pastOf(WhatIf::Kind kind) {
  constexpr const char* kWords[] = {"pinned", "evicted", "merged", "restored"};
  return kWords[static_cast<int>(kind)];
}

QString pastOf(const EditsMade& made) {
  QStringList words;
  for (const WhatIf& one : made) words << pastOf(one.kind);
  return words.join(" and ");
}

/// "With %1 back in %2": how a sentence about the result begins.
QString beginning(const EditsMade& made) {
  if (made.size() > 1) return "With %1 " + pastOf(made) + " in %2";
  switch (made.front().kind) {
    case WhatIf::Kind::pin:
      return "With %1 pinned in %2";
    case WhatIf::Kind::evict:
      return "Without %1 in %2";
    case WhatIf::Kind::merge:
      return "With %1 merged in %2";
    case WhatIf::Kind::restore:
      return "With %1 back in %2";
  }
  return {};
}

QString sinceWords(int step) { return step < 0 ? QString("from the prompt on") : QString("after step %1").arg(step); }

/// As a sentence begins.
QString beginningWith(QString words) {
  words[0] = words[0].toUpper();
  return words;
}

/// Neighbours as one piece of text.
QString quotedTokens(std::span<const TokenInfo> read, const std::vector<int>& positions) {
  QStringList words;
  for (std::size_t i = 0, end = 0; i < positions.size(); i = end) {
    for (end = i + 1; end < positions.size() && positions[end] == positions[end - 1] + 1;) ++end;
    words << qs(viz::quoted(viz::token_range_text(read, positions[i], positions[end - 1], 16)));
  }
  return words.join(", ");
}

/// Restored, and the policy may take it again.
bool mayGoAgain(const EditsMade& made) { return made.size() == 1 && made.front().kind == WhatIf::Kind::restore; }

/// The first step in which a token that was restored went again, and in how many of the heads that have it back; -1: it is there.
struct GoneAgain {
  int step = -1, n_heads = 0, n_of = 0;
};

GoneAgain goneAgain(const LaneSnapshot& run, const WhatIf& restored) {
  GoneAgain out;
  for (std::size_t s = static_cast<std::size_t>(std::max(0, restored.step + 1)); s < run.steps.size() && out.step < 0; ++s) {
    out.n_of = 0;
    for (const HeadRecord& head : run.steps[s]->heads) {
      const auto went = [&](const Event& e) {
        return e.kind != Event::Kind::restore && !e.by_hand && std::ranges::binary_search(restored.positions, e.pos);
      };
      if (!restored.heads.has(head.layer, head.kv_head)) continue;
      ++out.n_of;
      out.n_heads += std::ranges::any_of(head.events, went) ? 1 : 0;
    }
    if (out.n_heads > 0) out.step = static_cast<int>(s);
  }
  return out;
}

/// A policy that chooses once, after the prompt, takes nothing afterwards.
bool removesLater(const LaneSnapshot& run, int after) {
  const auto removes = [](const HeadRecord& head) {
    return std::ranges::any_of(head.events, [](const Event& e) { return e.kind != Event::Kind::restore && !e.by_hand; });
  };
  return std::ranges::any_of(run.steps,
                             [&](const StepPtr& step) { return step->step > after && std::ranges::any_of(step->heads, removes); });
}

/// A token that had left before cannot be merged or pinned any more.
QString reachedWords(const LaneSnapshot& fork, const EditsMade& made) {
  const WhatIf& last = made.back();
  const QString asked = headsWords(last.heads);
  if (last.kind != WhatIf::Kind::merge && last.kind != WhatIf::Kind::pin) return asked;
  const std::vector<WhatIf> edits = edits_of(fork.spec).what_ifs;
  const auto newest = std::ranges::find(edits.rbegin(), edits.rend(), last);
  if (newest == edits.rend()) return asked;
  const EditDone reached = doneOf(fork, edits, static_cast<std::size_t>(edits.rend() - newest) - 1);
  if (reached.done == reached.asked) return asked;
  return last.positions.size() == 1 ? QString("%1 of %2 heads").arg(reached.done).arg(reached.asked)
                                    : QString("%1 (%2 of %3 slots)").arg(asked).arg(reached.done).arg(reached.asked);
}

/// Edits that the run has beside those that were made, and its baseline has not.
int othersOf(const LaneSnapshot& fork, const LaneSnapshot& base, const EditsMade& made) {
  const LaneEdits with = edits_of(fork.spec), without = edits_of(base.spec);
  const auto own = [](const auto& edits, const auto& not_in) {
    return static_cast<int>(
        std::ranges::count_if(edits, [&](const auto& e) { return e.on && std::ranges::find(not_in, e) == not_in.end(); }));
  };
  return std::max(0, own(with.what_ifs, without.what_ifs) + own(with.budgets, without.budgets) - static_cast<int>(made.size()));
}

constexpr const char* kPinIt = "pin it to keep it (P).";

}  // namespace

EditDone doneOf(const LaneSnapshot& fork, const std::vector<WhatIf>& edits, std::size_t which) {
  EditDone out;
  const WhatIf& edit = edits[which];
  const bool pin = edit.kind == WhatIf::Kind::pin;
  const int step = pin ? static_cast<int>(fork.steps.size()) - 1 : edit.step;
  if (step < 0 || step >= static_cast<int>(fork.steps.size())) return out;
  for (const HeadRecord& head : fork.steps[static_cast<std::size_t>(step)]->heads) {
    if (!edit.heads.has(head.layer, head.kv_head)) continue;
    out.asked += static_cast<int>(edit.positions.size());
    out.done +=
        pin ? static_cast<int>(std::ranges::count_if(edit.positions, [&](int pos) { return std::ranges::binary_search(head.pos, pos); }))
            : slots_changed(head.events, head.layer, head.kv_head, std::span(edits), which);
  }
  return out;
}

QString tokenWords(std::span<const TokenInfo> read, const std::vector<int>& positions) {
  if (positions.size() != 1) return QString("%1 tokens").arg(positions.size());
  return QString("token %1 %2").arg(positions.front()).arg(qs(viz::quoted(viz::token_text(read, positions.front()))));
}

QString headsWords(const HeadChoice& chosen) {
  if (chosen.layers.empty() && chosen.kv_heads.empty()) return "all heads";
  if (chosen.kv_heads.empty() && chosen.layers.size() == 1) return QString("all heads of L%1").arg(chosen.layers.front());
  if (chosen.layers.size() == 1 && chosen.kv_heads.size() == 1) return qs(viz::head_name(chosen.layers.front(), chosen.kv_heads.front()));
  return "some heads";
}

QString handWords(std::span<const TokenInfo> read, const LaneEdits& edits) {
  QStringList words;
  for (const WhatIf& w : edits.what_ifs) {
    if (!w.on) continue;
    const QString into = w.into >= 0 ? " into " + quotedTokens(read, {w.into}) : QString();
    words << QString("%1 %2%3 in %4").arg(quotedTokens(read, w.positions), pastOf(w.kind), into, headsWords(w.heads));
  }
  for (const BudgetOverride& b : edits.budgets)
    if (b.on) words << QString("own budget for %1").arg(headsWords(b.heads));
  return words.join(" · ");
}

QString madeWords(std::span<const TokenInfo> read, const EditsMade& made) {
  const WhatIf& first = made.front();
  return QString("%1 %2 by hand in %3, %4")
      .arg(beginningWith(tokenWords(read, first.positions)), pastOf(made), headsWords(first.heads), sinceWords(first.step));
}

QString unpinnedWords(std::span<const TokenInfo> read, const std::vector<int>& tokens, const HeadChoice& heads,
                      const std::vector<WhatIf>& others) {
  const bool one = tokens.size() == 1;
  const QString unpinned =
      QString("%1 %2 no longer pinned in %3").arg(beginningWith(tokenWords(read, tokens)), one ? "is" : "are", headsWords(heads));
  const WhatIf* gone = nullptr;
  std::size_t n_gone = 0;
  for (const int token : tokens) {
    const auto last = std::ranges::find_if(others.rbegin(), others.rend(), [token](const WhatIf& w) {
      return w.kind != WhatIf::Kind::pin && std::ranges::binary_search(w.positions, token);
    });
    if (last == others.rend() || last->kind == WhatIf::Kind::restore) continue;
    gone = &*last;
    ++n_gone;
  }
  if (n_gone == 0) return unpinned + QString(": the policy may take %1.").arg(one ? "it" : "them");
  if (n_gone < tokens.size())
    return unpinned + QString(". By hand %1 of them were taken away; the policy may take the others.").arg(n_gone);
  return unpinned + QString(". %1 %2 by hand in %3: restore %4 to have %4 back (R).")
                        .arg(one ? "It was" : "They were", pastOf(gone->kind), headsWords(gone->heads), one ? "it" : "them");
}

QString resultWords(const Snapshot& snapshot, const LaneSnapshot& fork, const EditsMade& made, int shown) {
  if (fork.fork_of < 0 || fork.fork_of >= static_cast<int>(snapshot.lanes.size())) return {};
  const LaneSnapshot& base = snapshot.lanes[static_cast<std::size_t>(fork.fork_of)];
  const int n = static_cast<int>(std::min(base.steps.size(), fork.steps.size()));
  const WhatIf& first = made.front();
  const auto differs = [&](int s) {
    const StepRecord &with = *fork.steps[static_cast<std::size_t>(s)], &without = *base.steps[static_cast<std::size_t>(s)];
    return with.position >= snapshot.n_prompt - 1 && with.top1 != without.top1;
  };
  int step = shown;
  if (step < 0 || step >= n) return {};
  for (int s = std::max(0, first.step + 1); s < n && !differs(step); ++s)
    if (differs(s)) step = s;
  const StepRecord &with = *fork.steps[static_cast<std::size_t>(step)], &without = *base.steps[static_cast<std::size_t>(step)];
  if (with.top1 < 0 || without.top1 < 0) return {};
  const QString is = qs(viz::quoted(viz::text_of_id(snapshot, with.top1)));
  const QString answer = with.top1 == without.top1 ? QString("the next token stays %1").arg(is)
                         : with.top1_same && compares(snapshot, fork, step)
                             ? QString("the next token is %1 again, as with the full cache").arg(is)
                             : QString("the next token becomes %1").arg(is);
  const int n_others = othersOf(fork, base, made);
  const QString others = n_others == 0 ? QString() : ", and with " + counted(n_others, "other edit", "other edits");
  QString out =
      QString("%1, %2%3: at step %4%5 %6; KL %7 → %8 nats.")
          .arg(beginning(made).arg(quotedTokens(tokens_of(snapshot, fork), first.positions), reachedWords(fork, made)),
               sinceWords(first.step), others)
          .arg(step)
          .arg(step != shown ? ", the first that changes," : "", answer, qs(viz::format_number(compared_kl(snapshot, base, step))),
               qs(viz::format_number(compared_kl(snapshot, fork, step))));
  if (!mayGoAgain(made)) return out;
  const GoneAgain gone = goneAgain(fork, first);
  if (gone.step < 0) return removesLater(fork, first.step) ? out + " The policy may evict it again: " + kPinIt : out;
  const QString where = gone.n_of > 1 ? QString(" in %1 of %2 heads").arg(gone.n_heads).arg(gone.n_of) : QString();
  return out + QString(" The policy took it again at step %1%2: ").arg(gone.step).arg(where) + kPinIt;
}

}  // namespace kvscope
