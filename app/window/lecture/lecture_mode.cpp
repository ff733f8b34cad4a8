// SPDX-License-Identifier: Apache-2.0
#include "app/window/lecture/lecture_mode.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <utility>

#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QProgressDialog>
#include <QPushButton>
#include <QStackedWidget>
#include <QToolButton>
#include <QToolTip>

#include "app/window/canvas/canvases.h"
#include "app/window/commands/command_table.h"
#include "app/window/files/export.h"
#include "app/window/files/write_path.h"
#include "app/window/lecture/black_screen.h"
#include "app/window/lecture/handout.h"
#include "app/window/lecture/lecture_caption.h"
#include "app/window/lecture/lecture_dialogs.h"
#include "app/window/lecture/lecture_guide.h"
#include "app/window/lecture/lecture_hand.h"
#include "app/window/lecture/lecture_page.h"
#include "app/window/lecture/lecture_row.h"
#include "app/window/lecture/lesson_files.h"
#include "app/window/lecture/lesson_stage.h"
#include "app/window/lecture/speaker_notes.h"
#include "app/window/look/style.h"
#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/rows/passing_words.h"
#include "app/window/rows/rows.h"
#include "app/window/rows/search_bar.h"
#include "app/window/rows/window_rows.h"
#include "app/window/session/session_file.h"
#include "app/window/session/start_place.h"
#include "app/window/session/window_model.h"
#include "app/window/shell/pages.h"
#include "app/window/shell/panel_paint.h"
#include "app/window/shell/panels.h"
#include "core/error.h"
#include "viz/reduce/head.h"
#include "viz/views.h"

