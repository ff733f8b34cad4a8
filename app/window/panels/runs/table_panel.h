// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <QTimer>
#include <QWidget>

#include "viz/canvas.h"

class QLabel;
class QLineEdit;
class QSortFilterProxyModel;
class QTableView;
class QToolButton;

namespace kvscope {

class SessionController;
class VizTableModel;
class Workspace;

/// Data table (V14): the numbers behind the focused canvas, for reading, sorting, filtering, copying and for screen readers.
class TablePanel : public QWidget {
  Q_OBJECT

 public:
  using Source = std::function<viz::Table()>;

  TablePanel(Workspace& workspace, SessionController& controller, QWidget* parent = nullptr);

  /// Whose numbers to show: `title` names the canvas. The source is asked only while the panel is visible; an empty one clears the table.
  void setSource(const QString& title, Source source);
  /// For the panel's header: "Cache atlas · 4 056 rows".
  QString facts() const;
  /// The rows as shown (filter, order), RFC 4180 with a header line.
  QString csv() const;
  /// The selected rows, or all when none is selected, as tab-separated text with a header line.
  QString tsv() const;
  /// Writes csv() to a file; on failure the reason is put into `error`.
  bool writeCsv(const QString& path, QString* error) const;
  QTableView& view() { return *m_view; }
  /// Filter, copy, export: above the rows, unless the panel's header has them.
  QWidget* tools() { return m_tools; }
  QLineEdit& filter() { return *m_filter; }

 public Q_SLOTS:
  /// Reads the source again (also done by itself on a new snapshot, selection or theme).
  void refresh();
  /// In a moment: for what changes many times at once. A source that changes by more than that calls it.
  void refreshSoon() { m_pause.start(); }
  /// Asks for a file and writes csv() there.
  void exportCsv();

 Q_SIGNALS:
  void factsChanged();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  Workspace& m_workspace;
  QString m_title;
  Source m_source;
  VizTableModel* m_model;
  QSortFilterProxyModel* m_sorted;
  QTableView* m_view;
  QWidget* m_tools;
  QLineEdit* m_filter;
  QLabel* m_note;
  QTimer m_pause;
};

}  // namespace kvscope
