// SPDX-License-Identifier: Apache-2.0
#include "app/window/lecture/lecture_guide.h"

#include <algorithm>
#include <utility>

#include "app/window/session/workspace.h"

namespace kvscope {

LectureGuide::LectureGuide(Workspace& workspace, QObject* parent) : QObject(parent), m_workspace(workspace) {
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged})
    connect(&workspace, signal, this, &LectureGuide::captionChanged);
  // A scene that was begun before there was a run looks as soon as there is one; after whatever else the result brings with it.
  connect(
      &workspace, &Workspace::snapshotChanged, this,
      [this] {
        if (m_running && !m_shown && m_scene < m_scenes.size() && m_scenes[m_scene].look != Scene::Look::stay &&
            m_workspace.snapshot().phase == RunPhase::idle)
          look();
      },
      Qt::QueuedConnection);
}

void LectureGuide::setScenes(const QList<Scene>& scenes) {
  m_scenes = scenes;
  goTo(0);
}

Caption LectureGuide::caption() const {
  if (m_scene < 0 || m_scene >= m_scenes.size()) return {};
  return captionOf(m_scenes[m_scene], viz::lecture_facts(m_workspace.snapshot(), m_workspace.selection()));
}

void LectureGuide::run(bool on) {
  if (on == m_running) return;
  m_running = on;
  if (on) {
    look();
  } else {
    comeBack();
    m_workspace.setEmphasis(std::nullopt);
  }
}

void LectureGuide::goTo(int scene) {
  scene = std::clamp(scene, 0, std::max(0, static_cast<int>(m_scenes.size()) - 1));
  comeBack();
  m_scene = scene;
  look();
  Q_EMIT sceneChanged();
  Q_EMIT captionChanged();
}

void LectureGuide::goTo(const QString& id) {
  for (int i = 0; i < m_scenes.size(); ++i)
    if (m_scenes[i].id == id) return goTo(i);
}

/// Only where the user has not looked elsewhere since.
void LectureGuide::comeBack() {
  const auto before = std::exchange(m_before, std::nullopt), shown = std::exchange(m_shown, std::nullopt);
  if (before && shown && m_workspace.selection() == *shown) m_workspace.setSelection(*before);
}

void LectureGuide::look() {
  if (!m_running || m_scene >= m_scenes.size()) return;
  const Scene& scene = m_scenes[m_scene];
  m_workspace.setEmphasis(scene.emphasis);
  std::optional<viz::Selection> wanted;
  if (scene.look == Scene::Look::merging) wanted = merging();
  if (const LaneSnapshot* lane = m_workspace.lane(); scene.look == Scene::Look::loss && lane) {
    if (const viz::Loss loss = viz::largest_loss(m_workspace.snapshot(), *lane); loss.step >= 0) {
      wanted = m_workspace.selection();
      wanted->step = loss.step;
      wanted->layer = loss.layer;
      wanted->kv_head = loss.kv_head;
      wanted->tokens = viz::TokenRange{loss.token, loss.token};
      wanted->slot.reset();
    }
  }
  if (!wanted) return;
  const viz::Selection before = m_workspace.selection();
  m_workspace.setSelection(*wanted);
  m_before = before;
  m_shown = m_workspace.selection();
}

/// The head with the most merged tokens: in the selected run, else in the first run that merges.
std::optional<viz::Selection> LectureGuide::merging() const {
  const Snapshot& snapshot = m_workspace.snapshot();
  const int n_kv = std::max(1, snapshot.model.n_kv_heads);
  const int selected = m_workspace.selection().lane, n_lanes = static_cast<int>(snapshot.lanes.size());
  for (int i = -1; i < n_lanes; ++i) {
    const int lane_idx = i < 0 ? selected : i;
    if (lane_idx < 0 || lane_idx >= n_lanes) continue;
    const LaneSnapshot& lane = snapshot.lanes[static_cast<std::size_t>(lane_idx)];
    if (!lane.fates || lane.steps.empty()) continue;
    const int step = m_workspace.selection().step.value_or(static_cast<int>(lane.steps.size()) - 1);
    const StepRecord& record = *lane.steps[static_cast<std::size_t>(std::min(step, static_cast<int>(lane.steps.size()) - 1))];
    int most = 0, head = -1;
    for (int h = 0; h < static_cast<int>(lane.fates->heads.size()); ++h) {
      const std::vector<Category> now = categories(*lane.fates, record, h, lane.sinks, snapshot.prefill_mode && record.step == 0);
      if (const int n = static_cast<int>(std::count(now.begin(), now.end(), Category::merged)); n > most) most = n, head = h;
    }
    if (head < 0) continue;
    viz::Selection wanted = m_workspace.selection();
    wanted.lane = lane_idx;
    wanted.layer = head / n_kv;
    wanted.kv_head = head % n_kv;
    return wanted;
  }
  return std::nullopt;
}

}  // namespace kvscope
