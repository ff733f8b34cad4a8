// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <QTimer>
#include <QWidget>

#include "app/window/panels/stores/store_chart.h"
#include "app/window/panels/stores/store_data.h"

class QComboBox;
class QLabel;
class QTableWidget;

namespace kvscope {

class Workspace;

/// A store of a sweep over many texts, while it grows: its curves, its map, its numbers.
class StorePanel : public QWidget {
  Q_OBJECT

 public:
  explicit StorePanel(Workspace& workspace, QWidget* parent = nullptr);

  /// Throws Error: no store, or a damaged one; what was shown stays.
  void open(const QString& folder);
  const QString& folder() const { return m_folder; }
  const StoreData& data() const { return m_data; }
  StoreChart& chart() { return *m_chart; }
  QTableWidget& table() { return *m_table; }
  QComboBox& measureBox() { return *m_measure; }
  QComboBox& lookBox() { return *m_look; }
  QString stateText() const;
  /// Files wait to be taken.
  bool more() const { return m_more; }
  QString facts() const;
  /// For the panel's header.
  std::vector<QWidget*> controls() const;

 public Q_SLOTS:
  void take();  // what is new in the folder

 Q_SIGNALS:
  void factsChanged();
  void openRequested();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void refresh();
  void fillTable();

  Workspace& m_workspace;
  std::optional<SweepReader> m_reader;
  QString m_folder;
  StoreData m_data;
  QTimer m_timer;
  bool m_more = false;
  QLabel *m_title, *m_state, *m_pairs;
  QTableWidget* m_table;
  StoreChart* m_chart;
  QComboBox *m_measure, *m_look;
};

}  // namespace kvscope
