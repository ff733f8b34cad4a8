// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QObject>
#include <QPointer>
#include <QWidget>

namespace kvscope {

class Pages;
class Panels;
class Tour;
class WelcomePage;
class WindowRows;
struct WindowModel;

/// What a start without files offers: the welcome, and a tour over the layout Inspect.
class FirstSteps : public QObject {
  Q_OBJECT

 public:
  FirstSteps(WindowModel& model, WindowRows& rows, Pages& pages, const Panels& panels);

  WelcomePage& welcome() { return *m_welcome; }
  Tour* tour() const { return m_tour; }  // nullptr before the first one
  /// The program begins here.
  bool welcomes() const;
  bool touring() const;
  void endTour();

 public Q_SLOTS:
  /// Six stops over the layout Inspect, which it shows.
  void startTour();

 Q_SIGNALS:
  /// The tour went with the focus on it.
  void focusLeft();

 private:
  WindowModel& m_model;
  WindowRows& m_rows;
  Pages& m_pages;
  const Panels& m_panels;
  WelcomePage* m_welcome;
  Tour* m_tour = nullptr;
  std::vector<QPointer<QWidget>> m_in_front;  // panels, before the tour
};

}  // namespace kvscope
