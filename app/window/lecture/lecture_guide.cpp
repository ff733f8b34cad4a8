// SPDX-License-Identifier: Apache-2.0
#include "app/window/lecture/lecture_guide.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "app/lessons/scene_look.h"
#include "app/window/lecture/lesson_stage.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "snapshot/figures.h"
#include "viz/reduce/why/why_kept.h"

namespace kvscope {

namespace {

/// What it says is true of the head and step that it leads to, not of any: of a category, which every head has, it speaks for any.
bool about_its_head(const Scene& scene) {
  const auto names_it = [](const std::string& text) { return text.find("{head}") != std::string::npos; };
  return scene.look != Scene::Look::stay && !scene.emphasis &&
         std::ranges::any_of(scene.variants, [&](const Scene::Variant& v) { return names_it(v.message) || names_it(v.text); });
}

/// Where not what the scene showed is on the screen. Its sentences give reasons: of another head, or of a run that was changed by hand,
/// they would be false ones.
std::optional<Caption> caption_of_something_else(const Scene& scene, const Workspace& workspace, const std::optional<viz::Selection>& shown,
                                                 const viz::Facts& facts) {
  const LaneSnapshot* lane = workspace.lane();
  if (!scene.compare && lane != nullptr && lane->fork_of >= 0)
    return Caption{
        viz::fill_in("Changed by hand, in all heads: it says {says}.", facts),
        viz::fill_in("The full cache says {reference_says}. Ctrl+Z takes the change back; the dot leads back to the scene.", facts)};
  const viz::Selection& now = workspace.selection();
  const auto place = [](const viz::Selection& s) { return std::tie(s.lane, s.step, s.layer, s.kv_head); };
  if (about_its_head(scene) && shown && place(now) != place(*shown))
    return Caption{scene.name + ": you look elsewhere.",
                   viz::fill_in("This scene is about {head}, in one step of one run. Its dot leads back there.",
                                viz::lecture_facts(workspace.snapshot(), *shown))};
  if (!scene.has_point(facts))
    return Caption{scene.name + ": not any more.",
                   "What this scene showed has changed under your hands. Its dot brings it back as it was."};
  return std::nullopt;
}

/// The same head of the run that went farthest among those that have lost the token; of the first run where all have it.
viz::HeadPick run_that_lost(const Snapshot& snapshot, viz::Selection at, int token) {
  viz::HeadPick out;
  double farthest = -1;
  for (at.lane = 1; at.lane < static_cast<int>(snapshot.lanes.size()); ++at.lane) {
    const viz::HeadPick pick = viz::pick_head(snapshot, at);
    if (pick.values == nullptr) continue;
    const double apart = run_figures(snapshot, *pick.run, false).kl.mean();
    const bool lost = viz::slot_facts(pick, token).pos != token && apart > farthest;
    if (lost) farthest = apart;
    if (lost || out.values == nullptr) out = pick;
  }
  return out;
}

/// `compared`: over all runs. What the full cache keeps is no news there, and whose reason it is has to be said.
viz::Reason reason_of(const Workspace& workspace, bool compared) {
  const viz::Selection& at = workspace.selection();
  const Snapshot& snapshot = workspace.snapshot();
  viz::HeadPick pick = viz::pick_head(snapshot, at);
  if (!at.tokens || pick.values == nullptr) return {};
  // Of a word the token that was clicked.
  const bool clicked = at.slot && at.tokens->first <= *at.slot && *at.slot <= at.tokens->last;
  const int token = clicked ? *at.slot : at.tokens->first;
  if (!compared) return viz::why_sentence(snapshot, pick, token);
  const auto has = [token](const viz::HeadPick& run) { return viz::slot_facts(run, token).pos == token; };
  if (pick.lane == 0 || has(pick))
    if (const viz::HeadPick other = run_that_lost(snapshot, at, token); other.values != nullptr && (pick.lane == 0 || !has(other)))
      pick = other;
  return viz::why_sentence(snapshot, pick, token, pick.run->title);
}

}  // namespace

LectureGuide::LectureGuide(Workspace& workspace, LessonStage& stage, QObject* parent)
    : QObject(parent), m_workspace(workspace), m_stage(stage) {
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged})
    connect(&workspace, signal, this, &LectureGuide::captionChanged);
  connect(&stage, &LessonStage::ready, this, &LectureGuide::arrive);
  // A scene that was begun before there was a run, or that found nothing to look at, looks as soon as there is something; after whatever
  // else the result brings with it.
  connect(&workspace, &Workspace::snapshotChanged, this, &LectureGuide::takeSnapshot, Qt::QueuedConnection);
}

void LectureGuide::takeSnapshot() {
  if (!m_running || m_stage.waiting() || m_scene >= nScenes()) return;
  if (!m_arrived) return arrive();
  if (m_shown && m_text != m_workspace.snapshot().prompt && m_workspace.snapshot().phase == RunPhase::idle) return lookAgain();
  if (!m_shown && at(m_scene).look != Scene::Look::stay && m_workspace.snapshot().phase == RunPhase::idle) look();
}

void LectureGuide::setLesson(const Lesson& lesson) {
  comeBack();
  m_lesson = lesson;
  m_former.reset();
  m_arrived = false;  // what is on the screen is no scene of this lesson
  Q_EMIT lessonChanged();
  goTo(0);
}

