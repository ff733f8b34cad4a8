// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

class QMenu;

namespace kvscope {

class CanvasWidget;
class Commands;
class InspectPage;
class Panels;
class PolicyPanel;
class PromptPanel;
class TablePanel;
struct WindowModel;

/// The panels of the layout Inspect that are no views: text, policy, output effect, and the numbers of a view as a table.
class WorkPanels : public QObject {
  Q_OBJECT

 public:
  WorkPanels(WindowModel& model, Panels& panels);

  PromptPanel& prompt() const { return *m_prompt; }
  PolicyPanel& policy() const { return *m_policy; }
  TablePanel& table() const { return *m_table; }
  /// The numbers of this canvas.
  void tabulate(CanvasWidget& canvas);
  void refreshBadge();
  /// To the forms that are behind a disclosure.
  void showParameters(InspectPage& inspect);
  /// Among them the field of one, as soon as the form is that of this run.
  void showField(InspectPage& inspect, const QString& run, const QString& key);
  void fillGoMenu(Commands& commands, QMenu* menu, InspectPage& inspect);

 private:
  WindowModel& m_model;
  Panels& m_panels;
  PromptPanel* m_prompt;
  PolicyPanel* m_policy;
  TablePanel* m_table;
};

}  // namespace kvscope
