// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <QObject>

#include "app/window/shell/panel.h"
#include "viz/selection.h"

namespace kvscope {

class Workspace;

/// All panels of the window, in the order in which they are gone through by key.
class Panels : public QObject {
  Q_OBJECT

 public:
  /// Panels become children of `owner`.
  Panels(Workspace& workspace, QObject& owner) : m_workspace(workspace), m_owner(owner) {}

  Panel& add(const QString& id, const QString& title, QWidget* content, const viz::Place& place = {});
  /// The same for a content that says its facts, and when they change.
  template <class Content>
  Panel& addTalking(const QString& id, const QString& title, Content* content, const viz::Place& place = {}) {
    Panel* panel = &add(id, title, content, place);
    connect(content, &Content::factsChanged, panel, [=] { panel->setFacts(content->facts()); });
    panel->setFacts(content->facts());
    return *panel;
  }
  const std::vector<Panel*>& all() const { return m_all; }
  Panel* of(const QString& id) const;  // nullptr: there is none
  Panel* withFocus() const;
  void applyTheme();
  /// Tab goes through what a panel holds, and then through the signs of its header.
  void orderFocus();

 Q_SIGNALS:
  void maximiseRequested(kvscope::Panel* panel);

 private:
  Workspace& m_workspace;
  QObject& m_owner;
  std::vector<Panel*> m_all;
};

/// Statistics count these steps from now on; nullopt: all.
void limitSteps(Workspace& workspace, const std::optional<viz::StepRange>& steps);

}  // namespace kvscope
