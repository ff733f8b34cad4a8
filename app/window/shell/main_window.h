// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <QMainWindow>
#include <QUndoStack>

#include "app/window/session/bookmarks.h"
#include "app/window/canvas/canvas_widget.h"
#include "app/window/session/hand_edits.h"
#include "app/window/shell/options.h"
#include "app/window/shell/panel.h"
#include "app/window/shell/playback.h"
#include "app/window/files/recent_files.h"
#include "app/window/session/run_queue.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/session_file.h"
#include "app/window/session/session_journal.h"
#include "app/window/files/thumbnails.h"
#include "app/window/session/workspace.h"

class QAction;
class QActionGroup;
class QComboBox;
class QSettings;
class QStackedWidget;

namespace kvscope {

class AddRunsDialog;
class AllocationCurve;
class BookmarkPanel;
class CommandPalette;
class CrumbRow;
class DesktopScheme;
class HelpDialog;
class KeyMap;
class JobsPanel;
class LectureCaption;
class LectureDialogs;
class LectureGuide;
class LecturePage;
class LectureRow;
class Latency;
class LatencyHud;
class LibraryDialog;
class LoadingRow;
class MessageBar;
class PassingWords;
class PolicyPanel;
class PromptEditor;
class PromptPanel;
class SearchBar;
class StatusRow;
class SweepPanel;
struct Report;
class StoredResults;
struct Trace;
class TablePanel;
class ToolRow;
class Tour;
class WelcomePage;

/// The window: menus, rows, and pages (Inspect with its docks, Inspector, Compare, Lecture, Welcome) over one workspace.
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  enum class Page { inspect, inspector, compare, sweep, lecture, welcome };

  MainWindow(const Options& options, const StartState& start);
  ~MainWindow() override;

  Workspace& workspace() { return m_workspace; }
  SessionController& controller() { return m_controller; }
  const std::vector<CanvasWidget*>& canvases() const { return m_canvases; }
  CanvasWidget* canvas(const std::string& id) const;  // nullptr: no such view
  Panel* panel(const QString& id) const;
  MessageBar& messages() { return *m_messages; }
  /// What is said about files; stays until it is dismissed, whatever is computed meanwhile.
  MessageBar& notices() { return *m_notices; }
  PassingWords& passingWords() { return *m_passing; }
  Bookmarks& bookmarks() { return m_bookmarks; }
  /// What a file of the session would hold now.
  SavedSession session() const;
  bool saveSession(const QString& path);  // false: said in notices()
  LoadingRow& loading() { return *m_loading; }
  ToolRow& tools() { return *m_tools; }
  StoredResults& results() { return *m_results; }
  StatusRow& status() { return *m_status; }
  SearchBar& searchBar() { return *m_search; }
  CommandPalette& palette() { return *m_palette; }
  PromptPanel& promptPanel() { return *m_prompt; }
  Page page() const;
  /// As files and the command line call it: "inspect"; another name: inspect.
  static Page pageOf(const QString& name);
  static QString nameOf(Page page);
  /// Why canvases show a sentence instead of a picture; empty if they draw.
  const QString& noPictures() const { return m_no_pictures; }
  AddRunsDialog& addRunsDialog() { return *m_add_runs; }
  PolicyPanel& policyPanel() { return *m_policy; }
  JobsPanel& jobs() { return *m_jobs; }
  LibraryDialog& library() { return *m_library; }
  RecentFiles& recentFiles() { return *m_recent; }
  SweepPanel& sweep() { return *m_sweep; }
  RunQueue& runs() { return m_runs; }
  HandEdits& handEdits() { return m_hand; }
  QUndoStack& undoStack() { return m_undo; }
  Playback& playback() { return m_playback; }
  LectureGuide& guide() { return *m_guide; }
  LecturePage& lecture() { return *m_lecture; }
  LectureRow& lectureRow() { return *m_lecture_row; }
  LectureCaption& caption() { return *m_caption; }
  WelcomePage& welcome() { return *m_welcome; }
  Tour* tour() const { return m_tour; }  // nullptr before the first one
  /// True in the layout Lecture, also while it shows the comparison.
  bool lecturing() const { return m_lecturing; }
  /// How long things take; the HUD (F12) shows it.
  Latency& latency() { return *m_latency; }
  LatencyHud& latencyHud() { return *m_hud; }
  /// Made-up runs, where the options ask for them; nullptr: a model runs.
  SyntheticSource* synthetic() const { return m_synthetic.get(); }
  QPixmap picture();
  /// Of everything that is on screen now, pictures in the light theme.
  Report report();
  /// The canvas that an export means: with the focus, else maximised, else the first of the page; nullptr: none.
  CanvasWidget* exportedCanvas() const;

