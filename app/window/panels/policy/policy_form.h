// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <QWidget>

class QComboBox;
class QGridLayout;
class QLabel;
class QSlider;
class QToolButton;

namespace kvscope {

class ParamEditor;
struct ParamInfo;
class SessionController;
struct LaneSpec;
class Workspace;

/// The form behind the policy card: which lane, which policy, how large a budget, and one field per parameter of the catalog. Every change
/// goes to the session as a lane specification at once; what the fields show is read back from there.
class PolicyForm : public QWidget {
  Q_OBJECT

 public:
  PolicyForm(Workspace& workspace, SessionController& controller, QWidget* parent = nullptr);

  /// Lane that the form edits.
  int lane() const { return m_lane; }
  /// Its specification as requested now; "" where there is no such lane.
  const LaneSpec& spec() const;
  /// Field of a parameter; nullptr if the policy has none of that name.
  ParamEditor* field(const std::string& key) const;
  QComboBox& policyChoice() { return *m_policies; }
  QComboBox& unitChoice() { return *m_unit; }
  QSlider& budget() { return *m_budget; }
  QString budgetWords() const;
  QString message() const;
  /// Parameters that are not at their default.
  int nChanged() const;

 public Q_SLOTS:
  void addLane();
  void duplicateLane();
  void removeLane();
  void setPolicy(const QString& name);
  void setSlots(int slots_per_head);

 Q_SIGNALS:
  void changed();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void listen();
  void refresh();
  void refreshLanes();
  void rebuildFields(const std::string& policy, const std::vector<ParamInfo>& wanted);
  void refreshBudget();
  /// The run with this value; none: it is refused, and it is said at the field why.
  std::optional<LaneSpec> check(const std::string& key, const std::string& value);
  void send(const std::string& key, const std::string& value);
  int slotsOfSpec() const;

  Workspace& m_workspace;
  SessionController& m_controller;
  int m_lane = 0;
  int m_wanted_lane = -1;  // to be selected as soon as a snapshot has it
  std::string m_policy;    // whose fields are shown
  bool m_refreshing = false;
  QComboBox* m_lanes;
  QToolButton* m_add;
  QToolButton* m_duplicate;
  QToolButton* m_remove;
  QComboBox* m_policies;
  QSlider* m_budget;
  QComboBox* m_unit;
  QLabel* m_budget_words;
  QGridLayout* m_grid;
  std::vector<ParamEditor*> m_fields;
  QLabel* m_paper;
  QLabel* m_message;
};

}  // namespace kvscope
