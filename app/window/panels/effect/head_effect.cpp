// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/effect/head_effect.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/window/session/hand/head_budgets.h"
#include "app/window/session/request_key.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "core/error.h"
#include "policy/catalog.h"
#include "policy/text/head_keys.h"
#include "policy/text/lane_edits.h"
#include "snapshot/figures.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {

constexpr int kOneChangeMs = 1000;

/// The same for all heads, without anything of single ones.
LaneSpec withoutHeads(LaneSpec spec) {
  for (const HeadKey& k : given_head_keys(spec)) spec = with_param(spec, head_key(k.key, k.layer, k.kv_head), {});
  LaneEdits edits = spec.edits;
  edits.budgets.clear();
  return with_edits(spec, edits);
}

QString placeWords(const HeadChoice& heads) {
  const bool one = heads.layers.size() == 1 && heads.kv_heads.size() <= 1;
  return one ? qs(viz::head_name(heads.layers.front(), heads.kv_heads.empty() ? -1 : heads.kv_heads.front())) : QString("some heads");
}

/// What the run is measured on.
std::string textOf(const SessionController& of) { return textKey(of) + '\n' + std::to_string(of.request().n_generate); }

template <class T>
bool has(const std::vector<T>& of, const T& one) {
  return std::ranges::find(of, one) != of.end();
}

}  // namespace

QString headChangeWords(const LaneSpec& before, const LaneSpec& after) {
  QStringList words;
  if (before.name.empty() || after.name.empty()) return {};  // a policy that this build does not know
  try {
    if (withoutHeads(before) != withoutHeads(after)) return {};
    const std::vector<HeadKey> was = given_head_keys(before), is = given_head_keys(after);
    for (const HeadKey& k : is)
      if (!has(was, k)) words << QString("%1 %2 only in %3").arg(qs(k.key), qs(k.value), qs(viz::head_name(k.layer, k.kv_head)));
    for (const HeadKey& k : was) {
      const auto same_place = [&k](const HeadKey& o) { return o.key == k.key && o.layer == k.layer && o.kv_head == k.kv_head; };
      if (std::ranges::none_of(is, same_place))
        words << QString("%1 as the run in %2").arg(qs(k.key), qs(viz::head_name(k.layer, k.kv_head)));
    }
    const std::vector<BudgetOverride> had = before.edits.budgets, got = after.edits.budgets;
    for (const BudgetOverride& b : got)
      if (!has(had, b))
        words << QString("%1 only in %2")
                     .arg(b.slots ? counted(*b.slots, "slot", "slots") : QString("a budget of their own"), placeWords(b.heads));
    for (const BudgetOverride& b : had) {
      if (std::ranges::find(got, b.heads, &BudgetOverride::heads) != got.end()) continue;
      const auto wider = std::ranges::find_if(got, [&b](const BudgetOverride& o) { return covers(o, b.heads); });
      if (wider == got.end())
        words << QString("budget as allocated in %1").arg(placeWords(b.heads));
      else if (has(had, *wider))  // else it is said of all that it is of
        words << QString("budget as %1 in %2").arg(b.heads.kv_heads.empty() ? "set for more layers" : "its layer", placeWords(b.heads));
    }
  } catch (const Error&) {
    return {};  // a policy that this build does not know
  }
  return words.size() > 2 ? QString("%1 changes of single heads").arg(words.size()) : words.join(", ");
}

HeadEffect::HeadEffect(Workspace& workspace, SessionController& controller, QWidget* parent)
    : QLabel(parent), m_workspace(workspace), m_controller(controller), m_lanes(controller.request().lanes), m_text(textOf(controller)) {
  setWordWrap(true);
  setTextFormat(Qt::PlainText);
  setAccessibleName("what the change of single heads did");
  hide();
  connect(&controller, &SessionController::requestChanged, this, &HeadEffect::takeRequest);
  connect(&controller, &SessionController::modelOpened, this, &HeadEffect::takeRequest);
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged}) connect(&workspace, signal, this, &HeadEffect::refresh);
}

QString HeadEffect::words() const { return isHidden() ? QString() : text(); }

std::optional<HeadEffect::Figures> HeadEffect::figures(int lane, const std::string& spec) const {
  const Snapshot& s = m_workspace.snapshot();
  if (s.phase != RunPhase::idle || lane >= static_cast<int>(s.lanes.size()) || s.lanes[static_cast<std::size_t>(lane)].spec != spec)
    return {};
  const RunFigures f = run_figures(s, s.lanes[static_cast<std::size_t>(lane)], false);
  if (f.compared == 0) return {};
  return Figures{f.kl.mean(), f.top1_same, f.compared};
}

void HeadEffect::takeRequest() {
  const std::vector<LaneSpec> before = std::exchange(m_lanes, m_controller.request().lanes);
  const std::string text = std::exchange(m_text, textOf(m_controller));
  if (text != m_text) {  // a change of the text, or of the model, would be told as what the heads did
    m_change.reset();
    return refresh();
  }
  if (before == m_lanes) return;
  int lane = -1, n_changed = 0;
  for (std::size_t i = 0; i < before.size() && i < m_lanes.size(); ++i)
    if (before[i] != m_lanes[i]) lane = static_cast<int>(i), ++n_changed;
  const std::optional<Change> last = std::exchange(m_change, std::nullopt);
  if (before.size() != m_lanes.size() || n_changed != 1) return refresh();
  Change next{lane, before[static_cast<std::size_t>(lane)], m_lanes[static_cast<std::size_t>(lane)], {}, {}};
  next.before = figures(lane, next.base.text);
  // A key that is held and half a number are one change, as they are one step back.
  const bool together = last && last->lane == lane && last->spec == next.base && (!next.before || m_age.elapsed() <= kOneChangeMs);
  if (together) {
    next.base = last->base;
    next.before = last->before;
  }
  next.what = headChangeWords(next.base, next.spec);
  m_age.start();
  if (!next.what.isEmpty()) m_change = std::move(next);
  refresh();
}

void HeadEffect::refresh() {
  const bool selected = m_change && m_change->before && m_change->lane == m_workspace.selection().lane;
  const std::optional<Figures> now = selected ? figures(m_change->lane, m_change->spec.text) : std::nullopt;
  setVisible(now.has_value());
  if (!now) return;
  const Figures& before = *m_change->before;
  QString kl = QString("mean KL %1 → %2 nats").arg(qs(viz::format_number(before.mean_kl)), qs(viz::format_number(now->mean_kl)));
  if (before.mean_kl > 0 && std::isfinite(now->mean_kl)) {
    const double part = (now->mean_kl - before.mean_kl) / before.mean_kl;
    if (part == 0)
      kl += " (no change)";
    else if (std::abs(part) < 0.001)
      kl += QString(" (%1)").arg(qs(viz::format_change(now->mean_kl - before.mean_kl)));
    else
      kl += QString(" (%1%2)").arg(part < 0 ? "−" : "+", qs(viz::format_percent(std::abs(part))));
  }
  const QString top1 = before.n_steps == now->n_steps
                           ? QString("top-1 same %1 → %2 of %3").arg(before.top1_same).arg(now->top1_same).arg(now->n_steps)
                           : QString("top-1 same %1 of %2").arg(now->top1_same).arg(now->n_steps);
  setText(QString("%1: %2, %3").arg(m_change->what, kl, top1));
}

}  // namespace kvscope