 public Q_SLOTS:
  void showPage(kvscope::MainWindow::Page page);
  void toggleMaximised(kvscope::Panel* panel);
  void resetLayout();
  void limitSteps(const std::optional<kvscope::viz::StepRange>& steps);  // what statistics count; nullopt: all
  void openFile(const QString& path);  // model folder, session, trace or prompt text
  void addBookmark();
  void goToBookmark(int index);
  void openModel();
  void openSampleLecture();
  void startTour();
  void toggleGhosts();
  void toggleCompare();  // and back to where it was called
  void openPrompt();
  void savePicture();
  void copyPicture();
  void writeReportAs();
  void copyNumbers();
  void showNumbers();
  void offerMenus();
  void addRuns();                     // opens the dialog
  void stopComputing();               // the request, and the run beside the others
  void showJobs();
  void openRun(const QString& spec);  // looks at it in the comparison; runs it first where it is no lane yet
  void setThemeMode(const QString& mode);  // dark | light | system: as the desktop, also when that changes

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void buildPanels();
  void buildInspect();
  void buildMenus();
  void buildFileMenu(QMenu* menu);
  void replacePrompt(const QString& text);  // as if it was typed: an undo brings the old one back
  void buildViewMenu(QMenu* menu);
  void buildRunMenu(QMenu* menu);
  void buildTimeMenu(QMenu* menu);
  void buildCompareMenu(QMenu* menu);
  void buildToolsMenu(QMenu* menu);
  QAction* action(QMenu* menu, const QString& text, const QList<QKeySequence>& keys, std::function<void()> run);
  Panel* addPanel(const QString& id, const QString& title, QWidget* content);
  Panel* addCanvasPanel(viz::View& view);
  void addOptionBoxes(Panel& panel, CanvasWidget& canvas);
  void addHeadBox(Panel& panel);
  // main_window_runs.cpp
  void addSweepPanel();
  void addJobsPanel();
  void selectWantedRun();
  // main_window_hand_edits.cpp
  void addWhatIfPanel();
  void connectAllocation(AllocationCurve& curve);
  // main_window_lecture.cpp
  void buildLecture();
  void buildLectureMenu(QMenu* menu);
  void setLecturing(bool on);
  bool leaveText();
  void applyLectureScale(bool anew);
  void chooseLectureHead();
  void restAtTextEnd();
  // main_window_welcome.cpp
  void buildWelcome();
  bool welcomes() const;
  void offerTour();
  void buildHandMenu(QMenu* menu);
  void offerHandEdits(PromptEditor& editor);
  bool editByKey(int key);
  void arrangeDocks();
  void restoreSettings();
  void takeSnapshot();
  // main_window_library.cpp
  void buildLibrary();
  void keepThumbnail();
  // main_window_latency.cpp
  void measureLatency();
  void toggleHud();
  void startSynthetic();
  void refreshHeaders();
  void applyThemeToAll();
  void requestChanged();
  void back();  // Esc: maximised panel, range of steps, page, play, computing
  void openSession(const SavedSession& session, const QString& path);
  void openSessionFile(const QString& path);
  void sayNotOpened(const QString& why);  // until the next file opens
  // main_window_results.cpp
  void buildResults();
  void keepResults(const QString& path, const SavedSession& written);
  static bool isTrace(const QString& path);
  void openTrace(const QString& path);
  void showResults(const std::shared_ptr<const Trace>& trace, const QString& name);
  void saveNow();  // to its file, or asks for one
  void askAndSaveSession();
  void keepSession();
  void leaveSession();
  void offerRecovery();
  void refreshTitle();
  void goToBookmarkBeside(int direction);
  void buildSessionMenu(QMenu* menu);
  void buildBookmarkMenu(QMenu* menu);
  QDockWidget* dock(const char* id) const;  // of a panel by its id
  void showDock(const char* id);
  void openDock(QDockWidget& dock);  // with room of its own; over a page that is not its own
  kvscope::Panel* panelWithFocus() const;
  void goTo(kvscope::Panel& panel);  // shows it and gives it the keyboard
  void goToNext(int step);           // among those that are visible
  static void focusFirst(QWidget& in);  // of its parts that takes keys
  void endVisits();                  // those that were opened so go back to their places
  void shareHeights();               // of the middle column, as the design has it

