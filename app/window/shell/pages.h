// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QObject>
#include <QString>

class QAction;
class QMenu;
class QWidget;

namespace kvscope {

class Commands;
class Panels;
class WindowRows;

/// What has the room between the rows. Views with a page of their own may follow the last.
enum class Page { inspect, inspector, compare, sweep, lecture, welcome };

/// Where places of one panel stand in the window: its layout takes what stands inside the gutters. That is made as a child of the page,
/// because all that is in a widget gets its style anew when it is given to another.
QWidget* pageWithMargins(QWidget* parent);

/// The pages and which of them is shown.
class Pages : public QObject {
  Q_OBJECT

 public:
  explicit Pages(WindowRows& rows);

  /// As files and the command line call it: "inspect".
  struct Entry {
    QString name;
    QWidget* focus = nullptr;  // what has the keyboard there; nullptr: it stays where it is
    QString menu;              // its line in the menu of pages; empty: none
    QString key;
  };
  void add(Page page, QWidget* widget, const Entry& entry);
  /// Panels that have a page each, by what they say of their place.
  void addPanels(const Panels& panels);
  Page page() const;
  bool shows(Page page) const { return this->page() == page; }
  /// The page with this name; another one: inspect.
  Page of(const QString& name) const;
  /// What a file calls the page that is shown. The welcome is no place to come back to.
  QString name() const;
  QWidget* widget(Page page) const;
  void fillMenu(Commands& commands, QMenu* menu);

 public Q_SLOTS:
  void show(kvscope::Page page);

 Q_SIGNALS:
  void aboutToShow(kvscope::Page page);

 private:
  struct Known {
    Page page;
    QWidget* widget;
    Entry entry;
    QAction* action = nullptr;
  };
  Known* find(Page page);
  const Known* find(Page page) const { return const_cast<Pages*>(this)->find(page); }

  WindowRows& m_rows;
  std::vector<Known> m_known;
};

}  // namespace kvscope
