// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/effect/effect_panel_model.h"

#include <algorithm>

#include "app/window/help/glossary.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"
#include "viz/reduce/generated.h"

namespace kvscope {

EffectModel::EffectModel(Workspace& workspace, QObject* parent) : QAbstractTableModel(parent), m_workspace(workspace) {
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged}) connect(&workspace, signal, this, [this] { refresh(); });
  refresh();
}

void EffectModel::refresh() {
  beginResetModel();
  m_snapshot = m_workspace.snapshotPtr();
  m_rows.clear();
  if (m_workspace.stepRecord()) m_rows = viz::candidates(*m_snapshot, *m_workspace.lane(), m_workspace.step());
  m_lane_title = m_workspace.lane() ? qs(m_workspace.lane()->title) : QString();
  m_baseline = m_workspace.lane() ? m_workspace.lane()->fork_of : -1;
  if (m_baseline >= static_cast<int>(m_snapshot->lanes.size())) m_baseline = -1;
  endResetModel();
}

int EffectModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_rows.size()); }

int EffectModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : hasBaseline() ? kColumns : kBaseline; }

double EffectModel::baseline(int row) const {
  if (!hasBaseline()) return kNotAvailable;
  const std::vector<StepPtr>& steps = m_snapshot->lanes[static_cast<std::size_t>(m_baseline)].steps;
  const int step = m_workspace.step();
  if (step < 0 || step >= static_cast<int>(steps.size())) return kNotAvailable;
  for (const TopToken& t : steps[static_cast<std::size_t>(step)]->top_tokens)
    if (t.id == top(row).id) return t.p;
  return kNotAvailable;
}

bool EffectModel::isChoice(int row) const { return top(row).rank == 1 || top(row).rank_reference == 1; }

QVariant EffectModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount() || index.column() >= columnCount()) return {};
  const TopToken& t = top(index.row());
  if (role == Qt::DisplayRole || role == Qt::AccessibleTextRole) {
    switch (index.column()) {
      case kToken:
        return qs(viz::text_of_id(*m_snapshot, t.id));
      case kRank:
        return t.rank == t.rank_reference || t.rank_reference == 0 ? QString::number(t.rank)
                                                                   : QString("%1 → %2").arg(t.rank_reference).arg(t.rank);
      case kReference:
        return qs(viz::format_probability(t.p_reference));
      case kLane:
        return qs(viz::format_probability(t.p));
      case kBaseline:
        return qs(viz::format_probability(baseline(index.row())));
      default:
        return qs(viz::format_delta(t.p - t.p_reference));
    }
  }
  if (role == Qt::TextAlignmentRole) {
    return static_cast<int>((index.column() <= kRank ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  }
  if (role == Qt::ToolTipRole) {
    const auto line = [](const QString& of, double p, int rank, double logit) {
      if (rank == 0) return QString("%1: %2, another text").arg(of, qs(viz::kNotAvailableText));
      return QString("%1: p %2, rank %3, logit %4").arg(of).arg(p, 0, 'g', 6).arg(rank).arg(qs(viz::format_number(logit)));
    };
    return QString("%1  id %2\n%3\n%4")
        .arg(qs(viz::quoted(viz::text_of_id(*m_snapshot, t.id))))
        .arg(t.id)
        .arg(line("reference", t.p_reference, t.rank_reference, t.logit_reference), line(m_lane_title, t.p, t.rank, t.logit));
  }
  return {};
}

QVariant EffectModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return role == Qt::DisplayRole ? QVariant(section + 1) : QVariant();
  if (role == Qt::TextAlignmentRole) return static_cast<int>((section <= kRank ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  if (role == Qt::WhatsThisRole) {
    constexpr const char* kTerms[] = {"token", "rank", "reference", "run", "Δp"};
    if (section < kBaseline) return Glossary::builtIn().about(kTerms[section]);
  }
  if ((role == Qt::ToolTipRole || role == Qt::WhatsThisRole) && section == kBaseline)
    return "probability in the run without the changes by hand; n/a: not among its candidates";
  if (role == Qt::ToolTipRole && section == kRank) return "rank with the full cache → rank in this run";
  const bool brief = role == kBrief;
  if (role != Qt::DisplayRole && !brief) return {};
  switch (section) {
    case kToken:
      return brief ? "" : "token";  // whole or not at all
    case kRank:
      return "rank";
    case kReference:
      return brief ? "full" : "reference";
    case kLane:
      if (brief) return "run " + qs(viz::lane_letter(m_workspace.selection().lane));
      return m_lane_title.isEmpty() ? QString("run") : m_lane_title;
    case kBaseline:
      return "run " + qs(viz::lane_letter(m_baseline));
    default:
      return "Δp";
  }
}

}  // namespace kvscope
