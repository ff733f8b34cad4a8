// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include <QImage>
#include <QObject>
#include <QString>

#include "app/window/lecture/lecture_entry.h"
#include "viz/draw/theme.h"

class QAction;
class QMenu;
class QProgressDialog;

namespace kvscope {

class BlackScreen;
class Canvases;
class CanvasWidget;
class Commands;
class Handout;
class LectureCaption;
class LectureDialogs;
class LectureGuide;
class LectureHand;
class LecturePage;
class LectureRow;
class LessonFiles;
class LessonStage;
class SpeakerNotes;
class Panels;
class StartPlace;
class WindowRows;
struct Lesson;
struct WindowModel;

/// File of the lesson at this place among those that come with the program; empty: there are fewer.
QString builtInLesson(std::size_t place);

/// The layout Lecture: large type, four panels, captions. The rows of the other layouts give way to one row above and the caption below.
class LectureMode : public QObject {
  Q_OBJECT

 public:
  LectureMode(WindowModel& model, WindowRows& rows, Canvases& canvases, Pages& pages, const Panels& panels, const StartPlace& place);

  /// Also while it shows the comparison.
  bool on() const { return m_on; }
  LectureGuide& guide() { return *m_guide; }
  LessonStage& stage() { return *m_stage; }
  LecturePage& page() { return *m_page; }
  LectureRow& row() { return *m_row; }
  LectureCaption& caption() { return *m_caption; }
  Handout& handout() { return *m_handout; }
  CanvasWidget& atlas() { return *m_atlas; }
  /// A widget over the pages that has the lecture's type while one is held.
  void enlarge(QWidget* widget) { m_enlarged.push_back(widget); }
  void fillMenu(Commands& commands, QMenu* menu);
  /// Before another page is shown, or this one.
  void takePage(Page page);
  void takeSnapshot();
  void takeSize();
  /// The text that is shown is where it was left: nothing leads to its end.
  void keepPlace();
  /// From its text and its row to its picture, where keys act; false: neither has the focus.
  bool leaveText();
  void setGhostSteps(int steps);
  /// Until any key.
  void blackOut();
  /// What the user had waits while a lesson is on stage, and is back afterwards.
  void setAside(bool on);
  /// The text on stage is no longer the lesson's.
  void setTyped(bool own);

 public Q_SLOTS:
  /// The file of a lesson; shows the lecture at its first scene. What is wrong with it is said.
  void openLesson(const QString& path);
  /// The first lesson with text and runs of its own.
  void openFirstLesson();
  /// To what the user had, where a lesson took its place.
  void leave();
  void toggleGhosts();
  void toggleCompare();  // and back to where it was called

 Q_SIGNALS:
  /// A lesson is about to be shown that brings text or runs.
  void lessonBegins();
  void backRequested();

 private:
  void build();
  void connectGuide();
  void showMeant();
  void takeLesson(const QString& path);
  void beginLesson(const Lesson& lesson);
  void keepScene();
  void offerScene();
  void askWhy();
  void pageOn(int by);
  void followLesson();
  void showNotes();
  void writeHandout();
  void followHandout();
  QImage picture() const;
  void sayAside();
  void set(bool on);
  void applyScale(bool anew);
  void chooseHead();
  void restAtTextEnd();
  bool atCompareScene() const;

  WindowModel& m_model;
  WindowRows& m_rows;
  Canvases& m_canvases;
  Pages& m_pages;
  const Panels& m_panels;
  const StartPlace& m_place;
  LectureEntry m_entry;
  LessonStage* m_stage;
  LectureGuide* m_guide;
  LessonFiles* m_files;
  LectureDialogs* m_dialogs;
  Handout* m_handout;
  CanvasWidget* m_atlas = nullptr;
  LecturePage* m_page = nullptr;
  LectureRow* m_row = nullptr;
  LectureHand* m_hand = nullptr;
  LectureCaption* m_caption = nullptr;
  SpeakerNotes* m_notes = nullptr;       // made when they are first asked for
  BlackScreen* m_black = nullptr;        // made when it is first asked for
  QProgressDialog* m_writing = nullptr;  // while a handout is written
  std::vector<QWidget*> m_enlarged;
  std::vector<QAction*> m_actions;    // enabled there only
  QAction* m_next_lesson = nullptr;   // one of them
  std::string m_text;                 // whose end has been shown
  std::map<std::string, int> m_left;  // by file: the scene at which a lesson was left before its end
  bool m_on = false, m_aside = false, m_typed = false;
  double m_scale = 1;
  int m_ghost_choice = 8, m_ghosts_before = 0, m_scene_before_compare = 0;
  const viz::Theme* m_theme_before = nullptr;  // while a handout is written
};

}  // namespace kvscope