  Options m_options;
  StartState m_start;
  Workspace m_workspace;
  SessionController m_controller;
  RunQueue m_runs{m_controller, m_workspace};
  HandEdits m_hand{m_workspace, m_controller};
  std::unique_ptr<CanvasRenderer> m_renderer;
  QString m_no_pictures;
  std::shared_ptr<viz::TokenWindow> m_zoom = std::make_shared<viz::TokenWindow>();
  std::vector<std::unique_ptr<viz::View>> m_views;
  std::vector<CanvasWidget*> m_canvases;
  std::vector<Panel*> m_panels;
  std::vector<QDockWidget*> m_docks, m_visiting;
  QUndoStack m_undo;
  Bookmarks m_bookmarks;
  std::unique_ptr<QSettings> m_settings;  // nullptr: nothing is remembered
  std::unique_ptr<RecentFiles> m_recent;
  std::unique_ptr<Thumbnails> m_thumbnails;
  QString m_unseen;  // a file that was opened and has no picture of its result yet
  std::unique_ptr<SessionJournal> m_journal;
  std::unique_ptr<Latency> m_latency;
  std::unique_ptr<SyntheticSource> m_synthetic;
  std::string m_lecture_text;               // whose end the lecture has been shown
  std::optional<viz::Selection> m_pending;  // of an opened session, until its result is there
  std::unique_ptr<StoredResults> m_results;
  std::optional<SavedSession> m_stored;  // whose results are shown or being read
  QStringList m_stored_notes;            // of what could not be read of that session
  std::function<void(const QString& before)> m_say_view_only;  // why nothing is computed, and the ways on
  QString m_session_path;
  QString m_not_opened;  // what was said last of a file that could not be opened
  bool m_modified = false;
  std::vector<std::string> m_lanes_before;
  int m_generate_before = 0;
  bool m_undoing = false;
  Playback m_playback;
  QString m_theme_mode = "dark";
  std::unique_ptr<DesktopScheme> m_desktop;  // once it was followed
  bool m_start_selected = false;
  bool m_arranged = false;
  Panel* m_maximised = nullptr;
  QByteArray m_before_maximise;

  QWidget* m_menu_row = nullptr;
  QMenuBar* m_menus = nullptr;
  QLabel* m_model_facts = nullptr;
  ToolRow* m_tools = nullptr;
  CrumbRow* m_crumbs = nullptr;
  SearchBar* m_search = nullptr;
  MessageBar* m_messages = nullptr;
  MessageBar* m_notices = nullptr;
  PassingWords* m_passing = nullptr;
  LoadingRow* m_loading = nullptr;
  CommandPalette* m_palette = nullptr;
  BookmarkPanel* m_bookmark_panel = nullptr;
  QWidget* m_progress = nullptr;
  LatencyHud* m_hud = nullptr;
  QStackedWidget* m_pages = nullptr;
  QMainWindow* m_inspect = nullptr;
  StatusRow* m_status = nullptr;
  LectureGuide* m_guide = nullptr;
  LectureDialogs* m_dialogs = nullptr;
  LecturePage* m_lecture = nullptr;
  LectureRow* m_lecture_row = nullptr;
  LectureCaption* m_caption = nullptr;
  CanvasWidget* m_lecture_atlas = nullptr;
  std::vector<QAction*> m_lecture_actions;  // enabled there only
  bool m_lecturing = false;
  double m_lecture_scale = 1;
  int m_ghost_choice = 8, m_scene_before_compare = 0;
  WelcomePage* m_welcome = nullptr;
  Tour* m_tour = nullptr;
  PromptPanel* m_prompt = nullptr;
  PolicyPanel* m_policy = nullptr;
  TablePanel* m_table = nullptr;
  KeyMap* m_key_map = nullptr;
  HelpDialog* m_help = nullptr;
  AddRunsDialog* m_add_runs = nullptr;
  LibraryDialog* m_library = nullptr;
  SweepPanel* m_sweep = nullptr;
  JobsPanel* m_jobs = nullptr;
  int m_failure_said = 0;    // run of the queue whose refusal was said last
  std::string m_wanted_run;  // to be looked at as soon as it is there
  QAction *m_show_inspect = nullptr, *m_show_inspector = nullptr, *m_show_compare = nullptr, *m_show_sweep = nullptr, *m_show_lecture = nullptr;
  QMenu *m_remove_menu = nullptr, *m_hand_menu = nullptr;
  std::vector<QAction*> m_take_out;  // picture and numbers of the view with the focus
};

}  // namespace kvscope
