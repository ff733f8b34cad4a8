// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QColor>
#include <QRectF>
#include <QString>

#include "snapshot/snapshot.h"

class QPainter;

namespace kvscope {

class Workspace;

/// What the text of one token looks like: its fate in the selected head, or how many heads still represent it.
struct TokenPaint {
  QColor fill;  // invalid: none
  QColor text;
  QColor stripes = {};  // over the fill: it will leave soon; invalid: none
  QColor outline = {};  // hollow, as the legend has it: gone, and just that is meant; invalid: none

  void paintBehind(QPainter& painter, const QRectF& area, double radius) const;
};

/// The fates of the workspace's lane and step as colours behind text. Looks up per token, so only what is visible costs anything.
class TokenColours {
 public:
  /// Reads selection, step and theme of the workspace. Keeps the snapshot alive.
  void update(const Workspace& workspace);
  /// For an audience: where headThatReads() is one, the shade is what it pays.
  void setAudience() { m_audience = true; }

  /// The head of the full cache that a token is framed for. It keeps them all, so that their fates say nothing: what it pays them does.
  static const HeadRecord* headThatReads(const Workspace& workspace);

  /// The ink of text that was not read yet at the shown step: no fill, as without a run, and not the grey of what left.
  static QColor unreadInk(const Workspace& workspace);
  /// Category in the selected head; unseen without one.
  Category category(int token) const;
  /// Heads in which some slot still stands for the token; -1: not known (no lane, or not read yet at this step).
  int representedBy(int token) const;
  TokenPaint paint(int token) const;
  /// Pinned by hand after the shown step: in the selected head, or in any head without one.
  bool pinned(int token) const;
  /// One line for the tooltip: "merged in L4 · H1" or "18 of 24 heads represent it".
  QString describe(int token) const;

 private:
  SnapshotPtr m_snapshot;
  const LaneSnapshot* m_lane = nullptr;
  const StepRecord* m_step = nullptr;
  int m_head = -1;
  int m_n_heads = 0;
  std::vector<Category> m_categories;  // of the selected head
  std::vector<char> m_leaving;         // the same; 1: gone some steps later, where pictures look ahead
  std::vector<int> m_pinned;           // ascending
  std::vector<double> m_paid;          // attention of the head that reads; empty: fates are shown
  bool m_audience = false;
  std::vector<QColor> m_fill;  // by category, or by number of heads
  std::vector<QColor> m_text;
  QColor m_plain, m_faint, m_unread, m_stripes, m_hollow;
  QString m_head_name;
};

}  // namespace kvscope
