// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QAbstractTableModel>

#include "snapshot/snapshot.h"

namespace kvscope {

class Workspace;

/// The candidates for the next token, one a row: text, rank, probability in the reference and in the lane, and their difference.
/// The order is by the larger of both probabilities, so that what either cache believes stands at the top.
class EffectModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kToken, kRank, kReference, kLane, kDelta, kBaseline, kColumns };
  static constexpr int kBrief = Qt::UserRole;  // of a header: its word where there is little room

  explicit EffectModel(Workspace& workspace, QObject* parent = nullptr);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  const TopToken& top(int row) const { return m_rows[static_cast<std::size_t>(row)]; }
  /// True for a token that is the first choice of the reference or of the lane.
  bool isChoice(int row) const;
  /// The run that this one was forked from by hand, as it was without the edits: has a column of its own.
  bool hasBaseline() const { return m_baseline >= 0; }
  /// Its probability of a row's token; NaN: not among its candidates.
  double baseline(int row) const;

 private:
  void refresh();

  Workspace& m_workspace;
  SnapshotPtr m_snapshot;
  std::vector<TopToken> m_rows;
  QString m_lane_title;
  int m_baseline = -1;  // lane; -1: this run is no fork
};

}  // namespace kvscope
