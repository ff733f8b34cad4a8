// SPDX-License-Identifier: Apache-2.0
#include "app/window/shell/view_panels.h"

#include <algorithm>
#include <string_view>

#include <QAction>
#include <QDockWidget>
#include <QMenu>
#include <QToolButton>

#include "app/window/canvas/canvases.h"
#include "app/window/commands/command_table.h"
#include "app/window/rows/transport.h"
#include "app/window/session/window_model.h"
#include "app/window/shell/header_controls.h"
#include "app/window/shell/panel_paint.h"
#include "app/window/shell/panels.h"
#include "viz/reduce/compare.h"
#include "viz/reduce/finding.h"
#include "viz/reduce/range.h"
#include "viz/views.h"

namespace kvscope {

namespace {

// px of a window whose timeline has a button for the next difference and a list of speeds, and of a timeline by itself; keys and menus are
// always there
constexpr int kWindowWithNext = 1140, kWindowWithSpeed = 950, kAloneWithNext = 560;
constexpr int kRoomForBadge = 330;  // px of a header that has a list, too

}  // namespace

ViewPanels::ViewPanels(WindowModel& model, Canvases& canvases, Panels& panels) : m_model(model), m_canvases(canvases), m_panels(panels) {
  for (const viz::ViewEntry& entry : viz::view_entries()) add(entry);
  connect(&model.workspace, &Workspace::selectionChanged, this, &ViewPanels::refreshHeaders);
}

void ViewPanels::add(const viz::ViewEntry& entry) {
  CanvasWidget* canvas = &m_canvases.add(entry.make(m_canvases.zoom()));
  Panel& panel = m_panels.add(canvas->view().id(), canvas->view().title(), canvas, entry.place);
  m_entries.push_back({entry, canvas, &panel});
  connect(canvas, &CanvasWidget::factsChanged, this, &ViewPanels::refreshHeaders);
  connect(canvas, &CanvasWidget::openInspectorRequested, this, &ViewPanels::inspectorRequested);
  connect(canvas, &CanvasWidget::removeLaneRequested, &m_model.controller, &SessionController::removeLane);
  connect(canvas, &CanvasWidget::cancelRunRequested, &m_model.runs, &RunQueue::cancel);
  HandEdits& hand = m_model.hand;
  connect(canvas, &CanvasWidget::editRequested, &hand, &HandEdits::editSelected);
  connect(canvas, &CanvasWidget::measureWanted, &m_model.controller, &SessionController::want);
  connect(canvas, &CanvasWidget::measureWanted, &m_model.causes, [this](const viz::WantMeasure& wanted) {
    if (wanted.what == viz::WantMeasure::What::causes) m_model.causes.want(wanted.on);
  });
  connect(canvas, &CanvasWidget::budgetRequested, &hand,
          [&hand](int lane, int layer, int kv_head, int n) { hand.setBudget(lane, layer, kv_head, n); });
  addOptionBoxes(panel, *canvas);
  addCommands(entry.commands, panel);
}

void ViewPanels::addCommands(viz::HeaderCommands commands, Panel& panel) {
  const auto button = [this, &panel](const QString& text, const QString& help, void (ViewPanels::*request)()) {
    auto* const made = headerButton(text, help);
    connect(made, &QToolButton::clicked, this, request);
    panel.addControl(made);
  };
  switch (commands) {
    case viz::HeaderCommands::none:
      return;
    case viz::HeaderCommands::playback:
      return addPlayback(panel);
    case viz::HeaderCommands::inspector:
      return button("Inspector", "Open the inspector of this head (Enter)", &ViewPanels::inspectorRequested);
    case viz::HeaderCommands::add_runs:
      addSameBudget(panel);
      return button("Add runs…", "Policies × budgets × seeds (Ctrl+R)", &ViewPanels::addRunsRequested);
  }
}

/// Where runs of several budgets stand beside each other: what is better with more slots is no better policy.
void ViewPanels::addSameBudget(Panel& panel) {
  auto* const same = headerButton("Same budget", {});
  connect(same, &QToolButton::clicked, this, &ViewPanels::sameBudgetRequested);
  panel.addControl(same);
  const auto offer = [this, same] {
    const LaneSnapshot* lane = m_model.workspace.lane();
    const bool can = lane != nullptr && lane->slots_asked >= 0 && !m_model.controller.viewOnly();
    same->setVisible(can && viz::unequal_budgets(m_model.workspace.snapshot()).has_value());
    if (!can) return;
    same->setToolTip(QString("Give all runs the budget of run %1, %2; those that take no budget stay as they are")
                         .arg(qs(viz::lane_letter(m_model.workspace.selection().lane)), counted(lane->slots_asked, "slot", "slots")));
    same->setAccessibleDescription(same->toolTip());
  };
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged}) connect(&m_model.workspace, signal, same, offer);
  offer();
}

