// SPDX-License-Identifier: Apache-2.0
// The layout Lecture: large type, four panels, captions. The rows of the other layouts give way to one row above and the caption below.
#include <algorithm>
#include <cmath>
#include <utility>

#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QBoxLayout>
#include <QComboBox>
#include <QMenu>
#include <QMenuBar>
#include <QStackedWidget>
#include <QToolButton>
#include <QToolTip>

#include "app/window/shell/command_palette.h"
#include "app/window/lecture/lecture_caption.h"
#include "app/window/lecture/lecture_dialogs.h"
#include "app/window/lecture/lecture_evict.h"
#include "app/window/lecture/lecture_guide.h"
#include "app/window/lecture/lecture_page.h"
#include "app/window/lecture/lecture_row.h"
#include "app/window/shell/main_window.h"
#include "app/window/shell/passing_words.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/shell/rows.h"
#include "app/window/shell/search_bar.h"
#include "app/window/look/style.h"
#include "app/window/panels/runs/table_panel.h"
#include "core/error.h"
#include "viz/reduce/head.h"
#include "viz/views.h"

namespace kvscope {

namespace {

constexpr int kRowWidth = 880;                // px at 100 % of the row of controls
constexpr double kLectureScale = 1.6;         // of all type, at the size that the design was drawn for
constexpr QSize kLectureSize{1600, 1000};
constexpr double kLeastScale = 1.0, kMostScale = 3.2;

/// Type shrinks less than a small window does: it must still be read from the last row of seats. In steps, so that a window that is dragged
/// larger does not rasterise fonts for every size on the way.
double scaleFor(const QSize& size) {
  const double fits = std::min(static_cast<double>(size.width()) / kLectureSize.width(), static_cast<double>(size.height()) / kLectureSize.height());
  const double wanted = std::round(kLectureScale * (fits < 1 ? std::sqrt(fits) : fits) * 10) / 10;
  const double row = std::floor(10.0 * size.width() / kRowWidth) / 10;
  return std::clamp(std::min(wanted, row), kLeastScale, kMostScale);
}

}  // namespace

void MainWindow::buildLecture() {
  m_guide = new LectureGuide(m_workspace, this);
  m_dialogs = new LectureDialogs(this);
  try {
    m_guide->setScenes(readScenes(m_options.scenes.empty() ? builtInScenes() : QString::fromStdString(m_options.scenes)));
  } catch (const Error& error) {
    m_notices->show(error.what(), error.what());
  }
  m_views.push_back(viz::make_atlas(std::make_shared<viz::TokenWindow>()));
  m_lecture_atlas = new CanvasWidget(*m_views.back(), m_workspace, m_renderer.get(), m_no_pictures);
  m_lecture_atlas->setObjectName("canvas_lecture");
  m_lecture_atlas->setAccessibleName("All heads");
  m_canvases.push_back(m_lecture_atlas);
  connect(m_lecture_atlas, &CanvasWidget::focused, this,
          [this] { m_table->setSource(m_lecture_atlas->view().title(), [this] { return m_lecture_atlas->table(); }); });
  m_lecture = new LecturePage(m_workspace, m_controller, m_lecture_atlas, m_pages);
  m_pages->addWidget(m_lecture);
  auto* evict = new LectureEvict(m_workspace, m_hand, m_lecture->prompt().editor(), m_lecture);
  m_lecture->textPanel().addControl(evict);
  QWidget::setTabOrder(&m_lecture->prompt().editor(), evict);
  connect(evict, &QPushButton::clicked, m_lecture_atlas, [this] { m_lecture_atlas->setFocus(); });  // where Ctrl+Z is about the edit
  m_lecture_row = new LectureRow(m_workspace, m_playback, *m_tools, centralWidget());
  m_caption = new LectureCaption(*m_guide, m_workspace, centralWidget());
  for (QWidget* w : {static_cast<QWidget*>(m_lecture_row), static_cast<QWidget*>(m_caption)}) w->hide();
  auto* rows = static_cast<QBoxLayout*>(centralWidget()->layout());
  rows->insertWidget(rows->indexOf(m_pages), m_lecture_row);
  rows->insertWidget(rows->indexOf(m_pages) + 1, m_caption);
  connect(m_lecture_row, &LectureRow::leaveRequested, this, [this] { showPage(Page::inspect); });
  connect(m_lecture_row, &LectureRow::ghostsToggled, this, [this](bool on) { m_workspace.setGhostSteps(on ? m_ghost_choice : 0); });
  connect(m_guide, &LectureGuide::sceneChanged, this, [this] {
    if (!m_lecturing || m_guide->scene() >= m_guide->scenes().size()) return;
    m_messages->clear();  // what was said of the scene before
    const bool compare = m_guide->scenes()[m_guide->scene()].compare;
    if (!compare) m_scene_before_compare = m_guide->scene();
    if (compare != (page() == Page::compare)) showPage(compare ? Page::compare : Page::lecture);
  });
  connect(&m_workspace, &Workspace::themeChanged, this, [this] {
    if (m_lecturing) applyLectureScale(true);
  });
}

void MainWindow::setLecturing(bool on) {
  if (on == m_lecturing) return;
  m_lecturing = on;
  for (QWidget* row : {m_menu_row, static_cast<QWidget*>(m_tools), static_cast<QWidget*>(m_crumbs), static_cast<QWidget*>(m_status)}) row->setVisible(!on);
  m_lecture_row->setVisible(on);
  m_caption->setVisible(on);
  for (QAction* a : m_lecture_actions) a->setEnabled(on);
  applyLectureScale(true);
  m_hand.setShowsEffect(on);
  m_playback.setRest(-1);
  m_lecture_text.clear();
  if (on) chooseLectureHead();
  if (on) restAtTextEnd();
  m_guide->run(on);
  if (on) Q_EMIT m_guide->captionChanged();
}

/// Categories belong to a head: where none is chosen, the one that is most in error is looked at.
void MainWindow::chooseLectureHead() {
  if (!m_lecturing || !m_start_selected || m_pending) return;
  viz::Selection selection = m_workspace.selection();
  if (selection.layer && selection.kv_head) return;
  const viz::HeadPick pick = viz::pick_head(m_workspace.snapshot(), selection);
  if (!pick.values) return;
  selection.layer = pick.values->layer;
  selection.kv_head = pick.values->kv_head;
  m_workspace.setSelection(selection);
}

/// A new text is shown as it has been read, before the answer: what a budget takes away then comes from the text, not from what was said after it.
/// Where the whole text was compressed at once, by the first token that was answered from what is left: before it nothing can be missed.
void MainWindow::restAtTextEnd() {
  const Snapshot& snapshot = m_workspace.snapshot();
  const LaneSnapshot* lane = m_workspace.lane();
  if (!m_start_selected || m_pending || !lane || snapshot.phase != RunPhase::idle) return;
  const auto end = std::ranges::find_if(lane->steps, [&](const StepPtr& step) { return step && step->position >= snapshot.n_prompt - 1; });
  if (end == lane->steps.end()) return;
  const bool later = snapshot.prefill_mode && end + 1 != lane->steps.end();
  const int step = static_cast<int>(end - lane->steps.begin()) + (later ? 1 : 0);
  m_playback.setRest(step);
  if (std::exchange(m_lecture_text, snapshot.prompt) == snapshot.prompt) return;
  if (!m_playback.playing()) m_playback.goTo(step);
}

/// From the text, where letters are letters, and in a lecture from the row above, whose controls have the arrows, to the picture, where keys act.
bool MainWindow::leaveText() {
  const bool in_row = page() == Page::lecture && m_lecture_row->isAncestorOf(focusWidget());
  if (m_lecture->prompt().editor().hasFocus() || in_row) {
    m_lecture_atlas->setFocus(Qt::ShortcutFocusReason);
    return true;
  }
  if (!m_prompt->editor().hasFocus()) return false;
  CanvasWidget* atlas = canvas("atlas");
  QWidget* picture = atlas && atlas->isVisible() ? static_cast<QWidget*>(atlas) : this;  // the atlas may be closed, or behind a maximised text
  picture->setFocus(Qt::ShortcutFocusReason);
  return true;
}

void MainWindow::applyLectureScale(bool anew) {
  const double scale = m_lecturing ? scaleFor(size()) : 1;
  if (!anew && scale == m_lecture_scale) return;
  m_lecture_scale = scale;
  const QFont font = uiFont(static_cast<int>(std::lround(13 * scale)));
  const QString sheet = m_lecturing ? kvscope::styleSheet(m_workspace.theme(), scale) : QString();
  for (QWidget* w : {static_cast<QWidget*>(m_lecture_row), static_cast<QWidget*>(m_lecture), static_cast<QWidget*>(m_caption),
                     static_cast<QWidget*>(m_search), static_cast<QWidget*>(m_notices), static_cast<QWidget*>(m_messages), static_cast<QWidget*>(m_passing),
                     static_cast<QWidget*>(m_palette), m_pages->widget(static_cast<int>(Page::compare))}) {
    if (!w) continue;
    w->setStyleSheet(sheet);
  }
  m_dialogs->setSheet(sheet, scale);
  QApplication::setFont(font, "QMenu");
  QToolTip::setFont(uiFont(static_cast<int>(std::lround(12 * scale))));
  m_lecture_atlas->setLook(scale, true);
  if (CanvasWidget* compare = canvas("compare")) compare->setLook(scale, false);
  if (Panel* compare = panel("compare")) {
    compare->header()->setFixedHeight(static_cast<int>(std::lround(kPanelHeader * scale)));
    for (QComboBox* box : compare->header()->findChildren<QComboBox*>()) box->setFixedHeight(static_cast<int>(std::lround(22 * scale)));
  }
}

void MainWindow::buildLectureMenu(QMenu* menu) {
  const auto scene = [&](const QString& text, const QKeySequence& key, std::function<void()> run) {
    QAction* a = action(menu, text, {key}, std::move(run));
    a->setEnabled(false);
    m_lecture_actions.push_back(a);
  };
  scene("&Next scene", QKeySequence(Qt::Key_PageDown), [this] { m_guide->next(); });
  scene("&Scene before", QKeySequence(Qt::Key_PageUp), [this] { m_guide->previous(); });
  menu->addSeparator();
  QMenu* ghosts = menu->addMenu("&Hatch what leaves next");
  QAction* toggle = action(ghosts, "Hatch what leaves within the next steps (G)", {}, [this] { toggleGhosts(); });
  toggle->setCheckable(true);
  auto* group = new QActionGroup(this);
  for (const int steps : {1, 4, 8, 32}) {
    QAction* a = action(ghosts, QString("look %1 step%2 ahead").arg(steps).arg(steps == 1 ? "" : "s"), {}, [this, steps] {
      m_ghost_choice = steps;
      m_workspace.setGhostSteps(steps);
    });
    a->setCheckable(true);
    a->setChecked(steps == m_ghost_choice);
    group->addAction(a);
  }
  connect(&m_workspace, &Workspace::teachingChanged, toggle, [this, toggle] { toggle->setChecked(m_workspace.ghostSteps() > 0); });
  action(menu, "All &menus", {QKeySequence(Qt::Key_F10)}, [this] {
    if (m_lecturing) return m_lecture_row->menuButton()->showMenu();
    m_menus->setFocus();
    m_menus->setActiveAction(m_menus->actions().front());
  });
}

void MainWindow::toggleGhosts() { m_workspace.setGhostSteps(m_workspace.ghostSteps() > 0 ? 0 : m_ghost_choice); }

void MainWindow::toggleCompare() {
  if (page() == Page::compare) return showPage(m_lecturing ? Page::lecture : Page::inspect);
  if (m_lecturing) {
    m_scene_before_compare = m_guide->scene();
    m_guide->goTo("compare");
  }
  showPage(Page::compare);
}

}  // namespace kvscope
