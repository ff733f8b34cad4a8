// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include <QWidget>

#include "app/window/panels/runs/curve_paint.h"
#include "app/window/panels/runs/sweep_breaks.h"
#include "app/window/panels/runs/sweep_data.h"
#include "app/window/panels/runs/sweep_scale.h"

namespace kvscope {

class Workspace;

inline constexpr double kLongestName = 150;  // pixels of a curve's name beside it; the whole one is in its tooltip

/// Quality against budget: a curve per policy. Solid markers are measured, hollow ones are not yet; their place is on the line between
/// measured neighbours or at the foot, and says nothing.
class SweepChart : public QWidget {
  Q_OBJECT

 public:
  SweepChart(Workspace& workspace, const SweepData& sweep, QWidget* parent = nullptr);

  SweepMetric metric() const { return m_metric; }
  void setMetric(SweepMetric metric);
  /// What stands along the budget: the slots asked for, those really held at the end, those asked as a share of the prompt's tokens, or
  /// the bytes used at the end.
  enum class Budget : std::uint8_t { asked, held, share, bytes };
  Budget budget() const { return m_budget; }
  void setBudget(Budget budget);
  /// What the numbers along it are, in two lines.
  QStringList budgetWords() const;
  void setLogX(bool on);
  void setLogY(bool on);
  void refresh();
  /// Where the marker of a run is; a null point: nowhere.
  QPointF markerOf(const std::string& spec) const;
  /// The marks of where the runs on screen begin to answer, in the picture.
  std::vector<SweepBreak> breaks() const { return layout(rect()).breaks; }
  /// Run of the keyboard's cursor; empty: none.
  const std::string& current() const { return m_current; }
  QImage picture(const QSize& size, double scale, const viz::Theme& theme) const;
  QSize minimumSizeHint() const override { return {320, 220}; }

 Q_SIGNALS:
  void opened(const QString& spec);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Place {
    int series = 0;
    const SweepMark* mark = nullptr;
    QPointF at;
    bool measured = false;
  };
  struct Layout {
    QRectF plot;
    std::vector<SweepSeries> series;
    std::vector<CurveLook> looks;            // by series
    std::vector<std::vector<Place>> places;  // by series
    std::vector<SweepBreak> breaks;
    AxisScale x{{}, false, false}, y{{}, false, false};
    bool measured() const;  // one at least
  };
  Layout layout(const QRect& area) const;
  void paintOn(QPainter& painter, const QRect& area) const;
  double x(const SweepMark& mark) const;
  double x(const SweepBreak& at) const;
  QStringList budgetLines(const SweepMark& mark) const;
  int under(const QPointF& at, const Layout& shown) const;  // index in a flat list of places; -1: none
  QString describe(const SweepSeries& series, const SweepMark& mark) const;
  void paintAxes(QPainter& painter, const Layout& shown) const;
  void paintBudgets(QPainter& painter, const Layout& shown) const;
  double bytesOfSlots(double n) const;  // in full precision, of all heads
  void paintMeasured(QPainter& painter, const Layout& shown) const;
  void paintCurve(QPainter& painter, const Layout& shown, std::size_t series, bool faint) const;
  void paintLabels(QPainter& painter, const Layout& shown) const;
  QColor colourOf(const Layout& shown, std::size_t series) const;

  Workspace& m_workspace;
  const SweepData& m_data;
  mutable const viz::Theme* m_theme;  // that paintOn() draws in
  SweepMetric m_metric = SweepMetric::mean_kl;
  Budget m_budget = Budget::asked;
  bool m_log_x = true, m_log_y = true;
  std::string m_hovered;  // policy
  std::string m_current;  // run
};

}  // namespace kvscope
