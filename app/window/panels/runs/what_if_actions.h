// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <QObject>

class QAction;
class QMenu;

namespace kvscope {

class AllocationCurve;
class Commands;
class Panels;
class PromptEditor;
struct LaneSpec;
struct WindowModel;

/// Changes by hand: the What-if panel, its menu and its keys.
class WhatIfActions : public QObject {
  Q_OBJECT

 public:
  WhatIfActions(WindowModel& model, Panels& panels);

  /// Bars of budgets that are dragged by hand.
  void follow(AllocationCurve& curve);
  /// editors: of the text, where letters are letters, and a right click offers the same.
  void fillMenu(Commands& commands, QMenu* menu, const std::vector<PromptEditor*>& editors);
  QMenu& menu() const { return *m_menu; }
  /// What of it is about the selected head.
  const std::vector<QAction*>& ofHead() const { return m_of_head; }
  /// A bare key of the window; false: not one of these.
  bool key(int key);

 Q_SIGNALS:
  /// Something was done, or waits, that the panel tells.
  void said(const QString& words, const QString& before);

 private:
  void fillScopes(Commands& commands);
  void offerIn(PromptEditor& editor);
  std::optional<LaneSpec> runOfQuestion() const;
  void beginQuestion();

  WindowModel& m_model;
  QMenu* m_menu = nullptr;
  std::vector<QAction*> m_of_head;
};

}  // namespace kvscope
