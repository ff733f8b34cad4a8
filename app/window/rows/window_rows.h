// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <QObject>

class QBoxLayout;
class QLabel;
class QMainWindow;
class QMenuBar;
class QStackedWidget;
class QWidget;

namespace kvscope {

namespace viz {
struct TokenWindow;
}

class CrumbRow;
class ElidedLabel;
class LoadingRow;
class MessageBar;
class PassingWords;
class SearchBar;
class StatusRow;
class ToolRow;
struct WindowModel;

/// The rows of the window from its menus down to the status, with the pages between them.
class WindowRows : public QObject {
  Q_OBJECT

 public:
  WindowRows(QMainWindow& window, WindowModel& model, const std::shared_ptr<viz::TokenWindow>& zoom);

  QWidget* central() const { return m_central; }
  QMenuBar& menus() const { return *m_menus; }
  ToolRow& tools() const { return *m_tools; }
  CrumbRow& crumbs() const { return *m_crumbs; }
  SearchBar& search() const { return *m_search; }
  /// What is said about files; stays until it is dismissed, whatever is computed meanwhile.
  MessageBar& notices() const { return *m_notices; }
  MessageBar& messages() const { return *m_messages; }
  LoadingRow& loading() const { return *m_loading; }
  QStackedWidget& pages() const { return *m_pages; }
  StatusRow& status() const { return *m_status; }
  /// Words over the pages that go away by themselves, and where another text is opened.
  PassingWords& passing() const { return *m_passing; }
  void say(const QString& passing_words);
  /// Right above the pages, or right below them.
  void insertAbovePages(QWidget* row);
  void insertBelowPages(QWidget* row);
  /// Menus, tools, crumbs and status give way to `row`; nullptr: they are back.
  void replaceBy(QWidget* row);
  /// Stands in the corner under the rows, whatever their height is.
  void setOverlay(QWidget* overlay) { m_overlay = overlay; }
  void placeOverlays();

 private:
  /// True where it is another one than before.
  bool takeText();

  WindowModel& m_model;
  std::string m_prompt;  // of the request
  std::vector<int> m_prompt_ids;
  QWidget* m_central;
  QBoxLayout* m_rows;
  QWidget* m_menu_row;
  QMenuBar* m_menus;
  QLabel* m_model_name;
  ElidedLabel* m_model_facts;
  ToolRow* m_tools;
  CrumbRow* m_crumbs;
  SearchBar* m_search;
  MessageBar *m_notices, *m_messages;
  LoadingRow* m_loading;
  QStackedWidget* m_pages;
  StatusRow* m_status;
  PassingWords* m_passing;
  QWidget* m_progress;
  QWidget *m_overlay = nullptr, *m_instead = nullptr;
};

}  // namespace kvscope
