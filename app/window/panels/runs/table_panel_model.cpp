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

std::optional<double> printedNumber(const QString& text) {
  QString s;
  for (const QChar c : text) {
    if (c.isSpace()) continue;
    s += c == QChar(0x2212) ? QChar('-') : c;
  }
  if (s.startsWith('<') || s.startsWith('>')) s.remove(0, 1);
  static const std::pair<const char*, double> kUnits[] = {{"GiB", 1024.0 * 1024 * 1024},
                                                          {"MiB", 1024.0 * 1024},
                                                          {"KiB", 1024},
                                                          {"B", 1},
                                                          {"µs", 1e-6},
                                                          {"ms", 1e-3},
                                                          {"s", 1},
                                                          {"%", 0.01},
                                                          {"nats", 1}};
  double factor = 1;
  for (const auto& [unit, f] : kUnits) {
    if (s.endsWith(QString::fromUtf8(unit))) {
      s.chop(QString::fromUtf8(unit).size());
      factor = f;
      break;
    }
  }
  bool ok = false;
  const double value = s.toDouble(&ok);
  if (!ok) return std::nullopt;
  return value * factor;
}

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
      const QString cell = qs(m_table.rows[r][c]);
      if (notAvailable(cell)) continue;
      if (printedNumber(cell))
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
  const auto x = printedNumber(a), y = printedNumber(b);
  if (x && y) return *x < *y;
  if (x.has_value() != y.has_value()) return x.has_value();
  return QString::localeAwareCompare(a, b) < 0;
}

}  // namespace kvscope
