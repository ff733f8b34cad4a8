// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <vector>

#include <QByteArray>
#include <QObject>

#include "viz/place.h"

class QDockWidget;
class QMenu;

namespace kvscope {

class Commands;
class DockArea;
class Pages;
class Panel;
class Panels;
class WindowRows;

/// The layout Inspect: three columns of docks, tabs below the middle one for what is opened now and then, and one panel in place of all.
class InspectPage : public QObject {
  Q_OBJECT

 public:
  /// Takes all panels that want a dock. Whoever comes from another page has the keyboard in the picture, where letters are no text.
  InspectPage(WindowRows& rows, Pages& pages, Panels& panels, QWidget& picture);

  Panel* maximised() const { return m_maximised; }
  QDockWidget* dock(const QString& panel) const;  // nullptr: it has none
  enum class Keys { taken, left };
  /// With room of its own; over a page that is not this one. `Keys::left`: the keyboard stays where it is.
  void open(const QString& panel, Keys keys = Keys::taken);
  /// Shows the panel, wherever it stands, and gives it the keyboard.
  void goTo(Panel& panel);
  void goToNext(int step);              // among those that are visible
  static void focusFirst(QWidget& in);  // of its parts that takes keys
  /// Steps the focus on (by `step`, false: nobody takes it) until it is not in a panel behind another tab, which Qt takes for visible.
  static bool focusSeen(const std::function<bool()>& step);
  void arrange();  // as the design has it
  QByteArray state() const;
  void restore(const QByteArray& state);
  /// Those that were opened over another page go back to their places.
  void endVisits();
  void fillPanelsMenu(Commands& commands, QMenu* panels, QMenu* go);
  void fillLayoutMenu(Commands& commands, QMenu* menu);

 public Q_SLOTS:
  void toggleMaximised(kvscope::Panel* panel);
  void resetLayout();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void open(QDockWidget& dock, Keys keys = Keys::taken);
  void detachWithFocus();
  void giveShares();

  WindowRows& m_rows;
  Pages& m_pages;
  Panels& m_panels;
  DockArea* m_area;
  std::vector<QDockWidget*> m_docks, m_tabs, m_visiting;
  std::array<std::vector<std::pair<QDockWidget*, viz::Place>>, 3> m_columns;
  Panel* m_maximised = nullptr;
  QByteArray m_before_maximise;
};

}  // namespace kvscope
