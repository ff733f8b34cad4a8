// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include <QDockWidget>
#include <QFrame>
#include <QLabel>

#include "app/window/look/style.h"
#include "viz/place.h"

class QBoxLayout;
class QPushButton;
class QToolButton;

namespace kvscope {

namespace viz {
struct Theme;
}

/// One line of facts, "a · b · c", that gives way to its neighbours: it shows as many as fit (factsThatFit), all of them stand in the
/// tooltip.
class ElidedLabel : public QWidget {
  Q_OBJECT

 public:
  explicit ElidedLabel(QWidget* parent = nullptr);
  void setText(const QString& text);
  const QString& text() const { return m_text; }
  /// What of it is to be read now.
  QString shown() const;
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString m_text;
};

/// Frame of a panel: 34 px header (title, facts, controls, maximise) over the content. In the Inspect layout header and body are the parts
/// of a dock; on the pages of one panel they stand in a column.
class Panel : public QObject {
  Q_OBJECT

 public:
  Panel(const QString& id, const QString& title, QWidget* content, const viz::Place& place, QObject* parent);

  const QString& id() const { return m_id; }
  const viz::Place& place() const { return m_place; }
  QString title() const;
  QWidget* content() const { return m_content; }
  QFrame* header() const { return m_header; }
  QFrame* body() const { return m_body; }
  /// Controls at the right of the header, before the maximise button.
  void addControl(QWidget* control);
  /// Anything right after the title.
  void addLeading(QWidget* widget);
  /// Icon button right after the title.
  QToolButton* addButton(Icon which, const QString& help);
  /// A cross at the right end, for a panel that is opened now and then.
  void offerClose();
  void setButtonIcon(QToolButton* button, Icon which);
  void setTitle(const QString& title);
  void setFacts(const QString& facts);
  /// A limit that holds for what the panel shows, with a cross that takes it away; empty: none.
  void setBadge(const QString& text, const QString& help);
  void setMaximised(bool maximised);
  void applyTheme(const viz::Theme& theme);

  /// A dock that holds the panel.
  QDockWidget* makeDock(QWidget* parent);
  /// The panel as an ordinary widget.
  QWidget* makePage(QWidget* parent);

 Q_SIGNALS:
  void maximiseRequested();
  void closeRequested();
  void badgeClicked();

 private:
  QString m_id;
  viz::Place m_place;
  QWidget* m_content;
  QFrame* m_header;
  QFrame* m_body;
  QLabel* m_title;
  ElidedLabel* m_facts;
  QBoxLayout* m_controls;
  QBoxLayout* m_leading;
  QToolButton* m_maximise;
  QPushButton* m_badge;
  bool m_maximised = false;
  std::vector<std::pair<QToolButton*, Icon>> m_buttons;
  QColor m_colour, m_disabled;
};

}  // namespace kvscope
