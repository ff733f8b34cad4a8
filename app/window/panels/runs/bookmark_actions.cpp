// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/runs/bookmark_actions.h"

#include <QMenu>
#include <QStringList>

#include "app/window/commands/command_table.h"
#include "app/window/panels/runs/bookmark_panel.h"
#include "app/window/rows/window_rows.h"
#include "app/window/session/window_model.h"
#include "app/window/shell/pages.h"
#include "app/window/shell/panel_paint.h"
#include "app/window/shell/panels.h"
#include "viz/draw/format.h"

namespace kvscope {

BookmarkActions::BookmarkActions(WindowModel& model, WindowRows& rows, Pages& pages, Panels& panels)
    : m_model(model), m_rows(rows), m_pages(pages), m_panel(new BookmarkPanel(model.workspace, model.bookmarks)) {
  Panel& panel = panels.addTalking("bookmarks", "Bookmarks", m_panel);
  panel.addControl(m_panel->tools());  // low as the panel is beside the others, every line of it is to show a row
  connect(m_panel, &BookmarkPanel::addRequested, this, &BookmarkActions::add);
  connect(m_panel, &BookmarkPanel::goRequested, this, &BookmarkActions::goTo);
  connect(&model.bookmarks, &Bookmarks::changed, this, [this] { m_model.workspace.setStepMarks(m_model.bookmarks.stepMarks()); });
}

void BookmarkActions::add() {
  Bookmark b;
  b.selection = m_model.workspace.selection();
  if (!b.selection.step && m_model.workspace.step() >= 0)
    b.selection.step = m_model.workspace.step();  // this step, not the latest of some later day
  b.page = m_pages.name();
  b.colour = m_model.bookmarks.size() % static_cast<int>(m_model.workspace.theme().runs.size());
  QStringList parts;
  if (b.selection.step) parts << QString("step %1").arg(*b.selection.step);
  if (b.selection.layer) parts << qs(viz::head_name(*b.selection.layer, b.selection.kv_head.value_or(-1)));
  if (b.selection.tokens)
    parts << (b.selection.tokens->first == b.selection.tokens->last
                  ? QString("token %1").arg(b.selection.tokens->first)
                  : QString("tokens %1–%2").arg(b.selection.tokens->first).arg(b.selection.tokens->last));
  if (const LaneSnapshot* lane = m_model.workspace.lane()) {
    parts << QString::fromStdString(lane->title);
    b.run = lane->spec;
  }
  b.name = parts.isEmpty() ? QString("bookmark %1").arg(m_model.bookmarks.size() + 1) : parts.join(" · ");
  m_model.bookmarks.add(b);
  m_rows.say("Bookmarked: " + b.name);
}

void BookmarkActions::goTo(int index) {
  if (index < 0 || index >= m_model.bookmarks.size()) return;
  const Bookmark& b = m_model.bookmarks.all()[static_cast<std::size_t>(index)];
  viz::Selection there = b.selection;
  const RunNow now = runNow(m_model.workspace.snapshot(), b.run, there.lane);
  there.lane = now.lane < 0 ? m_model.workspace.selection().lane : now.lane;
  m_pages.show(m_pages.of(b.page));
  m_model.workspace.setSelection(there);
  const QString of = b.run.empty() ? QString("the run") : QString("the run %1").arg(qs(b.run));
  if (now.lane < 0)
    m_rows.say(QString("«%1»: %2 that it was made in is not here any more; another one is shown").arg(b.name, of));
  else if (!now.as_it_was)
    m_rows.say(QString("«%1»: %2 that it was made in has other settings by now").arg(b.name, of));
}

void BookmarkActions::goToBeside(int direction) {
  // In the order of the steps, from the shown one on.
  const int now = m_model.workspace.step();
  int best = -1;
  for (int i = 0; i < m_model.bookmarks.size(); ++i) {
    const int step = m_model.bookmarks.all()[static_cast<std::size_t>(i)].selection.step.value_or(0);
    if ((step - now) * direction <= 0) continue;
    if (best < 0 || (step - m_model.bookmarks.all()[static_cast<std::size_t>(best)].selection.step.value_or(0)) * direction < 0) best = i;
  }
  goTo(best);
}

void BookmarkActions::fillMenu(Commands& commands, QMenu* menu) {
  const auto with_note = [this] {
    add();
    Q_EMIT panelRequested();
    m_panel->editNote(m_model.bookmarks.size() - 1);
  };
  commands.add(
      menu, {{"&Bookmark this view", {Qt::CTRL | Qt::Key_B}, [this] { add(); }, "Selection, step and page; also B, where no text is typed"},
             {"Bookmark with a &note…", {Qt::CTRL | Qt::SHIFT | Qt::Key_B}, with_note},
             {"Ne&xt bookmark", {Qt::CTRL | Qt::SHIFT | Qt::Key_Right}, [this] { goToBeside(1); }, "By step, from the shown one"},
             {"Previo&us bookmark", {Qt::CTRL | Qt::SHIFT | Qt::Key_Left}, [this] { goToBeside(-1); }, "By step, from the shown one"}});
}

}  // namespace kvscope
