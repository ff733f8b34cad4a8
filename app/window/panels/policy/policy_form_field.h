// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <QObject>

#include "policy/catalog.h"

class QAbstractSpinBox;
class QComboBox;
class QGridLayout;
class QLabel;
class QLineEdit;
class QToolButton;
class QWidget;

namespace kvscope {

/// One parameter as a row of the form: name, the widget that fits its kind, and a button back to the default while it is changed; in a
/// second row why what stands in it is refused, or what the run took of it.
class ParamEditor : public QObject {
  Q_OBJECT

 public:
  static constexpr int kRows = 2;  // of the grid
  /// Lets a list of choices be narrower than the longest of them.
  static void giveWay(QComboBox& box);
  ParamEditor(const ParamInfo& info, QWidget* form, QGridLayout& grid, int row);
  ~ParamEditor() override;
  /// Deletes it while the form stays. A form that goes takes its fields with it.
  void takeAway();

  const ParamInfo& info() const { return m_info; }
  QWidget* widget() const { return m_widget; }
  QToolButton* resetButton() const { return m_reset; }
  /// Moves it to another row of the form.
  void place(QGridLayout& grid, int row);
  /// Shows a value; "" means the default. Leaves a field alone in which the user is typing the same value. `in_force`: what the run that
  /// is on the screen took for it, "" while that is not known; said where it is another count.
  void show(const std::string& given, const std::string& in_force = "");
  bool changed() const { return m_changed; }
  /// Says why what stands in the field is not taken, until it is or another value comes; empty: it is.
  void refuse(const QString& why);
  QString refusal() const { return m_refusal; }
  /// What was being typed was of another run or head.
  void endTyping() { m_typing = false; }

 Q_SIGNALS:
  /// The text of the new value; "": back to the default.
  void edited(const QString& value);
  /// A text is being typed, not sent yet.
  void typed(const QString& value);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QWidget* makeWidget(QWidget* form);
  QString toolTip() const;
  void watchTyping(QAbstractSpinBox& box);
  bool typing() const;
  void say();

  ParamInfo m_info;
  QLabel* m_name;
  QWidget* m_widget;
  QToolButton* m_reset;
  QLabel* m_why;
  QString m_refusal, m_in_force;
  std::string m_given;  // what is shown
  bool m_changed = false;
  bool m_showing = false;
  bool m_typing = false;  // since the last Enter, or since it has the focus
};

/// Of a form that may be longer than its panel.
void bringIntoSight(QWidget& widget);

}  // namespace kvscope
