// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <QElapsedTimer>
#include <QTimer>
#include <QWidget>

#include "app/window/panels/stores/store_chart.h"
#include "app/window/panels/stores/store_data.h"
#include "app/window/panels/stores/store_heads.h"

class QComboBox;
class QLabel;
class QPushButton;
class QStackedWidget;
class QTableWidget;

namespace kvscope {

class SweepProcess;
class Workspace;

/// A store of a sweep over many texts, while it grows: its curves, its map, its numbers.
class StorePanel : public QWidget {
  Q_OBJECT

 public:
  /// process: the sweep that this window runs, if any.
  StorePanel(Workspace& workspace, SweepProcess& process, QWidget* parent = nullptr);

  /// Throws Error: no store, or a damaged one; what was shown stays.
  void open(const QString& folder);
  /// Of a session: where it cannot be opened any longer, why is said in its place.
  void reopen(const QString& folder);
  const QString& folder() const { return m_folder; }
  const StoreData& data() const { return m_data; }
  StoreChart& chart() { return *m_chart; }
  StoreHeads& heads() { return *m_heads; }
  QTableWidget& table() { return *m_table; }
  /// What is shown, as numbers and as a picture.
  viz::Table numbers() const;
  QImage picture(const QSize& size, double scale, const viz::Theme& theme) const;
  QComboBox& measureBox() { return *m_measure; }
  QComboBox& lookBox() { return *m_look; }
  QString stateText() const;
  /// How far the sweep is that this window runs, or how it ended; empty: there is nothing to say.
  QString processText() const;
  QPushButton& cancelButton() { return *m_cancel; }  // cancels it, or goes on with it
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
  void sweepRequested();  // another one

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void layOut();
  void refresh();
  void setLook(int look);
  bool showsHeads() const;
  void selectRun(int run);
  void fillTable();
  QString wordsOfTable() const;
  QStringList cellsOf(const QString& title, const StoreMark& mark) const;
  void refreshProcess();
  bool showsProcess() const;  // the store that the process fills
  QString timeLeft() const;

  Workspace& m_workspace;
  SweepProcess& m_process;
  std::optional<SweepReader> m_reader;
  QString m_folder, m_lost;  // why the folder has no store
  StoreData m_data;
  QTimer m_timer;
  bool m_more = false;
  QElapsedTimer m_counted;         // since all that was there had been read
  std::size_t m_there_before = 0;  // items that it was
  QLabel *m_title, *m_state, *m_progress, *m_pairs;
  QPushButton* m_cancel;
  QTableWidget* m_table;
  QWidget* m_side = nullptr;  // the column that it stands in, as wide as it needs
  StoreChart* m_chart;
  StoreHeads* m_heads;
  QStackedWidget* m_views;
  QComboBox *m_measure, *m_look;
};

}  // namespace kvscope