namespace kvscope {

namespace {

constexpr int kRowWidth = 880;         // px at 100 % of the row of controls
constexpr double kLectureScale = 1.6;  // of all type, at the size that the design was drawn for
constexpr QSize kLectureSize{1600, 1000};
constexpr double kCanvasType = 14.0 / 12;  // numbers of a whole page's canvas are as large as those of the four panels
constexpr double kPassingType = 16.0 / 13;
constexpr int kLeastTip = 22;  // px of tooltips: all that an audience reads is as large
constexpr double kLeastScale = 1.0, kMostScale = 3.2;

double fitOf(const QSize& size) {
  return std::min(static_cast<double>(size.width()) / kLectureSize.width(), static_cast<double>(size.height()) / kLectureSize.height());
}

/// Of the text, the answer and the numbers: 22 px and more from 1280 x 800 on.
double stageScaleFor(const QSize& size) {
  constexpr double kFull = 0.8;  // of the size of the design, down to which its type is kept
  const double fits = fitOf(size);
  return std::clamp(std::round(kLectureScale * (fits < kFull ? fits / kFull : std::max(1.0, fits)) * 10) / 10, kLeastScale, kMostScale);
}

/// Of what stands around. Type shrinks less than a small window does: it must still be read from the last row of seats. In steps, so that a
/// window that is dragged larger does not rasterise fonts for every size on the way.
double scaleFor(const QSize& size) {
  const double fits = fitOf(size);
  const double wanted = std::round(kLectureScale * (fits < 1 ? std::sqrt(fits) : fits) * 10) / 10;
  const double row = std::floor(10.0 * size.width() / kRowWidth) / 10;
  return std::clamp(std::min(wanted, row), kLeastScale, kMostScale);
}

/// What chooses, adds, closes or copies stays with the other layouts, and comes back there.
void putToolsAway(bool away, const Panels& panels, std::initializer_list<const MessageBar*> bars) {
  constexpr const char* kAway = "putAway";
  const auto put = [away](QWidget* tool) {
    if (away ? tool->isHidden() : !tool->property(kAway).toBool()) return;
    tool->setProperty(kAway, away);
    tool->setVisible(!away);
  };
  for (const viz::ViewEntry& view : viz::view_entries()) {
    if (view.in_lecture) put(panels.of(QString::fromStdString(view.id()))->header());
  }
  for (const MessageBar* bar : bars) put(bar->findChild<QPushButton*>("copyDetails"));
}

/// In the difference of two runs: the other one is this.
void holdAgainst(CanvasWidget& compare, int run) {
  const std::vector<viz::Option> options = compare.view().options();
  const auto other = std::ranges::find(options, "other run", &viz::Option::name);
  if (other != options.end()) compare.choose(static_cast<std::size_t>(other - options.begin()), run + 1);  // the first choice is none
}

}  // namespace

QString builtInLesson(std::size_t place) {
  const std::vector<std::string>& all = built_in_lessons();
  return place < all.size() ? qs(all[place]) : QString();
}

LectureMode::LectureMode(WindowModel& model, WindowRows& rows, Canvases& canvases, Pages& pages, const Panels& panels,
                         const StartPlace& place)
    : m_model(model),
      m_rows(rows),
      m_canvases(canvases),
      m_pages(pages),
      m_panels(panels),
      m_place(place),
      m_entry(model, pages, place),
      m_stage(new LessonStage(model.workspace, model.controller, this)),
      m_guide(new LectureGuide(model.workspace, *m_stage, this)),
      m_files(new LessonFiles(*m_guide, model.workspace, model.settings.get(), this)),
      m_dialogs(new LectureDialogs(this)),
      m_handout(new Handout(
          *m_guide, model, [this] { return picture(); }, this)) {
  build();
  takeLesson(model.options.scenes.empty() ? builtInLesson(0) : qs(model.options.scenes));
  m_enlarged = {m_row, m_page, m_caption, &rows.search(), &rows.notices(), &rows.messages(), &rows.passing(), pages.widget(Page::compare)};
  connectGuide();
  connect(m_row, &LectureRow::leaveRequested, this, &LectureMode::leave);
  connect(m_row, &LectureRow::ghostsToggled, this, [this](bool on) { m_model.workspace.setGhostSteps(on ? m_ghost_choice : 0); });
  connect(&model.workspace, &Workspace::themeChanged, this, [this] {
    if (m_on) applyScale(true);
  });
}

void LectureMode::build() {
  m_atlas = &m_canvases.add(viz::make_atlas(std::make_shared<viz::TokenWindow>()));
  m_atlas->setObjectName("canvas_lecture");
  m_atlas->setAccessibleName("All heads");
  connect(m_atlas, &CanvasWidget::editRequested, &m_model.hand, &HandEdits::editSelected);
  m_page = new LecturePage(m_model.workspace, m_model.controller, m_atlas, &m_rows.pages());
  m_pages.add(Page::lecture, m_page, {"lecture", m_atlas, "&Lecture", "Alt+5"});
  auto* hand = m_hand = new LectureHand(m_model.workspace, m_model.hand, m_page->prompt().editor(), m_page);
  m_page->textPanel().addControl(hand);
  QWidget::setTabOrder(&m_page->prompt().editor(), hand);
  connect(hand, &LectureHand::edited, m_atlas, [this] { m_atlas->setFocus(); });  // where Ctrl+Z is about the edit
  connect(hand, &LectureHand::whyAsked, this, [this] {
    m_atlas->setFocus();  // whose keys are named beside the answer
    askWhy();
  });
  m_row = new LectureRow(m_model.workspace, m_model.playback, m_rows.tools(), m_rows.central());
  m_caption = new LectureCaption(*m_guide, m_model.workspace, m_rows.central());
  m_row->hide();
  m_caption->hide();
  m_rows.insertAbovePages(m_row);
  m_rows.insertBelowPages(m_caption);
}

/// What may not be read unasked is no lesson yet: MainWindow::begin() opens it.
void LectureMode::takeLesson(const QString& path) {
  try {
    const Lesson lesson = read_lesson(path.toStdString());
    if (!filesOutside(runs_of(lesson), path, qs(m_model.start.model_folder)).isEmpty()) return takeLesson(builtInLesson(0));
    m_guide->setLesson(lesson);
  } catch (const Error& error) {
    m_rows.notices().show(error.what(), error.what());
  }
}

void LectureMode::openLesson(const QString& path) {
  try {
    const Lesson lesson = read_lesson(path.toStdString());
    const QStringList outside = filesOutside(runs_of(lesson), path, m_model.controller.modelFolder());
    if (outside.isEmpty()) return beginLesson(lesson);
    const QString why = whyNotUnasked(path, outside);
    m_rows.notices().show(why, why, readThem(outside), [this, lesson] { beginLesson(lesson); });
  } catch (const Error& error) {
    m_rows.notices().show(error.what(), error.what());
  }
}

/// Paging goes on with the next lesson, or back to the one before. Over the user's own text it does not: a lesson would take its place.
void LectureMode::pageOn(int by) {
  if (!m_on || m_handout->running()) return;
  const QString path = by > 0 ? m_files->next() : m_files->before();
  if (by > 0 && path.isEmpty()) return m_rows.say("This was the last scene. Esc leaves the lecture.");
  if (by > 0 && !m_guide->lesson().staged())
    return m_rows.say("This was the last scene. N begins the next lesson, with a text of its own.");
  if (path.isEmpty()) return;
  openLesson(path);
  if (by < 0) m_guide->goTo(m_guide->nScenes() - 1);
}

void LectureMode::leave() {
  if (m_aside) Q_EMIT backRequested();
  if (!m_on) return;
  set(false);  // Compare is a page of the lecture, too, while that is on
  m_pages.show(m_entry.left());
}

void LectureMode::beginLesson(const Lesson& lesson) {
  m_files->setShown(qs(lesson.path));
  m_rows.notices().clear();
  if (lesson.staged() && !m_aside) {  // while what is shown is still the user's
    m_guide->run(false);
    if (m_on) m_entry.comeBack();
    Q_EMIT lessonBegins();
  }
  m_pages.show(Page::lecture);
  m_guide->run(true);
  keepScene();
  m_guide->setLesson(lesson);
  offerScene();
}

void LectureMode::keepScene() {
  if (!m_guide->lesson().staged() || m_guide->scene() == 0) return;
  if (m_guide->scene() + 1 < m_guide->nScenes())
    m_left[m_guide->lesson().path] = m_guide->scene();
  else
    m_left.erase(m_guide->lesson().path);
}

/// Of a lesson that was left before its end.
void LectureMode::offerScene() {
  const auto left = m_left.find(m_guide->lesson().path);
  if (left == m_left.end() || left->second >= m_guide->nScenes()) return;
  const int scene = left->second;
  const QString words =
      QString("You left this lesson at scene %1 of %2, “%3”.").arg(scene + 1).arg(m_guide->nScenes()).arg(qs(m_guide->at(scene).name));
  m_rows.notices().show(words, words, "Go on there", [this, scene] { m_guide->goTo(scene); });
  m_rows.notices().markNews();
  const auto paged = [this, words] { m_rows.notices().takeBack(words); };
  connect(m_guide, &LectureGuide::sceneChanged, this, paged, Qt::SingleShotConnection);
}

void LectureMode::openFirstLesson() { openLesson(builtInLesson(1)); }

void LectureMode::setAside(bool on) {
  m_aside = on;
  m_caption->setAside(on);
  if (on) {
    m_ghosts_before = m_model.workspace.ghostSteps();
    return;
  }
  m_model.workspace.setGhostSteps(m_ghosts_before);
  keepScene();
  if (m_guide->lesson().staged()) takeLesson(builtInLesson(0));
  set(false);  // the page that is given back says whether it is a lecture
}

void LectureMode::connectGuide() {
  connect(m_caption, &LectureCaption::backRequested, this, &LectureMode::backRequested);
  connect(m_caption, &LectureCaption::nextRequested, this, [this] { openLesson(m_files->next()); });
  connect(m_files, &LessonFiles::openRequested, this, &LectureMode::openLesson);
  connect(m_files, &LessonFiles::said, this, [this](const QString& words) { m_rows.say(words); });
  connect(m_files, &LessonFiles::failed, this, [this](const QString& why) { m_rows.notices().show(why, why); });
  for (auto signal : {&LectureGuide::captionChanged, &LectureGuide::sceneChanged})
    connect(m_guide, signal, m_page, [this] {  // where this window happened to be is nothing for paper
      m_page->setHeadBefore(m_writing != nullptr ? std::nullopt : m_guide->headBefore());
    });
  connect(m_guide, &LectureGuide::sceneChanged, m_page, [this] {
    const Scene* scene = m_guide->current();
    const bool memory = scene != nullptr && scene->memory;
    m_page->showMemory(memory);
    if (memory && m_on) leaveText();  // it stands over the text: nobody sees who has the keys
  });
  connect(m_guide, &LectureGuide::pastEnd, this, &LectureMode::pageOn);
  followHandout();
  connect(m_guide, &LectureGuide::arrived, this, &LectureMode::showMeant);
  connect(m_guide, &LectureGuide::leftOut, this, [this](const QString& words) {
    if (!m_handout->running()) m_rows.say(words);
  });
  connect(m_guide, &LectureGuide::sceneChanged, this, [this] {
    const Scene* scene = m_guide->current();
    const std::optional<Scene::Part> mark = scene != nullptr ? scene->mark : std::nullopt;
    m_page->setMarked(mark);
    m_row->setMarked(mark == Scene::Part::budget);
    if (!m_on || scene == nullptr) return;
    m_rows.messages().clear();  // what was said of the scene before
    m_atlas->takeKey("0");      // and what was looked at closely
    const bool compare = atCompareScene();
    if (!compare) m_scene_before_compare = m_guide->scene();
    if (compare != m_pages.shows(Page::compare)) m_pages.show(compare ? Page::compare : Page::lecture);
  });
}

/// The runs that a comparison is about. Where no token is meant, the words that are answered are, and the category that is spoken of: a
/// long text hides them beyond its edge.
void LectureMode::showMeant() {
  const Scene* scene = m_guide->current();
  if (!m_guide->running() || m_guide->waiting() || scene == nullptr) return;
  if (scene->against) holdAgainst(*m_canvases.of("compare"), *scene->against);
  PromptEditor& editor = m_page->prompt().editor();
  editor.showAnew();
  if (m_model.workspace.selection().tokens) return;
  if (scene->answer) editor.showEnd();
  if (const LaneSnapshot* lane = m_model.workspace.lane(); scene->read && lane != nullptr && !lane->steps.empty())
    editor.bringIntoSight(lane->steps[static_cast<std::size_t>(m_model.workspace.step())]->position);
  editor.showEmphasis();
}

/// Writing turns through the scenes on the screen: that this is what happens stands in a window of its own, which is in no picture.
void LectureMode::followHandout() {
  connect(m_handout, &Handout::begun, this, [this] {  // paper is light
    m_theme_before = &m_model.workspace.theme();
    m_model.workspace.setTheme(viz::light_theme());
    m_row->setOnPaper(true);
    m_hand->setOnPaper(true);
    m_writing = new QProgressDialog("Writing the handout: every scene is shown once …", "Cancel", 0, m_guide->nScenes(),
                                    m_rows.central()->window());
    m_writing->setWindowTitle("Write handout");
    m_writing->setMinimumDuration(0);
    m_writing->setValue(0);
    connect(m_writing, &QProgressDialog::canceled, m_handout, &Handout::cancel);
  });
  connect(m_handout, &Handout::ended, this, [this] {
    m_model.workspace.setTheme(*m_theme_before);
    m_row->setOnPaper(false);
    m_hand->setOnPaper(false);
    std::exchange(m_writing, nullptr)->deleteLater();
    m_page->setHeadBefore(m_guide->headBefore());
  });
  connect(m_handout, &Handout::reached, this, [this](int scene) { m_writing->setValue(scene); });
  connect(m_handout, &Handout::failed, this, [this](const QString& why) { m_rows.notices().show(why, why); });
  connect(m_handout, &Handout::written, this, [this](const QString& path, int n, const QString& left_out) {
    const QString notes = m_handout->notes();
    const QString words = QString("%1 scenes written to %2").arg(n).arg(path) + (notes.isEmpty() ? notes : ", your notes to " + notes);
    if (left_out.isEmpty()) return m_rows.say(words);
    const QString all = words + "; " + left_out;
    m_rows.notices().show(all, all);  // it stays until it has been read
    m_rows.notices().markNews();
  });
}

bool LectureMode::atCompareScene() const { return m_guide->current() != nullptr && m_guide->current()->compare; }

void LectureMode::takePage(Page page) {
  if (!m_on && page == Page::lecture) m_entry.take();
  set(page == Page::lecture || (m_on && page == Page::compare));
  // The scene of the comparison belongs to its page: whoever asks for the lecture is led there, not to another scene.
  if (page != Page::lecture || !atCompareScene()) return;
  QMetaObject::invokeMethod(
      this,
      [this] {
        if (m_on && atCompareScene() && m_pages.shows(Page::lecture)) m_pages.show(Page::compare);
      },
      Qt::QueuedConnection);
}

void LectureMode::set(bool on) {
  if (on == m_on) return;
  m_on = on;
  m_model.hand.setRestoredStays(on);
  m_rows.replaceBy(on ? m_row : nullptr);
  m_caption->setVisible(on);
  for (QAction* a : m_actions) a->setEnabled(on);
  if (m_next_lesson != nullptr) m_next_lesson->setEnabled(on && !m_files->next().isEmpty());
  putToolsAway(on, m_panels, {&m_rows.notices(), &m_rows.messages()});
  applyScale(true);
  m_model.playback.setRest(-1);
  m_text.clear();
  if (on && m_model.workspace.selection().step) keepPlace();  // a step that was chosen stays
  if (on) chooseHead();
  if (on) restAtTextEnd();
  m_guide->run(on);
  if (on) Q_EMIT m_guide->captionChanged();
  if (!on && m_aside) sayAside();
}

void LectureMode::setTyped(bool own) {
  m_typed = own;
  if (!m_on && m_aside) sayAside();
}

/// A question of the audience leads to another page and back: the lesson's runs stay until they are sent away.
void LectureMode::sayAside() {
  const QString words = m_typed ? "The text is yours, the runs are those of the lesson; what you had before is kept."
                                : "The text and the runs are those of the lesson; what you had is kept.";
  m_rows.notices().show(words, words, "Back to mine", [this] { Q_EMIT backRequested(); });
  m_rows.notices().markNews();
}

void LectureMode::takeSnapshot() {
  if (!m_on || m_model.workspace.snapshot().phase != RunPhase::idle) return;
  chooseHead();
  restAtTextEnd();
}

void LectureMode::takeSize() {
  if (!m_on) return;
  applyScale(false);
  QMetaObject::invokeMethod(this, &LectureMode::showMeant, Qt::QueuedConnection);  // lines break elsewhere now
}

void LectureMode::keepPlace() { m_text = m_model.workspace.snapshot().prompt; }

/// Categories belong to a head: where none is chosen, the one that is most in error is looked at.
void LectureMode::chooseHead() {
  if (!m_on || !m_place.taken()) return;
  viz::Selection selection = m_model.workspace.selection();
  if (selection.layer && selection.kv_head) return;
  const viz::HeadPick pick = viz::pick_head(m_model.workspace.snapshot(), selection);
  if (!pick.values) return;
  selection.layer = pick.values->layer;
  selection.kv_head = pick.values->kv_head;
  m_model.workspace.setSelection(selection);
}

/// A new text is shown as it has been read, before the answer: what a budget takes away then comes from the text, not from what was said
/// after it. Where the whole text was compressed at once, by the first token that was answered from what is left: before it nothing can be
/// missed.
void LectureMode::restAtTextEnd() {
  const Snapshot& snapshot = m_model.workspace.snapshot();
  const LaneSnapshot* lane = m_model.workspace.lane();
  if (!m_place.taken() || !lane || snapshot.phase != RunPhase::idle) return;
  const auto end = std::ranges::find_if(lane->steps, [&](const StepPtr& step) { return step && step->position >= snapshot.n_prompt - 1; });
  if (end == lane->steps.end()) return;
  const bool later = snapshot.prefill_mode && end + 1 != lane->steps.end();
  const int step = static_cast<int>(end - lane->steps.begin()) + (later ? 1 : 0);
  m_model.playback.setRest(step);
  if (std::exchange(m_text, snapshot.prompt) == snapshot.prompt) return;
  if (!m_model.playback.playing()) m_model.playback.goTo(step);
}

bool LectureMode::leaveText() {
  const bool in_row = m_pages.shows(Page::lecture) && m_row->isAncestorOf(QApplication::focusWidget());
  if (!m_page->prompt().editor().hasFocus() && !in_row) return false;
  m_atlas->setFocus(Qt::ShortcutFocusReason);
  return true;
}

void LectureMode::applyScale(bool anew) {
  const double scale = m_on ? scaleFor(m_rows.central()->window()->size()) : 1;
  const double stage = m_on ? stageScaleFor(m_rows.central()->window()->size()) : 1;
  if (!anew && scale == m_scale && stage * kCanvasType == m_atlas->scale()) return;
  m_scale = scale;
  const auto px = [scale](int at_100) { return static_cast<int>(std::lround(at_100 * scale)); };
  const QString sheet = m_on ? kvscope::styleSheet(m_model.workspace.theme(), scale) : QString();
  // What is said in passing has the tools' type, and that is small: as large as the words in the rows above and below.
  const auto type_of = [&](const QWidget* w) { return w == m_page ? stage : w == m_row || w == m_caption ? scale : scale * kPassingType; };
  const int tip = std::max(kLeastTip, px(16));
  const QString tips = QString("QToolTip { font-size: %1px; }").arg(tip);
  std::map<double, QString> sheets;  // few sizes for many widgets
  for (QWidget* w : m_enlarged) {
    QString& own = sheets[m_on ? type_of(w) : 0];
    if (m_on && own.isEmpty()) own = kvscope::styleSheet(m_model.workspace.theme(), type_of(w)) + tips;
    if (w->styleSheet() != own) w->setStyleSheet(own);
  }
  m_dialogs->setSheet(sheet, scale);
  const QFont of_menus = uiFont(px(13));
  QApplication::setFont(of_menus, "QMenu");  // of those to come
  for (QMenu* menu : m_rows.central()->window()->findChildren<QMenu*>())
    if (menu->font() != of_menus) menu->setFont(of_menus);
  QToolTip::setFont(uiFont(m_on ? tip : 12));
  m_atlas->setLook(stage * kCanvasType, true);
  for (const viz::ViewEntry& view : viz::view_entries()) {
    if (!view.in_lecture) continue;
    const std::string id = view.id();
    m_canvases.of(id)->setLook(m_on ? stage * kCanvasType : 1, m_on);
  }
}

void LectureMode::fillMenu(Commands& commands, QMenu* menu) {
  m_actions = {commands.add(menu, {"&Next scene", {Qt::Key_PageDown}, [this] { m_guide->next(); }}),
               commands.add(menu, {"&Scene before", {Qt::Key_PageUp}, [this] { m_guide->previous(); }})};
  m_actions.push_back(commands.add(
      menu, {"Speaker &notes", {Qt::Key_S}, [this] { showNotes(); }, "In a window of their own, for the screen that only you see"}));
  m_actions.push_back(
      commands.add(menu, {"Write hand&out…",
                          {},
                          [this] { writeHandout(); },
                          "Every scene of the lesson: on A4 sheets with picture and caption, or as a web page with its results; "
                          "your notes in a file of their own"}));
  m_actions.push_back(commands.add(menu, {"&Why the selected token is gone",
                                          {Qt::Key_W},
                                          [this] { askWhy(); },
                                          "Or why it is still there: in place of the caption, until something else is selected"}));
  m_next_lesson = commands.add(menu, {"Ne&xt lesson", {Qt::Key_N}, [this] { openLesson(m_files->next()); }});
  m_actions.push_back(m_next_lesson);
  for (QAction* a : m_actions) a->setEnabled(false);
  QMenu* lessons = menu->addMenu("L&essons");
  m_files->fillMenu(commands, lessons);
  m_caption->setLessons(lessons);
  followLesson();
  connect(m_guide, &LectureGuide::lessonChanged, this, &LectureMode::followLesson);
  menu->addSeparator();
  QMenu* ghosts = menu->addMenu("&Hatch what leaves next");
  QAction* toggle = commands.add(ghosts, {"Hatch what leaves within the next steps (G)", {}, [this] { toggleGhosts(); }});
  toggle->setCheckable(true);
  auto* group = new QActionGroup(&commands.window());
  for (const int steps : {1, 4, 8, 32})
    commands.choice(ghosts, group,
                    {QString("look %1 step%2 ahead").arg(steps).arg(steps == 1 ? "" : "s"), {}, [this, steps] { setGhostSteps(steps); }},
                    steps == m_ghost_choice);
  connect(&m_model.workspace, &Workspace::teachingChanged, toggle,
          [this, toggle] { toggle->setChecked(m_model.workspace.ghostSteps() > 0); });
  commands.add(menu, {"All &menus", {Qt::Key_F10}, [this] {
                        if (m_on) return m_row->menuButton()->showMenu();
                        m_rows.menus().setFocus();
                        m_rows.menus().setActiveAction(m_rows.menus().actions().front());
                      }});
}

void LectureMode::askWhy() {
  if (!m_guide->askWhy()) m_rows.say("Click a word first: W then says why it is gone, or still there.");
}

/// What comes after this lesson among those of the program.
void LectureMode::followLesson() {
  QString name;
  try {
    if (const QString next = m_files->next(); !next.isEmpty()) name = qs(read_lesson(next.toStdString()).name);
  } catch (const Error&) {
    name.clear();  // the menu has said so
  }
  m_caption->setNext(name);
  m_next_lesson->setEnabled(m_on && !name.isEmpty());
}

void LectureMode::showNotes() {
  if (m_notes == nullptr) m_notes = new SpeakerNotes(*m_guide, m_rows.central()->window());
  m_notes->show();
  m_notes->raise();
}

void LectureMode::writeHandout() {
  const QString sheets = "PDF, A4 sheets (*.pdf)", page = "Web page that moves (*.html)";
  QWidget& window = *m_rows.central()->window();
  const QString path = askWhereToWrite(window, "Write handout", m_files->folder() + "/handout.pdf", sheets + ";;" + page);
  if (path.isEmpty()) return;
  if (const QString notes = m_handout->notesBeside(path); !notes.isEmpty() && !mayBeWritten(notes, window)) return;
  if (path.endsWith(".html", Qt::CaseInsensitive)) {
    const share::PageLesson all{m_guide->lesson().name, std::vector<share::PageScene>(m_guide->scenes().size()), {}};
    const QString told = qs(share::what_a_lesson_page_tells(all, QFileInfo(path).fileName().toStdString()));
    if (QMessageBox::question(&window, "Write handout", told + ".", QMessageBox::Save | QMessageBox::Cancel) != QMessageBox::Save) return;
  }
  m_handout->write(path);
}

/// Null while something is still being drawn.
QImage LectureMode::picture() const {
  for (CanvasWidget* canvas : m_canvases.all())
    if (canvas->isVisible() && !canvas->settled()) return {};
  QWidget& window = *m_rows.central()->window();
  const QImage whole = windowAsPixmap(window).toImage();
  // The caption stands below the picture, as text.
  const double above = m_caption->mapTo(&window, QPoint()).y() * whole.devicePixelRatio();
  return whole.copy(0, 0, whole.width(), static_cast<int>(above));
}

void LectureMode::setGhostSteps(int steps) { m_model.workspace.setGhostSteps(m_ghost_choice = steps); }

void LectureMode::toggleGhosts() { m_model.workspace.setGhostSteps(m_model.workspace.ghostSteps() > 0 ? 0 : m_ghost_choice); }

void LectureMode::blackOut() {
  if (m_black == nullptr) m_black = new BlackScreen(*m_rows.central()->window());
  m_black->begin();
}

void LectureMode::toggleCompare() {
  if (m_pages.shows(Page::compare)) {
    if (m_on && atCompareScene()) return m_guide->goTo(m_scene_before_compare);
    return m_pages.show(m_on ? Page::lecture : Page::inspect);
  }
  if (m_on) {
    m_scene_before_compare = m_guide->scene();
    m_guide->goTo("compare");
  }
  m_pages.show(Page::compare);
}

}  // namespace kvscope
