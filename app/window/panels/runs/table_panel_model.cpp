// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/runs/table_panel_model.h"

#include <algorithm>
#include <utility>

#include "app/window/help/glossary.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {
constexpr int kLookAtRows = 50;  // to find out whether a column holds numbers

bool notAvailable(const QString& text) { return text.isEmpty() || text == qs(viz::kNotAvailableText); }
}  // namespace

void VizTableModel::setTable(viz::Table table) {
  // Rows of another length than the header would break the model's promise.
  for (auto& row : table.rows) row.resize(table.columns.size());
  const bool same_shape = table.columns == m_table.columns && table.rows.size() == m_table.rows.size();
  if (!same_shape) beginResetModel();
  m_table = std::move(table);
  m_numeric.assign(m_table.columns.size(), 0);
  for (std::size_t c = 0; c < m_numeric.size(); ++c) {
    int n_numbers = 0;
    bool words = false;
    for (std::size_t r = 0; r < m_table.rows.size() && r < kLookAtRows; ++r) {
      const std::string& cell = m_table.rows[r][c];
      if (notAvailable(qs(cell))) continue;
      if (number_of(cell))
        ++n_numbers;
      else
        words = true;
    }
    m_numeric[c] = n_numbers > 0 && !words;
  }
  if (!same_shape) {
    endResetModel();
  } else if (rowCount() > 0 && columnCount() > 0) {
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
  }
}

bool VizTableModel::isNumeric(int column) const {
  return column >= 0 && column < static_cast<int>(m_numeric.size()) && m_numeric[static_cast<std::size_t>(column)];
}

int VizTableModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_table.rows.size()); }
int VizTableModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_table.columns.size()); }

QVariant VizTableModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount() || index.column() >= columnCount()) return {};
  if (role == Qt::DisplayRole) return qs(m_table.rows[static_cast<std::size_t>(index.row())][static_cast<std::size_t>(index.column())]);
  if (role == Qt::TextAlignmentRole)
    return static_cast<int>((isNumeric(index.column()) ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  return {};
}

QVariant VizTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Vertical) return role == Qt::DisplayRole ? QVariant(section) : QVariant();
  if (section < 0 || section >= columnCount()) return {};
  if (role == Qt::DisplayRole) return qs(m_table.columns[static_cast<std::size_t>(section)]);
  if (role == Qt::WhatsThisRole) return Glossary::builtIn().about(qs(m_table.columns[static_cast<std::size_t>(section)]));
  if (role == Qt::TextAlignmentRole) return static_cast<int>((isNumeric(section) ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  return {};
}

bool TableSorter::lessThan(const QModelIndex& left, const QModelIndex& right) const {
  const QString a = left.data().toString(), b = right.data().toString();
  const bool ascending = sortOrder() == Qt::AscendingOrder;
  if (notAvailable(a) != notAvailable(b)) return notAvailable(b) == ascending;  // at the end, whichever way
  const auto x = number_of(a.toStdString()), y = number_of(b.toStdString());
  if (x && y) return *x < *y;
  if (x.has_value() != y.has_value()) return x.has_value();
  return QString::localeAwareCompare(a, b) < 0;
}

}  // namespace kvscope
