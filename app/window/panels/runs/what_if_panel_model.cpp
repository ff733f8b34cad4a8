// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/runs/what_if_panel_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/window/session/hand/hand_edits.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "snapshot/figures.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {

double meanLocal(const LaneSnapshot& lane, std::size_t n_steps, int after, const HeadChoice& heads) {
  double sum = 0;
  int n = 0;
  for (std::size_t s = static_cast<std::size_t>(std::max(after + 1, 0)); s < n_steps; ++s)
    for (const HeadRecord& head : lane.steps[s]->heads) {
      if (!heads.has(head.layer, head.kv_head) || std::isnan(head.local_l1_wo)) continue;
      sum += head.local_l1_wo;
      ++n;
    }
  return n > 0 ? sum / n : kNotAvailable;
}

QString headsText(const HeadChoice& heads) {
  const auto list = [](const std::vector<int>& of, const char* prefix) {
    QStringList words;
    for (const int i : of) words << QString("%1%2").arg(prefix).arg(i);
    return words.join(", ");
  };
  if (heads.layers.empty() && heads.kv_heads.empty()) return "all heads";
  if (heads.kv_heads.empty()) return list(heads.layers, "L") + " · all heads";
  return (heads.layers.empty() ? QString("all layers") : list(heads.layers, "L")) + " · " + list(heads.kv_heads, "H");
}

QString doneHelp(const WhatIfEffect& effect, const WhatIf& w) {
  if (!w.on) return "switched off";
  if (effect.reached.asked == 0) return "n/a: not computed yet";
  if (w.kind == WhatIf::Kind::pin)
    return QString(
               "Pinned slots that are there at the last step: %1 of %2 asked for, a token in a head each. The policy keeps "
               "those; in the other heads the token had left before")
        .arg(effect.reached.done)
        .arg(effect.reached.asked);
  return QString("Slots changed: %1 of %2 asked for, a token in a head each. In the other heads there was nothing to change: %3")
      .arg(effect.reached.done)
      .arg(effect.reached.asked)
      .arg(w.kind == WhatIf::Kind::restore ? "the token still had its slot" : "the token had left before");
}

QString change(double delta) { return qs(viz::format_change(delta)); }

}  // namespace

WhatIfEffect effect_of(const Snapshot& snapshot, int fork, int which, bool alone) {
  WhatIfEffect out;
  if (fork < 0 || fork >= static_cast<int>(snapshot.lanes.size())) return out;
  const LaneSnapshot& lane = snapshot.lanes[static_cast<std::size_t>(fork)];
  const std::vector<WhatIf> edits = edits_of(lane.spec).what_ifs;
  const WhatIf* what_if = which < 0 ? nullptr : &edits[static_cast<std::size_t>(which)];
  if (what_if && !what_if->on) return out;
  if (what_if) out.reached = doneOf(lane, edits, static_cast<std::size_t>(which));
  if (lane.fork_of < 0 || !alone) return out;  // each of several edits changes what the others find
  const LaneSnapshot& base = snapshot.lanes[static_cast<std::size_t>(lane.fork_of)];
  const std::size_t n = std::min(lane.steps.size(), base.steps.size());
  if (n == 0) return out;
  out.measured = true;
  // All together: from the first of them on, so that one edit and "all that are on" are the same figure.
  int after = what_if ? what_if->step : std::numeric_limits<int>::max();
  if (!what_if)
    for (const WhatIf& w : edits)
      if (w.on) after = std::min(after, w.step);
  if (after == std::numeric_limits<int>::max()) after = -1;
  const HeadChoice everywhere;
  const HeadChoice& heads = what_if ? what_if->heads : everywhere;
  out.local_l1_wo = meanLocal(lane, n, after, heads) - meanLocal(base, n, after, heads);
  // Of runs that follow their own texts the steps in which both still read the full cache's: of more or fewer it would be another mean.
  const int last = std::min({static_cast<int>(n), steps_of_one_text(snapshot, lane), steps_of_one_text(snapshot, base)}) - 1;
  const auto mean_kl = [&](const LaneSnapshot& of) {
    return run_figures(snapshot, of, first_counted_step(snapshot, of), last, false).kl.mean();
  };
  if (last > after) {  // else none of them sees the edit
    out.kl_last = compared_kl(snapshot, lane, last) - compared_kl(snapshot, base, last);
    out.kl_mean = mean_kl(lane) - mean_kl(base);
  }
  for (std::size_t s = 0; s < n && out.first_change < 0; ++s)
    if (lane.steps[s]->top1 != base.steps[s]->top1) out.first_change = static_cast<int>(s);
  out.wrong = out.first_change >= 0 && compares(snapshot, lane, out.first_change) &&
              !lane.steps[static_cast<std::size_t>(out.first_change)]->top1_same;
  return out;
}

