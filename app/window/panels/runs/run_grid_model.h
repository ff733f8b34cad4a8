// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <QAbstractTableModel>
#include <QString>

namespace kvscope {

class SessionController;
class Workspace;
struct PolicyInfo;

/// A budget of the grid: "25 %" or "64".
struct GridBudget {
  QString text;
  std::string key, value;  // of a specification: ratio 0.25, bytes 0.25, slots 64
};

/// Budgets from words like "12.5 %, 25 % bytes, 64": with a percent sign of the prompt's tokens, or of the bytes of their keys and values;
/// else slots per head. `wrong`: the first word that is not taken.
std::vector<GridBudget> parseBudgets(const QString& text, QString* wrong);
/// Seeds from words like "0, 1, 7" or "0-4".
std::vector<int> parseSeeds(const QString& text, QString* wrong);
/// "“x” is not a budget", or one too many of those that are taken; what: "budget", "seed".
QString whyNotTaken(const QString& word, const QString& what);

/// Runs that could be added: a row per policy, under the title of its kind, and a column per budget; before them a row for every run on
/// screen whose parameters are other than its policy's. A cell is chosen or not; one that is
/// there already, or that the policy refuses, cannot be chosen and says why. A policy that takes no budget, or bytes alone where no budget
/// is of bytes, is one run: all cells of its row are the same.
class RunGridModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum class Cell : std::uint8_t { free, chosen, there, refused, heading };
  /// What the runs are for. A curve over budgets has policies with one only, and may measure again what is among the runs.
  enum class For : std::uint8_t { comparison, curves };

  RunGridModel(Workspace& workspace, SessionController& controller, For what, QObject* parent = nullptr);

  void setBudgets(const std::vector<GridBudget>& budgets);
  const std::vector<GridBudget>& budgets() const { return m_budgets; }
  std::size_t nSeeds() const { return m_seeds.size(); }
  void setSeeds(const std::vector<int>& seeds);
  Cell cell(int row, int column) const;
  /// Turns these cells on, or all off if all that can be are on.
  void toggle(const QModelIndexList& cells);
  void choose(const std::string& method, bool on);         // the whole row: a policy's name, or with parameters as methodOf() has them
  void chooseRuns(const std::vector<std::string>& specs);  // cells with one of these
  void clear();
  int rowOf(const std::string& method) const;
  /// Policies with a chosen cell that draw lots.
  int nSeeded() const;
  /// Specifications of the chosen cells, by policy, then budget, then seed.
  std::vector<std::string> chosen() const;
  /// Of one cell: one, or one per seed where the policy draws lots.
  std::vector<std::string> specsOf(int row, int column) const;
  QString reason(int row, int column) const;  // of a refused cell
  bool takesBudget(int row) const;
  bool isHeading(int row) const { return at(row).policy == nullptr; }
  const PolicyInfo& policy(int row) const { return *at(row).policy; }  // of no heading
  /// The row is of a policy whose name, title or kind has these words in it, or the title of a kind that has one; empty: every row is.
  bool matches(int row, const QString& words) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;

 Q_SIGNALS:
  void changed();

 private:
  void refresh();
  void takeOwnRuns();

  Workspace& m_workspace;
  SessionController& m_controller;
  struct Row {
    const PolicyInfo* policy = nullptr;  // nullptr: the title of a kind
    QString kind;
    std::string method;  // policy and parameters, without a budget
    QString title;
    std::string computes;  // the same without a name of its user's
  };
  const Row& at(int row) const { return m_rows[static_cast<std::size_t>(row)]; }

  std::vector<Row> m_rows;
  std::size_t m_n_own = 0;  // rows of runs on screen, their heading among them
  std::vector<GridBudget> m_budgets;
  std::vector<int> m_seeds{0};
  For m_for;
  std::set<std::pair<std::string, QString>> m_chosen;  // what is computed, budget; empty where it takes none
  std::set<std::string> m_meant;                       // what was chosen at one of the budgets before
  std::pair<std::string, QString> keyOf(int row, int column) const;
  QString refusalOf(const std::string& spec) const;
  bool isChosen(int row, int column) const;

  mutable std::map<std::string, QString> m_reasons;  // by specification: why it is refused, empty: it is not
  QString m_reasons_of;                              // model, prompt length and mode that they hold for
};

}  // namespace kvscope