void ViewPanels::addPlayback(Panel& panel) {
  auto* const transport = new Transport(panel, m_model.workspace, m_model.playback);  // its panel owns it
  connect(panel.addButton(Icon::bookmark, "Bookmark this view (B, Ctrl+B)"), &QToolButton::clicked, this, &ViewPanels::bookmarkRequested);
  auto* const next = headerButton("Next difference", "The next step whose top choice is not the full cache's (F4)");
  connect(next, &QToolButton::clicked, &m_model.difference, &FirstDifference::next);
  panel.addControl(next);
  // By the window: the panel itself does not become narrower than what its header shows.
  const auto offer = [this, transport, next, &panel] {
    const LaneSnapshot* lane = m_model.workspace.lane();
    const QWidget* window = panel.header()->window();
    const bool alone = qobject_cast<const QDockWidget*>(window) != nullptr;
    const bool room = window->width() >= (alone ? kAloneWithNext : kWindowWithNext);
    transport->offerSpeed(alone || window->width() >= kWindowWithSpeed);
    next->setVisible(room && lane != nullptr && viz::differing_step_from(m_model.workspace.snapshot(), *lane, 0, true) >= 0);
  };
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged}) connect(&m_model.workspace, signal, next, offer);
  connect(this, &ViewPanels::sizeTaken, next, offer);
  offer();
}

void ViewPanels::offerMenus(const QMenu& hand, const std::vector<QAction*>& of_head, const std::vector<QAction*>& take_out) {
  for (CanvasWidget* of : m_canvases.all()) {
    const auto entry =
        std::ranges::find_if(m_entries, [of](const Entry& e) { return std::string_view(e.canvas->view().id()) == of->view().id(); });
    const bool has_tokens = entry != m_entries.end() && entry->entry.edits_tokens;
    const bool has_heads = entry != m_entries.end() && entry->entry.edits_heads;
    connect(of, &CanvasWidget::contextMenuRequested, this, [this, of, has_tokens, has_heads, &hand, of_head, take_out](const QPoint& at) {
      of->setFocus(Qt::MouseFocusReason);
      if (has_heads || has_tokens) chooseHovered(has_tokens);
      auto* menu = new QMenu(of);
      menu->setAttribute(Qt::WA_DeleteOnClose);
      if (has_tokens) {
        menu->addActions(hand.actions());
        menu->addSeparator();
      }
      if (has_heads) {
        for (QAction* a : of_head) menu->addAction(a);
        menu->addSeparator();
      }
      for (QAction* a : take_out) menu->addAction(a);
      menu->popup(at);
    });
  }
}

/// The head under the mouse is the one that is meant, and the token there, unless it is one of those that are selected.
void ViewPanels::chooseHovered(bool tokens) {
  const viz::Hover& hover = m_model.workspace.hover();
  viz::Selection selection = m_model.workspace.selection();
  if (hover.layer && hover.kv_head) {
    selection.layer = hover.layer;
    selection.kv_head = hover.kv_head;
    selection.slot.reset();
  }
  if (tokens && hover.token && !viz::has_token(selection, *hover.token)) {
    selection.select({*hover.token, *hover.token});
    selection.slot = hover.token;
  }
  m_model.workspace.setSelection(selection);
}

void ViewPanels::fillMenu(Commands& commands, QMenu* menu) {
  for (const Entry& e : m_entries) {
    CanvasWidget* canvas = e.canvas;
    const std::vector<viz::Switch> switches = canvas->view().switches();
    for (std::size_t i = 0; i < switches.size(); ++i) {
      const auto flip = [this, canvas, i] {
        canvas->view().flip(i);
        canvas->invalidate();
        Q_EMIT switched();
      };
      QAction* a = commands.add(menu, {QString::fromStdString(switches[i].text), {}, flip, QString::fromStdString(switches[i].help)});
      a->setCheckable(true);
      connect(canvas, &CanvasWidget::factsChanged, a, [this, canvas, a, i] {  // its own keys switch, too
        const bool on = canvas->view().switches()[i].on;
        if (on == a->isChecked()) return;
        a->setChecked(on);
        Q_EMIT switched();
      });
    }
  }
}

void ViewPanels::takeSize() { Q_EMIT sizeTaken(); }

void ViewPanels::refreshHeaders() {
  const viz::Selection& selection = m_model.workspace.selection();
  // Wherever the range of steps changes a number, the header says so.
  const QString range = selection.steps ? QString::fromStdString(viz::range_text(*selection.steps)) : QString();
  const QString help = "Statistics count " + range + " only: click for all (Esc)";
  for (const auto& [entry, canvas, panel] : m_entries) {
    if (entry.badge == viz::RangeBadge::words) panel->setBadge(range, help);
    if (entry.badge == viz::RangeBadge::figures) {  // the list needs the room; the legend says it
      const bool narrow = panel->header()->width() < kRoomForBadge;
      panel->setBadge(narrow ? QString() : range.mid(range.indexOf(' ') + 1), help);
    }
    QString facts = canvas->facts();
    // What the header says elsewhere is not said twice.
    const auto drop = [&facts](const QString& said) {
      if (facts.startsWith(said + " · ")) facts.remove(0, said.size() + 3);
    };
    for (const viz::Option& option : canvas->view().options()) {
      if (option.current < 0 || option.current >= static_cast<int>(option.choices.size())) continue;
      const QString chosen = QString::fromStdString(option.choices[static_cast<std::size_t>(option.current)]);
      if (facts == chosen) facts.clear();
      drop(chosen);
    }
    const QString heading = QString::fromStdString(canvas->view().heading(selection)), title = canvas->view().title();
    panel->setTitle(heading);
    if (heading.startsWith(title + ' ')) drop(heading.mid(title.size() + 1));
    panel->setFacts(facts);
  }
}

}  // namespace kvscope
