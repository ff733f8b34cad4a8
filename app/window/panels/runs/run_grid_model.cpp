// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/runs/run_grid_model.h"

#include <algorithm>
#include <span>
#include <utility>

#include <QRegularExpression>

#include "app/window/session/run_estimate.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "policy/catalog.h"
#include "policy/policy_groups.h"
#include "policy/run_title.h"

namespace kvscope {

namespace {

constexpr std::size_t kMostBudgets = 24, kMostSeeds = 16;

bool drawsLots(const PolicyInfo& policy) {
  return !policy.keys_follow_choices && std::ranges::any_of(policy.params, [](const ParamInfo& p) { return p.key == "seed"; });
}

QStringList wordsIn(const QString& text) {
  static const QRegularExpression kBetween("[,;]");
  QStringList words;
  for (const QString& word : text.split(kBetween, Qt::SkipEmptyParts))
    if (!word.trimmed().isEmpty()) words << word.trimmed();
  return words;
}

}  // namespace

std::vector<GridBudget> parseBudgets(const QString& text, QString* wrong) {
  std::vector<GridBudget> out;
  for (const QString& word : wordsIn(text)) {
    bool ok = false;
    GridBudget budget;
    static const QRegularExpression kShare("^(.*)%\\s*(bytes)?$");
    if (const auto share = kShare.match(word); share.hasMatch()) {
      const double percent = share.captured(1).trimmed().toDouble(&ok);
      const bool of_bytes = !share.captured(2).isEmpty();
      ok = ok && percent > 0 && percent <= 100;
      budget = {QString("%1 %").arg(percent) + (of_bytes ? " bytes" : ""), of_bytes ? "bytes" : "ratio",
                QString::number(percent / 100).toStdString()};
    } else {
      const int n = word.toInt(&ok);
      ok = ok && n > 0;
      budget = {QString::number(n), "slots", std::to_string(n)};
    }
    if (!ok || out.size() == kMostBudgets) {
      if (wrong && wrong->isEmpty()) *wrong = word;
      continue;
    }
    if (std::ranges::none_of(out, [&](const GridBudget& b) { return b.text == budget.text; })) out.push_back(budget);
  }
  return out;
}

QString whyNotTaken(const QString& word, const QString& what) {
  const bool is_one = what == "budget" ? !parseBudgets(word, nullptr).empty() : !parseSeeds(word, nullptr).empty();
  return QString(is_one ? "“%1” is one %2 too many" : "“%1” is not a %2").arg(word, what);
}

std::vector<int> parseSeeds(const QString& text, QString* wrong) {
  std::vector<int> out;
  for (const QString& word : wordsIn(text)) {
    const QStringList ends = word.split('-');
    bool ok = ends.size() <= 2, ok_last = true;
    const int first = ok ? ends.front().toInt(&ok) : 0, last = ends.size() == 2 ? ends.back().toInt(&ok_last) : first;
    if (!ok || !ok_last || first < 0 || last < first || out.size() + static_cast<std::size_t>(last - first) >= kMostSeeds) {
      if (wrong && wrong->isEmpty()) *wrong = word;
      continue;
    }
    for (int seed = first; seed <= last; ++seed)
      if (std::ranges::find(out, seed) == out.end()) out.push_back(seed);
  }
  return out;
}

RunGridModel::RunGridModel(Workspace& workspace, SessionController& controller, For what, QObject* parent)
    : QAbstractTableModel(parent), m_workspace(workspace), m_controller(controller), m_for(what) {
  for (const PolicyGroup& group : policy_groups()) {
    const QString kind = QString::fromStdString(group.title);
    const std::size_t heading = m_rows.size();
    m_rows.push_back({nullptr, kind, {}, {}, {}});
    for (const PolicyInfo* policy : group.members)
      if (policy->takes_bytes || (what == For::comparison && policy->name != reference_policy()))
        m_rows.push_back({policy, kind, policy->name, QString::fromStdString(policy->title), policy->name});
    if (m_rows.size() == heading + 1) m_rows.pop_back();
  }
  connect(&workspace, &Workspace::snapshotChanged, this, [this] { refresh(); });
  connect(&controller, &SessionController::requestChanged, this, [this] {
    takeOwnRuns();
    refresh();
  });
  takeOwnRuns();
  connect(&controller, &SessionController::refusalsChanged, this, [this] {
    m_reasons.clear();
    refresh();
  });
}

/// Runs that are their policies as they come have a row already.
void RunGridModel::takeOwnRuns() {
  std::vector<Row> own;
  const QString kind = "Runs on screen, with their parameters";
  for (const LaneSpec& lane : m_controller.request().lanes) {
    const std::string method = methodOf(lane), computes = methodOf(unnamed(lane));
    const PolicyInfo& policy = find_policy(lane.name);
    if (method == policy.name || !policy.takes_bytes || std::ranges::any_of(own, [&](const Row& r) { return r.computes == computes; }))
      continue;
    if (own.empty()) own.push_back({nullptr, kind, {}, {}, {}});
    own.push_back({&policy, kind, method, QString::fromStdString(methodTitle(lane.text)), computes});
  }
  const auto same = [](const Row& a, const Row& b) { return a.method == b.method; };
  if (std::ranges::equal(own, std::span(m_rows).first(m_n_own), same)) return;
  beginResetModel();
  m_rows.erase(m_rows.begin(), m_rows.begin() + static_cast<std::ptrdiff_t>(m_n_own));
  m_n_own = own.size();
  m_rows.insert(m_rows.begin(), own.begin(), own.end());
  endResetModel();
}

void RunGridModel::refresh() {
  const Snapshot& s = m_workspace.snapshot();
  const QString of = QString("%1 %2 %3").arg(m_controller.modelFolder()).arg(s.n_prompt).arg(s.prefill_mode);
  if (of != m_reasons_of) m_reasons.clear();
  m_reasons_of = of;
  if (rowCount() > 0 && columnCount() > 0) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
  Q_EMIT changed();
}

/// A policy that was chosen is chosen at what is new among the budgets: it is for them that these change.
void RunGridModel::setBudgets(const std::vector<GridBudget>& budgets) {
  beginResetModel();
  const std::vector<GridBudget> before = std::exchange(m_budgets, budgets);
  if (!before.empty()) m_meant.clear();  // else the text was empty on the way to other budgets
  for (const GridBudget& budget : before)
    for (const auto& [policy, text] : m_chosen)
      if (text == budget.text) m_meant.insert(policy);
  for (const GridBudget& budget : budgets)
    if (std::ranges::find(before, budget.text, &GridBudget::text) == before.end())
      for (const std::string& policy : m_meant) m_chosen.emplace(policy, budget.text);
  endResetModel();
  Q_EMIT changed();
}

void RunGridModel::setSeeds(const std::vector<int>& seeds) {
  m_seeds = seeds.empty() ? std::vector<int>{0} : seeds;
  refresh();
}

bool RunGridModel::takesBudget(int row) const {
  if (isHeading(row)) return false;
  const bool of_bytes = m_for == For::curves || std::ranges::any_of(m_budgets, [](const GridBudget& b) { return b.key == "bytes"; });
  return policy(row).takes_budget || (policy(row).takes_bytes && of_bytes);
}

bool RunGridModel::matches(int row, const QString& words) const {
  if (isHeading(row)) {
    for (int r = row + 1; r < rowCount() && !isHeading(r); ++r)
      if (matches(r, words)) return true;
    return false;
  }
  const QString whole = at(row).title + ' ' + QString::fromStdString(policy(row).name) + ' ' + at(row).kind;
  return std::ranges::all_of(words.split(' ', Qt::SkipEmptyParts),
                             [&](const QString& w) { return whole.contains(w, Qt::CaseInsensitive); });
}

std::pair<std::string, QString> RunGridModel::keyOf(int row, int column) const {
  return {at(row).computes, takesBudget(row) ? m_budgets[static_cast<std::size_t>(column)].text : QString()};
}

std::vector<std::string> RunGridModel::specsOf(int row, int column) const {
  const PolicyInfo& info = policy(row);
  const GridBudget& budget = m_budgets[static_cast<std::size_t>(column)];
  std::string plain = at(row).method;
  if (takesBudget(row))
    plain += (plain == info.name ? ":" : ",") + budget.key + "=" + budget.value;  // perhaps one that it does not take: refusalOf() says so
  // Of the session's own seed no run needs to say it.
  if (!drawsLots(info) || (m_seeds == std::vector<int>{0} && m_controller.request().seed == 0)) return {plain};
  std::vector<std::string> out;
  for (const int seed : m_seeds) out.push_back(with_param(plain, "seed", std::to_string(seed)));
  return out;
}

QString RunGridModel::refusalOf(const std::string& spec) const {
  try {
    return m_controller.refusalOf(parse_lane_spec(spec));
  } catch (const Error& error) {
    return QString::fromUtf8(error.what());
  }
}

QString RunGridModel::reason(int row, int column) const {
  const std::string spec = specsOf(row, column).front();
  const auto known = m_reasons.find(spec);
  return known != m_reasons.end() ? known->second : m_reasons[spec] = refusalOf(spec);
}

RunGridModel::Cell RunGridModel::cell(int row, int column) const {
  if (isHeading(row)) return Cell::heading;
  if (!reason(row, column).isEmpty()) return Cell::refused;
  if (m_for == For::comparison) {
    const std::vector<LaneSpec>& lanes = m_controller.request().lanes;
    const std::vector<std::string> specs = specsOf(row, column);
    if (std::ranges::all_of(specs, [&](const std::string& spec) { return std::ranges::find(lanes, spec, &LaneSpec::text) != lanes.end(); }))
      return Cell::there;
  }
  return m_chosen.contains(keyOf(row, column)) ? Cell::chosen : Cell::free;
}

/// Asks of what is meant only whether it can be: to ask of every policy takes longer than a key may.
bool RunGridModel::isChosen(int row, int column) const {
  return !isHeading(row) && m_chosen.contains(keyOf(row, column)) && cell(row, column) == Cell::chosen;
}

void RunGridModel::toggle(const QModelIndexList& cells) {
  bool any_free = false;
  for (const QModelIndex& c : cells) any_free = any_free || cell(c.row(), c.column()) == Cell::free;
  for (const QModelIndex& c : cells) {
    const Cell now = cell(c.row(), c.column());
    if (any_free && now == Cell::free) m_chosen.insert(keyOf(c.row(), c.column()));
    if (!any_free && now == Cell::chosen) m_chosen.erase(keyOf(c.row(), c.column()));
  }
  refresh();
}

void RunGridModel::choose(const std::string& name, bool on) {
  const int row = rowOf(name);
  if (row < 0) return;
  for (int c = 0; c < columnCount(); ++c) {
    if (on)
      m_chosen.insert(keyOf(row, c));
    else
      m_chosen.erase(keyOf(row, c));
  }
  refresh();
}

void RunGridModel::chooseRuns(const std::vector<std::string>& specs) {
  const std::set<std::string> wanted(specs.begin(), specs.end());
  for (int row = 0; row < rowCount(); ++row)
    for (int c = 0; c < columnCount() && !isHeading(row); ++c)
      if (std::ranges::any_of(specsOf(row, c), [&](const std::string& spec) { return wanted.contains(spec); }))
        m_chosen.insert(keyOf(row, c));
  refresh();
}

void RunGridModel::clear() {
  m_chosen.clear();
  m_meant.clear();
  refresh();
}

int RunGridModel::rowOf(const std::string& name) const {
  for (int row = 0; row < rowCount(); ++row)
    if (!isHeading(row) && at(row).method == name) return row;
  return -1;
}

int RunGridModel::nSeeded() const {
  int n = 0;
  for (int row = 0; row < rowCount(); ++row) {
    bool any = false;
    for (int c = 0; c < columnCount(); ++c) any = any || isChosen(row, c);
    n += any && drawsLots(policy(row)) ? 1 : 0;
  }
  return n;
}

std::vector<std::string> RunGridModel::chosen() const {
  std::vector<std::string> out;
  const std::vector<LaneSpec>& lanes = m_controller.request().lanes;
  std::set<std::pair<std::string, QString>> there;  // a policy as it comes may be on screen under a name
  for (int row = 0; row < rowCount(); ++row) {
    for (int c = 0; c < (takesBudget(row) ? columnCount() : std::min(1, columnCount())); ++c) {
      if (!isChosen(row, c) || !there.insert(keyOf(row, c)).second) continue;
      for (const std::string& spec : specsOf(row, c))
        if (m_for == For::curves || std::ranges::find(lanes, spec, &LaneSpec::text) == lanes.end()) out.push_back(spec);
    }
  }
  return out;
}

int RunGridModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_rows.size()); }

int RunGridModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_budgets.size()); }

QVariant RunGridModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Cell now = cell(index.row(), index.column());
  if (now == Cell::heading && role == Qt::DisplayRole) return at(index.row()).kind;
  if (now == Cell::heading) return role == Qt::UserRole ? QVariant(static_cast<int>(now)) : QVariant();
  const QString budget = takesBudget(index.row()) ? m_budgets[static_cast<std::size_t>(index.column())].text : QString("without a budget");
  const QString name = at(index.row()).title + ", " + budget;
  if (role == Qt::DisplayRole && !takesBudget(index.row())) return budget;
  if (role == Qt::UserRole) return static_cast<int>(now);
  if (role == Qt::AccessibleTextRole || role == Qt::ToolTipRole) {
    switch (now) {
      case Cell::free:
        return name + (role == Qt::ToolTipRole ? "" : ", not chosen");
      case Cell::chosen:
        return name + ", chosen";
      case Cell::there:
        return name + ": is among the runs already";
      case Cell::refused:
        return name + ": " + reason(index.row(), index.column());
      case Cell::heading:
        break;
    }
  }
  return {};
}

QVariant RunGridModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Horizontal) {
    if (role == Qt::DisplayRole) return QString(m_budgets[static_cast<std::size_t>(section)].text).replace(" bytes", "\nbytes");
    if (role == Qt::ToolTipRole)
      return QString("All policies with %1: click to choose or to leave out").arg(m_budgets[static_cast<std::size_t>(section)].text);
    return {};
  }
  if (isHeading(section)) return role == Qt::DisplayRole ? QVariant(at(section).kind) : QVariant();
  if (role == Qt::DisplayRole) return "  " + at(section).title;
  const QString method = QString::fromStdString(at(section).method);
  const bool own = static_cast<std::size_t>(section) < m_n_own;
  if (role == Qt::ToolTipRole) return (own ? method + "\n" : QString()) + QString::fromStdString(policy(section).idea);
  return {};
}

Qt::ItemFlags RunGridModel::flags(const QModelIndex& index) const {
  return index.isValid() && !isHeading(index.row()) ? Qt::ItemIsEnabled | Qt::ItemIsSelectable : Qt::NoItemFlags;
}

}  // namespace kvscope
