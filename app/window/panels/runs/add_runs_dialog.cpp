// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/runs/add_runs_dialog.h"

#include <algorithm>
#include <cmath>

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>

#include "app/window/panels/runs/run_grid.h"
#include "app/window/session/run_estimate.h"
#include "app/window/session/run_queue.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "core/error.h"
#include "policy/catalog.h"

namespace kvscope {

AddRunsDialog::AddRunsDialog(Workspace& workspace, SessionController& controller, RunQueue& queue, QWidget* parent)
    : QDialog(parent),
      m_workspace(workspace),
      m_controller(controller),
      m_queue(queue),
      m_grid(new RunGrid(workspace, controller, RunGridModel::For::comparison, "12.5 %, 25 %, 50 %", this)),
      m_text(new QLineEdit(this)),
      m_estimate(new QLabel(this)),
      m_note(new QLabel(this)),
      m_add(new QPushButton("Add run", this)) {
  setWindowTitle("Add runs");
  setModal(false);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(16, 14, 16, 14);
  column->setSpacing(10);
  column->addWidget(m_grid, 1);
  auto* by_text = new QHBoxLayout;
  auto* text_name = new QLabel("&Or as text", this);
  text_name->setBuddy(m_text);
  m_text->setPlaceholderText("name:key=value,…  a policy with its budget and parameters");
  m_text->setAccessibleName("A run as text");
  by_text->addWidget(text_name);
  by_text->addWidget(m_text, 1);
  column->addLayout(by_text);
  m_note->setWordWrap(true);
  m_note->hide();
  column->addWidget(m_note);
  m_estimate->setWordWrap(true);
  column->addWidget(m_estimate);
  auto* buttons = new QHBoxLayout;
  auto* none = new QPushButton("Choose none", this);
  auto* cancel = new QPushButton("Close", this);
  m_add->setObjectName("primary");
  m_add->setDefault(true);
  for (QPushButton* b : {none, cancel}) b->setAutoDefault(false);
  buttons->addWidget(none);
  buttons->addStretch(1);
  buttons->addWidget(cancel);
  buttons->addWidget(m_add);
  column->addLayout(buttons);

  connect(none, &QPushButton::clicked, this, [this] { m_grid->model().clear(); });
  connect(cancel, &QPushButton::clicked, this, &QDialog::close);
  connect(m_add, &QPushButton::clicked, this, [this] { add(); });
  connect(m_grid, &RunGrid::changed, this, [this] { refresh(); });
  connect(m_text, &QLineEdit::textChanged, this, [this] { refresh(); });
  // Whoever types a whole specification means it, wherever the keyboard is.
  connect(&m_grid->finder(), &QLineEdit::textEdited, this, [this](const QString& typed) {
    if (!typed.contains(':')) return;
    m_grid->finder().clear();
    m_text->setText(typed);
    m_text->setFocus();
  });
  connect(&queue, &RunQueue::changed, this, [this] { refresh(); });
  connect(&workspace, &Workspace::themeChanged, this, [this] { refresh(); });
  resize(480, 640);
}

QString AddRunsDialog::estimate() const { return m_estimate->text(); }

std::vector<std::string> AddRunsDialog::chosen() const {
  std::vector<std::string> specs = m_grid->model().chosen();
  if (const QString text = m_text->text().trimmed(); !text.isEmpty()) specs.push_back(typed().spec);
  return specs;
}

AddRunsDialog::Typed AddRunsDialog::typed() const {
  Typed out{.spec = m_text->text().trimmed().toStdString(), .wrong = {}, .read_as = {}};
  if (out.spec.empty()) return out;
  try {
    const std::string own = parse_lane_spec(out.spec).text;
    if (own != out.spec) out.read_as = QString("Read as %1").arg(QString::fromStdString(own));
    out.spec = own;
  } catch (const Error& error) {
    out.wrong = QString::fromUtf8(error.what());
  }
  return out;
}

/// The budgets that the dialog begins with, that of the selected run first: who compares, compares at one budget.
QString AddRunsDialog::usualBudgets() const {
  const QString usual = "12.5 %, 25 %, 50 %";
  const int lane = m_workspace.selection().lane;
  const std::vector<LaneSpec>& lanes = m_controller.request().lanes;
  if (lane < 1 || lane >= static_cast<int>(lanes.size())) return usual;
  QString own;
  for (const auto& [key, value] : lanes[static_cast<std::size_t>(lane)].given) {
    const QString text = QString::fromStdString(value);
    if (key == "slots") own = text;
    if (key != "ratio") continue;
    // As somebody would say it: a share that a number of slots has left is these slots.
    const double percent = text.toDouble() * 100;
    const bool round = std::abs(percent * 10 - std::round(percent * 10)) < 1e-6;
    own = round ? QString("%1 %").arg(percent, 0, 'g', 4)
                : QString::number(std::max(1, slotsAsked(lanes[static_cast<std::size_t>(lane)].text, m_workspace.snapshot().n_prompt)));
  }
  const std::vector<GridBudget> asked = parseBudgets(own, nullptr), there = parseBudgets(usual, nullptr);
  const bool is_new = asked.size() == 1 &&
                      std::ranges::none_of(there, [&](const GridBudget& b) { return b.value == asked[0].value && b.key == asked[0].key; });
  return is_new ? own + ", " + usual : usual;
}

void AddRunsDialog::showEvent(QShowEvent* event) {
  QDialog::showEvent(event);
  if (!m_grid->budgets().isModified() && m_grid->model().chosen().empty()) m_grid->budgets().setText(usualBudgets());
  m_grid->begin();
  refresh();
}

void AddRunsDialog::refresh() {
  if (!isVisible()) return;  // no estimates for a dialog that is closed
  const std::vector<std::string> specs = chosen();
  const auto [spec, unreadable, read_as] = typed();
  const std::size_t n_coming = m_workspace.waitingRuns().size();  // they were asked for before
  const QString full =
      specs.empty() ? QString() : SessionController::noRoomFor(m_controller.request().lanes.size() + n_coming + specs.size());
  const QString wrong = unreadable.isEmpty() ? full : unreadable;
  const QString note = wrong.isEmpty() ? read_as : wrong;
  m_note->setVisible(!note.isEmpty());
  m_note->setText(note);
  m_note->setStyleSheet(wrong.isEmpty() ? QString() : QString("color: %1").arg(toColor(m_workspace.theme().changed).name()));
  m_estimate->setText(
      wrong.isEmpty() ? estimateWords(specs.size(), estimateRuns(m_workspace.snapshot(), specs, m_queue.times(), true), true) : QString());
  m_add->setEnabled(!specs.empty() && wrong.isEmpty());
  m_add->setText(specs.size() <= 1 ? QString("Add run") : QString("Add %1 runs").arg(specs.size()));
}

void AddRunsDialog::add() {
  const std::vector<std::string> specs = chosen();
  if (specs.empty()) return;
  m_text->clear();
  m_grid->model().clear();
  m_queue.add(specs, QueuedRun::Purpose::lane);
  close();
  parentWidget()->activateWindow();
}

}  // namespace kvscope
