// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <QFrame>
#include <QPointer>

class QAction;
class QLineEdit;
class QTreeWidget;

namespace kvscope {

/// Every command by name: type some of its letters, arrows choose, Enter does it, Esc goes back to where the focus was. A part of its
/// window and no dialog, so that it can neither block nor get lost behind something.
class CommandPalette : public QFrame {
  Q_OBJECT

 public:
  explicit CommandPalette(QWidget& window);

  QLineEdit& line() { return *m_line; }
  QTreeWidget& list() { return *m_list; }

 public Q_SLOTS:
  void open();
  void dismiss();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Found {
    int rank;   // by words; 0: by letters alone
    int score;  // by letters
    QAction* action;
    std::size_t number;  // of m_commands
    QString also;        // the other name that it was found by
  };
  std::optional<Found> found(std::size_t number, const QString& typed) const;
  void collect();
  void filter();
  void place();
  void shareWidth();
  int wantedWidth() const;
  void run();

  QWidget& m_window;
  QLineEdit* m_line;
  QTreeWidget* m_list;
  std::vector<QPointer<QAction>> m_commands;  // menus are filled anew while it is open
  QPointer<QWidget> m_focus_before;
  int m_wanted = 0;  // px of the list where nothing is cut
};

}  // namespace kvscope
