// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <QFrame>
#include <QPointer>
#include <QTimer>

#include "app/window/rows/search.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QToolButton;

namespace kvscope {

class Workspace;

/// Row under the breadcrumb that finds tokens, heads and events. What is found becomes the selection, so every view shows it.
class SearchBar : public QFrame {
  Q_OBJECT

 public:
  explicit SearchBar(Workspace& workspace, QWidget* parent = nullptr);

  QLineEdit& line() { return *m_line; }
  QComboBox& scope() { return *m_scope; }
  QToolButton& regexButton() { return *m_regex; }
  /// "3 of 17", "none", or why it cannot be searched or was not to its end.
  QString stateText() const;
  /// "also 2 heads, 14 events": what the other scopes have of the same words.
  QString elsewhereText() const;

 public Q_SLOTS:
  void open();
  void dismiss();
  void next() { go(1); }
  void previous() { go(-1); }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void search(bool select);
  /// What events are searched in.
  struct Where {
    int lane = -1;
    std::optional<viz::StepRange> steps;
    bool operator==(const Where&) const = default;
  };
  Where where() const;
  void go(int by);
  void show(const QString& state, bool wrong);
  /// With what was cut of what was found.
  QString noted(const QString& found) const;
  QString place() const;  // "3 of 17"
  void countElsewhere();

  Workspace& m_workspace;
  QComboBox* m_scope;
  QLineEdit* m_line;
  QToolButton *m_regex, *m_case, *m_previous, *m_next, *m_close;
  QLabel *m_state, *m_elsewhere;
  QTimer m_pause, m_again;  // what was typed, and the same elsewhere
  SearchResult m_result;
  Where m_searched;
  int m_at = -1;
  QPointer<QWidget> m_focus_before;
};

}  // namespace kvscope