WhatIfModel::WhatIfModel(Workspace& workspace, HandEdits& edits, QObject* parent)
    : QAbstractTableModel(parent), m_workspace(workspace), m_edits(edits) {
  connect(&edits, &HandEdits::changed, this, [this] { refresh(); });
  refresh();
}

void WhatIfModel::refresh() {
  const int fork = m_edits.fork();
  const std::vector<WhatIf> what_ifs = m_edits.edits(fork).what_ifs;
  if (m_snapshot == m_workspace.snapshotPtr() && what_ifs == m_what_ifs && fork == m_fork) return;
  beginResetModel();
  m_snapshot = m_workspace.snapshotPtr();
  m_what_ifs = what_ifs;
  m_fork = fork;
  m_effects.assign(m_what_ifs.empty() ? 0 : m_what_ifs.size() + 1, {});
  // Figures belong to the edits only when the snapshot answers them.
  const auto i = static_cast<std::size_t>(std::max(fork, 0));
  const bool answered = fork >= 0 && i < m_snapshot->lanes.size() && edits_of(m_snapshot->lanes[i].spec).what_ifs == m_what_ifs;
  m_alone = answered && m_snapshot->lanes[i].fork_of < 0;
  if (answered && !m_what_ifs.empty()) {
    const auto n_on = std::ranges::count(m_what_ifs, true, &WhatIf::on);
    for (std::size_t r = 0; r < m_what_ifs.size(); ++r) m_effects[r] = effect_of(*m_snapshot, fork, static_cast<int>(r), n_on == 1);
    m_effects.back() = effect_of(*m_snapshot, fork, -1, true);
  }
  endResetModel();
}

int WhatIfModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_effects.size()); }
int WhatIfModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QString WhatIfModel::text(int row, int column) const {
  const WhatIfEffect& effect = m_effects[static_cast<std::size_t>(row)];
  switch (column) {
    case kKlLast:
      return change(effect.kl_last);
    case kKlMean:
      return change(effect.kl_mean);
    case kLocal:
      return change(effect.local_l1_wo);
    case kText:
      return !effect.measured          ? QString("n/a")
             : effect.first_change < 0 ? QString("same")
                                       : QString("changes at step %1").arg(effect.first_change);
    default:
      break;
  }
  if (isTotal(row)) return column == kEdit ? QString("all that are on") : QString();
  const WhatIf& w = m_what_ifs[static_cast<std::size_t>(row)];
  switch (column) {
    case kEdit: {
      QStringList words;
      for (std::size_t i = 0; i < w.positions.size() && i < 3; ++i)
        words << QString("%1 %2").arg(w.positions[i]).arg(qs(viz::quoted(viz::token_text(tokens_of(*m_snapshot, m_fork), w.positions[i]))));
      if (w.positions.size() > 3) words << QString("… (%1)").arg(w.positions.size());
      QString out = QString("%1 %2").arg(name_of(w.kind), words.join(", "));
      if (w.into >= 0)
        out += QString(" into %1 %2").arg(w.into).arg(qs(viz::quoted(viz::token_text(tokens_of(*m_snapshot, m_fork), w.into))));
      return out;
    }
    case kHeads:
      return headsText(w.heads);
    case kStep:
      return w.step < 0 ? QString("start") : QString::number(w.step);
    default:
      return effect.reached.asked == 0 ? QString(w.on ? "n/a" : "off")
                                       : QString("%1 of %2").arg(effect.reached.done).arg(effect.reached.asked);
  }
}

