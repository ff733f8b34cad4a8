// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <QObject>

class QAction;
class QMenu;

namespace kvscope {

namespace viz {
struct ViewEntry;
enum class HeaderCommands : std::uint8_t;
}  // namespace viz

class Canvases;
class CanvasWidget;
class Commands;
class Panel;
class Panels;
struct WindowModel;

/// The registered views as panels: each with its header, its menu on a right click, and what its canvas asks of the runs.
class ViewPanels : public QObject {
  Q_OBJECT

 public:
  ViewPanels(WindowModel& model, Canvases& canvases, Panels& panels);

  /// A right click on a view: what can be changed in it by hand (in the grid the budget of the head under the mouse), and its picture and
  /// numbers. The click gives it the focus, so it is the
  /// one meant.
  void offerMenus(const QMenu& hand, const std::vector<QAction*>& of_head, const std::vector<QAction*>& take_out);
  /// What views have to switch.
  void fillMenu(Commands& commands, QMenu* menu);

 public Q_SLOTS:
  void refreshHeaders();
  void takeSize();  // of the window: panels may have to become narrower

 Q_SIGNALS:
  void inspectorRequested();
  void bookmarkRequested();
  void addRunsRequested();
  void sameBudgetRequested();
  void sizeTaken();
  /// The order of a view changed, and so that of its numbers.
  void switched();

 private:
  void add(const viz::ViewEntry& entry);
  void chooseHovered(bool tokens);
  void addCommands(viz::HeaderCommands commands, Panel& panel);
  void addSameBudget(Panel& panel);
  void addPlayback(Panel& panel);

  struct Entry {
    const viz::ViewEntry& entry;
    CanvasWidget* canvas;
    Panel* panel;
  };
  WindowModel& m_model;
  Canvases& m_canvases;
  Panels& m_panels;
  std::vector<Entry> m_entries;
};

}  // namespace kvscope
