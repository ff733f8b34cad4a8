// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QAbstractTableModel>

#include "app/window/session/hand/hand_words.h"
#include "policy/text/lane_edits.h"
#include "snapshot/snapshot.h"

namespace kvscope {

class HandEdits;
class Workspace;

/// What one what-if, or all of a fork together, did to the run, measured against the run it was forked from.
struct WhatIfEffect {
  EditDone reached;
  bool measured = false;               // against the baseline, with no other edit beside it
  double kl_last = kNotAvailable;      // KL(full || fork) - KL(full || baseline), nats, at the last step both have
  double kl_mean = kNotAvailable;      // of the means over the steps after the prompt
  double local_l1_wo = kNotAvailable;  // of the means over the chosen heads and the steps after the what-if
  int first_change = -1;               // first step at which the most likely next token differs from the baseline's; -1: none
  bool wrong = false;                  // what it is there is not the full cache's either
};

/// Effect of one of the fork's what-ifs, as its specification has them. -1: of the whole fork. alone: no other one is on; where one is,
/// only what it reached is known.
WhatIfEffect effect_of(const Snapshot& snapshot, int fork, int which, bool alone);

/// The what-ifs of the fork that is looked at, one a row, and a last row for all together.
class WhatIfModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kEdit, kHeads, kStep, kDone, kKlLast, kKlMean, kLocal, kText, kColumns };

  WhatIfModel(Workspace& workspace, HandEdits& edits, QObject* parent = nullptr);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;
  /// Index of the fork's snapshot lane; -1: none is there (yet).
  int fork() const { return m_fork; }
  /// What is said of a fork that no run without its edits stands beside, as when its budget was moved.
  static constexpr const char* kAlone =
      "No run with this budget and these settings but without the edits is here to compare with: add one, or undo what was moved.";

 private:
  void refresh();
  bool isTotal(int row) const { return row == static_cast<int>(m_what_ifs.size()); }
  QString text(int row, int column) const;

  Workspace& m_workspace;
  HandEdits& m_edits;
  SnapshotPtr m_snapshot;
  int m_fork = -1;
  bool m_alone = false;  // the fork has no baseline
  std::vector<WhatIf> m_what_ifs;
  std::vector<WhatIfEffect> m_effects;  // one more than what-ifs
};

}  // namespace kvscope