QVariant WhatIfModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount() || index.column() >= kColumns) return {};
  const int row = index.row();
  if (role == Qt::DisplayRole || role == Qt::AccessibleTextRole) return text(row, index.column());
  if (role == Qt::TextAlignmentRole)
    return static_cast<int>((index.column() <= kHeads ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  if (role == Qt::CheckStateRole && index.column() == kEdit && !isTotal(row))
    return static_cast<int>(m_what_ifs[static_cast<std::size_t>(row)].on ? Qt::Checked : Qt::Unchecked);
  if (role == Qt::ForegroundRole && !isTotal(row) && !m_what_ifs[static_cast<std::size_t>(row)].on)
    return toColor(m_workspace.theme().disabled);
  if (role == Qt::ForegroundRole && index.column() == kText && m_effects[static_cast<std::size_t>(row)].wrong)
    return toColor(m_workspace.theme().changed);
  if (role == Qt::ToolTipRole) {
    const WhatIfEffect& effect = m_effects[static_cast<std::size_t>(row)];
    if (index.column() >= kKlLast && m_alone) return kAlone;
    if (index.column() >= kKlLast && !isTotal(row) && !effect.measured)
      return "Several edits act together: switch the others off to measure this one alone.";
    if ((index.column() == kKlLast || index.column() == kKlMean) && effect.measured && std::isnan(effect.kl_last))
      return "KL compares with the full cache as long as the run reads the full cache's text: the edit comes after that.";
    if (index.column() == kDone && !isTotal(row)) return doneHelp(effect, m_what_ifs[static_cast<std::size_t>(row)]);
    return text(row, index.column());
  }
  return {};
}

bool WhatIfModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (role != Qt::CheckStateRole || !index.isValid() || isTotal(index.row())) return false;
  m_edits.setOn(index.row(), value.toInt() == Qt::Checked);
  return true;
}

Qt::ItemFlags WhatIfModel::flags(const QModelIndex& index) const {
  Qt::ItemFlags out = Qt::ItemIsEnabled | Qt::ItemIsSelectable;
  if (index.isValid() && index.column() == kEdit && !isTotal(index.row())) out |= Qt::ItemIsUserCheckable;
  return out;
}

QVariant WhatIfModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return role == Qt::DisplayRole ? QVariant(section + 1) : QVariant();
  if (role == Qt::TextAlignmentRole) return static_cast<int>((section <= kHeads ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  if (role == Qt::ToolTipRole) {
    constexpr const char* kHelp[] = {
        "what was done by hand; the box switches it off without forgetting it",
        "heads in which it was asked for",
        "done after the compression of this step; the next step is the first to show it",
        "slots changed of those asked for (pin: that have a slot now)",
        "KL(full || fork) less KL(full || baseline), nats, at the last step",
        "the same, of the means over the steps after the prompt",
        "local_l1_wo of these heads, mean over the steps after the edit, less that of the baseline",
        "first step whose most likely next token is not that of the run without these edits; red: nor the full cache's"};
    return kHelp[section];
  }
  if (role != Qt::DisplayRole) return {};
  constexpr const char* kNames[] = {"edit", "heads", "step", "done", "Δ KL last", "Δ KL mean", "Δ local L1·Wₒ", "next token"};
  return QString::fromUtf8(kNames[section]);
}

}  // namespace kvscope
