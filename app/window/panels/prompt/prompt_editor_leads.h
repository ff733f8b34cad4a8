// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QFont>
#include <QString>

namespace kvscope {

struct Snapshot;

/// Tokens that the model reads before the text and that stand in no text: the mark of the beginning, which many heads look at. They are
/// drawn as pills before the first line.
class LeadTokens {
 public:
  struct Lead {
    QString text;
    double left = 0, width = 0;  // px from the beginning of the line
  };

  /// `padding`: px at both sides of the words of a pill.
  void update(const Snapshot& snapshot, const QFont& font, double padding);
  /// Their places are those of the text: the first one is token 0.
  const std::vector<Lead>& all() const { return m_all; }
  bool holds(int token) const { return token >= 0 && token < static_cast<int>(m_all.size()); }
  double width() const { return m_all.empty() ? 0 : m_all.back().left + m_all.back().width; }

 private:
  std::vector<Lead> m_all;
};

}  // namespace kvscope
