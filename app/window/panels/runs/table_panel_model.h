// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>

#include "viz/canvas.h"

namespace kvscope {

/// A table of a view as a model: the strings as they are.
class VizTableModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  using QAbstractTableModel::QAbstractTableModel;

  /// Keeps selection and scroll position of the views where columns and number of rows stay.
  void setTable(viz::Table table);
  const viz::Table& table() const { return m_table; }
  bool isNumeric(int column) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  viz::Table m_table;
  std::vector<char> m_numeric;  // by column: all of the first cells are numbers or n/a
};

/// Sorts printed numbers by value, words after them, and "n/a" at the end in both directions.
class TableSorter : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  using QSortFilterProxyModel::QSortFilterProxyModel;

 protected:
  bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;
};

}  // namespace kvscope