Caption LectureGuide::caption() const {
  if (m_scene < 0 || m_scene >= nScenes()) return {};
  // Numbers of what was there before would be said with authority.
  if (m_running && m_stage.waiting()) return {at(m_scene).name + " …", "What this scene shows is being computed."};
  if (m_running && (!m_arrived || m_lesson.staged()) && m_workspace.snapshot().phase == RunPhase::failed)
    return {at(m_scene).name + ": not here.",
            m_arrived ? "What you changed cannot be computed; the words above say why. The dot brings the scene back."
                      : "What this scene brings cannot be computed; the words above say why."};
  if (m_asked && *m_asked == m_workspace.selection()) {
    const viz::Reason why = reason_of(m_workspace, at(m_scene).compare);
    if (!why.question.empty()) return {why.question, why.answer};
  }
  const viz::Facts facts = viz::lecture_facts(m_workspace.snapshot(), m_workspace.selection());
  const LaneSnapshot* lane = m_workspace.lane();
  const bool forked =
      m_shown && lane != nullptr && lane->fork_of >= 0 && m_workspace.selection().lane != m_shown->lane;  // on one's own text
  if (m_running && m_arrived && (m_lesson.staged() || forked))
    if (const std::optional<Caption> other = caption_of_something_else(at(m_scene), m_workspace, m_shown, facts)) return *other;
  return caption_of(at(m_scene), facts);
}

void LectureGuide::run(bool on) {
  if (on == m_running) return;
  m_running = on;
  m_arrived = false;
  m_former.reset();
  if (on) {
    enter(m_scene, 0);
  } else {
    m_stage.set({});
    comeBack();
    m_workspace.setEmphasis(std::nullopt);
  }
}

std::optional<viz::Selection> LectureGuide::headBefore() const {
  const viz::Selection& now = m_workspace.selection();
  const auto head = [](const viz::Selection& s) { return std::tie(s.layer, s.kv_head); };
  const bool there = m_running && m_arrived && m_former && m_former->kv_head && now.kv_head;
  if (!there || !m_led || head(*m_led) != head(now) || head(*m_former) == head(now)) return std::nullopt;
  return m_former;
}

bool LectureGuide::askWhy() {
  const bool asked = m_asked && *m_asked == m_workspace.selection();
  m_asked.reset();
  if (!asked && reason_of(m_workspace, at(m_scene).compare).question.empty()) return false;
  if (!asked) m_asked = m_workspace.selection();
  Q_EMIT captionChanged();
  return true;
}

bool LectureGuide::endWhy() {
  const bool said = m_asked && *m_asked == m_workspace.selection();
  m_asked.reset();
  if (said) Q_EMIT captionChanged();
  return said;
}

void LectureGuide::goTo(int scene) {
  m_left_out.clear();
  enter(scene, 0);
}

void LectureGuide::goTo(const QString& id) {
  for (int i = 0; i < nScenes(); ++i)
    if (qs(at(i).id) == id) return goTo(i);
}

void LectureGuide::page(int by) {
  m_left_out.clear();
  if (m_scene + by < 0 || m_scene + by >= nScenes()) return pastEnd(by);
  enter(m_scene + by, by);
}

/// direction: of paging, which passes by what has no point; 0: this scene is meant.
void LectureGuide::enter(int scene, int direction) {
  if (m_running && m_arrived && m_left_out.isEmpty()) m_former = m_workspace.selection();
  comeBack();
  m_asked.reset();
  m_scene = std::clamp(scene, 0, std::max(0, nScenes() - 1));
  m_direction = direction;
  m_arrived = false;
  if (m_running && m_scene < nScenes()) {
    m_workspace.setEmphasis(at(m_scene).emphasis);
    m_stage.set(at(m_scene).stage);
  }
  Q_EMIT sceneChanged();
  Q_EMIT captionChanged();
  if (m_running && !m_stage.waiting()) arrive();
}

void LectureGuide::arrive() {
  if (!m_running || m_arrived || m_scene >= nScenes() || m_workspace.snapshot().phase != RunPhase::idle) return;
  m_arrived = true;
  look();
  const int next = m_scene + m_direction;
  if (m_direction != 0 && next >= 0 && next < nScenes() &&
      !at(m_scene).has_point(viz::lecture_facts(m_workspace.snapshot(), m_workspace.selection()))) {
    const LaneSnapshot* run = m_workspace.lane();  // what the next scene shows may be of another one
    m_left_out << (run ? QString("%1 (%2)").arg(qs(at(m_scene).name), qs(run->title)) : qs(at(m_scene).name));
    return enter(next, m_direction);
  }
  m_led = m_workspace.selection();
  Q_EMIT captionChanged();
  Q_EMIT arrived();
  if (!m_left_out.isEmpty())
    Q_EMIT leftOut(QString("left out, there is nothing of it here: %1").arg(std::exchange(m_left_out, {}).join(", ")));
}

/// Another text has its point elsewhere, or nowhere: what framed the old one must not stand there as if it were meant.
void LectureGuide::lookAgain() {
  viz::Selection now = m_workspace.selection();
  if (now.tokens && m_shown->tokens && *now.tokens == *m_shown->tokens) now.tokens.reset(), now.more_tokens.clear();
  m_shown.reset();
  m_before.reset();
  m_workspace.setSelection(now);
  look();
  m_led = m_workspace.selection();
  Q_EMIT captionChanged();
}

/// Only where the user has not looked elsewhere since.
void LectureGuide::comeBack() {
  const auto before = std::exchange(m_before, std::nullopt), shown = std::exchange(m_shown, std::nullopt);
  if (before && shown && m_workspace.selection() == *shown) m_workspace.setSelection(*before);
}

void LectureGuide::look() {
  const std::optional<viz::Selection> wanted = look_of(at(m_scene), m_workspace.snapshot(), m_workspace.selection());
  m_text = m_workspace.snapshot().prompt;
  if (!wanted) return;
  const viz::Selection before = m_workspace.selection();
  m_workspace.setSelection(*wanted);
  m_before = before;
  m_shown = m_workspace.selection();
}

}  // namespace kvscope
