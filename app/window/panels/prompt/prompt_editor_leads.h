// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QColor>
#include <QFont>
#include <QRectF>
#include <QString>

class QPainter;

namespace kvscope {

struct Snapshot;

/// Tokens that the model reads before the text and that stand in no text: the mark of the beginning, which many heads look at. They are
/// drawn as pills before the first line.
class LeadTokens {
 public:
  /// `padding`: px at both sides of the words of a pill.
  void update(const Snapshot& snapshot, const QFont& font, double padding);
  bool holds(int token) const { return token >= 0 && token < static_cast<int>(m_all.size()); }
  /// `line`: where the first line begins.
  QRectF rectOf(int token, const QPointF& line, double pitch) const;
  void paint(QPainter& painter, const QFont& font, int token, const QRectF& rect, const QColor& ink) const;
  double width() const { return m_all.empty() ? 0 : m_all.back().left + m_all.back().width; }

 private:
  struct Lead {  // the first one is token 0
    QString text;
    double left = 0, width = 0;  // px from the beginning of the line
  };

  std::vector<Lead> m_all;
};

}  // namespace kvscope
