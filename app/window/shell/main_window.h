// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <QMainWindow>

#include "app/window/canvas/canvases.h"
#include "app/window/commands/command_table.h"
#include "app/window/diagnostics/window_latency.h"
#include "app/window/files/document.h"
#include "app/window/files/export_actions.h"
#include "app/window/files/library.h"
#include "app/window/help/first_steps.h"
#include "app/window/lecture/lecture_mode.h"
#include "app/window/look/theme_mode.h"
#include "app/window/panels/runs/bookmark_actions.h"
#include "app/window/panels/runs/run_actions.h"
#include "app/window/panels/runs/what_if_actions.h"
#include "app/window/rows/run_messages.h"
#include "app/window/rows/window_rows.h"
#include "app/window/session/start_place.h"
#include "app/window/session/undo/runs_undo.h"
#include "app/window/session/window_model.h"
#include "app/window/shell/inspect_page.h"
#include "app/window/shell/pages.h"
#include "app/window/shell/panels.h"
#include "app/window/shell/view_panels.h"
#include "app/window/shell/work_panels.h"

namespace kvscope {

class CommandPalette;
class HelpDialog;
class KeyMap;

/// The window: rows, and between them the pages, over one model. It makes the parts in their order and says who hears whom; what they do is
/// theirs.
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  using Page = kvscope::Page;

  MainWindow(const Options& options, const StartState& start);
  ~MainWindow() override;

  WindowModel& model() { return m_model; }
  Canvases& views() { return m_canvases; }
  Panels& panels() { return m_panels; }
  WindowRows& rows() { return *m_rows; }
  const StartPlace& place() const { return m_place; }
  Pages& pages() { return *m_pages; }
  WorkPanels& work() { return *m_work; }
  BookmarkActions& bookmarkActions() { return *m_bookmark_actions; }
  WhatIfActions& whatIf() { return *m_what_if; }
  RunActions& runActions() { return *m_run_actions; }
  ViewPanels& viewPanels() { return *m_view_panels; }
  InspectPage& inspect() { return *m_inspect; }
  LectureMode& lectureMode() { return *m_lecture; }
  FirstSteps& firstSteps() { return *m_first_steps; }
  WindowLatency& timing() { return *m_latency; }
  Library& files() { return *m_library; }
  RunsUndo& runsUndo() { return *m_runs_undo; }
  Document& document() { return *m_document; }
  ExportActions& exports() { return *m_exports; }
  ThemeMode& theme() { return *m_theme; }
  CommandPalette& palette() { return *m_palette; }
  HelpDialog& help();  // made when it is first wanted

  // What scripts and tests ask for most.
  Workspace& workspace() { return m_model.workspace; }
  SessionController& controller() { return m_model.controller; }
  CanvasWidget* canvas(const std::string& id) const { return m_canvases.of(id); }  // nullptr: no such view
  Panel* panel(const QString& id) const { return m_panels.of(id); }
  Page page() const { return m_pages->page(); }
  MessageBar& messages() { return m_rows->messages(); }
  MessageBar& notices() { return m_rows->notices(); }

 public Q_SLOTS:
  void showPage(kvscope::Page page) { m_pages->show(page); }
  void openFile(const QString& path) { m_document->openFile(path); }
  void replacePrompt(const QString& text);  // as if it was typed: an undo brings the old one back

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  bool event(QEvent* event) override;
  bool focusNextPrevChild(bool next) override {
    return InspectPage::focusSeen([this, next] { return QMainWindow::focusNextPrevChild(next); });
  }

 private:
  void makePanels();
  void makeActions();
  void connectParts();
  void connectAnswers();
  void begin();
  void takeSnapshot();

  WindowModel m_model;
  Canvases m_canvases{m_model.workspace, std::make_shared<viz::TokenWindow>()};
  Panels m_panels{m_model.workspace, *this};
  StartPlace m_place{m_model};
  std::unique_ptr<ThemeMode> m_theme;
  std::unique_ptr<WindowRows> m_rows;
  std::unique_ptr<Pages> m_pages;
  std::unique_ptr<WorkPanels> m_work;
  std::unique_ptr<BookmarkActions> m_bookmark_actions;
  std::unique_ptr<WhatIfActions> m_what_if;
  std::unique_ptr<RunActions> m_run_actions;
  std::unique_ptr<ViewPanels> m_view_panels;
  std::unique_ptr<InspectPage> m_inspect;
  std::unique_ptr<LectureMode> m_lecture;
  std::unique_ptr<FirstSteps> m_first_steps;
  std::unique_ptr<WindowLatency> m_latency;
  std::unique_ptr<Library> m_library;
  std::unique_ptr<RunsUndo> m_runs_undo;
  std::unique_ptr<Document> m_document;
  std::unique_ptr<ExportActions> m_exports;
  std::unique_ptr<RunMessages> m_run_messages;
  std::unique_ptr<KeyMap> m_key_map;
  CommandPalette* m_palette = nullptr;
  std::unique_ptr<HelpDialog> m_help;
  bool m_arranged = false;
};

}  // namespace kvscope
