// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/stores/store_chart.h"

#include <algorithm>
#include <cmath>

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/draw.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {

constexpr double kReach = 11;          // pixels around a marker that count as it
constexpr std::size_t kMostBands = 3;  // that can be told apart

}  // namespace

StoreChart::StoreChart(Workspace& workspace, const StoreData& store, QWidget* parent)
    : QWidget(parent), m_workspace(workspace), m_data(store), m_measure(storeMeasures().data()), m_theme(&workspace.theme()) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setAccessibleName("Quality and budget over many texts");
  for (auto signal : {&Workspace::themeChanged, &Workspace::snapshotChanged})  // the runs on screen say how theirs look
    connect(&workspace, signal, this, [this] { update(); });
}

void StoreChart::setMeasure(const StoreMeasure& measure) {
  m_measure = &measure;
  refresh();
}

void StoreChart::setDepths(bool on) {
  m_depths = on;
  refresh();
}

void StoreChart::refresh() {
  setAccessibleDescription(
      QStringList({m_depths ? "share of the answers found, by depth and budget" : m_measure->name, m_data.overThere()}).join("; ") + "; " +
      m_data.state().join("; "));
  update();
}

std::vector<CurveLook> StoreChart::looks() const {
  std::vector<std::string> policies;
  for (const StoreCurve& curve : m_data.curves()) policies.push_back(curve.policy);
  return looksOf(policies, m_workspace.snapshot());
}

void StoreChart::point(int run) {
  if (run == m_current) return;
  m_current = run;
  update();
}

bool StoreChart::isPointedAt(std::size_t curve) const {
  return std::ranges::any_of(m_data.curves()[curve].marks, [this](const StoreMark& m) { return static_cast<int>(m.run) == m_current; });
}

bool StoreChart::showsAllBands() const { return m_measure->band && m_data.curves().size() <= kMostBands; }

bool StoreChart::showsBand(std::size_t curve) const { return showsAllBands() || (m_measure->band && isPointedAt(curve)); }

QString StoreChart::bandWords(bool on_screen) const {
  if (!m_measure->band) return {};
  if (showsAllBands()) return ", band from the lowest to the highest";
  for (std::size_t c = 0; c < m_data.curves().size(); ++c)
    if (isPointedAt(c)) return QString(", band of %1 from the lowest to the highest").arg(m_data.curves()[c].title);
  return on_screen ? ", the curve pointed at has its band" : "";
}

QColor StoreChart::colourOf(std::size_t curve, const CurveLook& look) const { return look.colour(*m_theme, isPointedAt(curve)); }

StoreChart::Layout StoreChart::layout(const QRect& area) const {
  Layout out;
  const QFontMetricsF names(uiFont(12, true));
  double widest = QFontMetricsF(uiFont(11)).horizontalAdvance(m_data.budgetWords());
  for (const StoreCurve& curve : m_data.curves()) widest = std::max(widest, names.horizontalAdvance(curve.title));
  out.plot = QRectF(area).adjusted(66, 40, -(30 + std::min(widest, 150.0)), -46);
  out.right = area.right();
  out.looks = looks();
  std::vector<double> xs, ys;
  const auto add = [&](const StoreMark& mark) {
    const Statistics& s = mark.band.figure(m_measure->figure);
    ys.insert(ys.end(), {s.mean(), s.min, s.max});
  };
  for (const StoreCurve& curve : m_data.curves())
    for (const StoreMark& mark : curve.marks) xs.push_back(mark.ratio), add(mark);
  if (m_data.full()) add(*m_data.full());
  double low = INFINITY, high = 0;
  for (const double v : ys)
    if (v > 0) low = std::min(low, v), high = std::max(high, v);
  const bool share = m_measure->kind == StoreMeasure::Kind::share;
  if (share) ys.push_back(1);
  out.x = AxisScale(xs, true, false);
  out.y = AxisScale(ys, !share && std::isfinite(low) && viz::spans_two_decades(low, high), true);
  for (std::size_t c = 0; c < m_data.curves().size(); ++c)
    for (const StoreMark& mark : m_data.curves()[c].marks) {
      const double value = mark.band.figure(m_measure->figure).mean();
      if (std::isnan(value)) continue;
      out.places.push_back({c, &mark, QPointF(out.plot.left() + out.x.at(mark.ratio) * out.plot.width(), 0)});
      out.places.back().at.setY(out.plot.bottom() - out.y.at(value) * out.plot.height());
    }
  return out;
}

/// One map per curve, side by side and then below each other; the full cache is the last column of each.
std::vector<StoreChart::Cell> StoreChart::cells(const QRect& area) const {
  std::vector<Cell> out;
  const auto n = m_data.curves().size();
  const std::vector<std::size_t> depths = m_data.depths();
  if (n == 0 || depths.empty()) return out;
  const std::size_t across = std::min<std::size_t>(n, std::max(1, area.width() / 330)), down = (n + across - 1) / across;
  const double width = static_cast<double>(area.width()) / static_cast<double>(across),
               height = static_cast<double>(area.height() - 24) / static_cast<double>(down);
  for (std::size_t c = 0; c < n; ++c) {
    const QRectF map(area.left() + static_cast<double>(c % across) * width + 76,
                     area.top() + 24 + static_cast<double>(c / across) * height + 30, width - 92, height - 68);
    std::vector<const StoreMark*> marks;
    for (const StoreMark& mark : m_data.curves()[c].marks) marks.push_back(&mark);
    if (m_data.full()) marks.push_back(&*m_data.full());
    const double w = map.width() / static_cast<double>(marks.size()), h = std::min(map.height() / static_cast<double>(depths.size()), 64.0);
    for (std::size_t m = 0; m < marks.size(); ++m)
      for (std::size_t d = 0; d < depths.size(); ++d)
        out.push_back(
            {c, marks[m], depths[d],
             QRectF(map.left() + static_cast<double>(m) * w, map.top() + static_cast<double>(d) * h, w, h).adjusted(1, 1, -1, -1)});
  }
  return out;
}

QPointF StoreChart::markerOf(std::size_t run) const {
  const Layout shown = layout(rect());
  const auto found = std::ranges::find_if(shown.places, [run](const Place& p) { return p.mark->run == run; });
  return found == shown.places.end() ? QPointF() : found->at;
}

QPointF StoreChart::cellOf(std::size_t run, std::size_t depth) const {
  for (const Cell& cell : cells(rect()))
    if (cell.mark->run == run && cell.depth == depth) return cell.at.center();
  return {};
}

const StoreChart::Place* StoreChart::under(const QPointF& at, const Layout& shown) const {
  const Place* best = nullptr;
  double nearest = kReach;
  for (const Place& p : shown.places)
    if (const double d = std::hypot(p.at.x() - at.x(), p.at.y() - at.y()); d < nearest) nearest = d, best = &p;
  return best;
}

QString StoreChart::words(const QPointF& at) const {
  if (!m_depths) {
    const Layout shown = layout(rect());
    const Place* place = under(at, shown);
    return place ? m_data.describe(m_data.curves()[place->curve], *place->mark, *m_measure).join('\n') : QString();
  }
  for (const Cell& cell : cells(rect())) {
    if (!cell.at.contains(at)) continue;
    const Statistics& s = cell.mark->depths[cell.depth];
    const bool full = m_data.full() && cell.mark == &*m_data.full();
    const QString share = s.n == 0 ? QString("n/a: no item with an answer there yet")
                                   : QString("answers found %1, mean of %2").arg(qs(viz::format_percent(s.mean()))).arg(s.n);
    return QString("%1\nanswer in the fifth of the context from %2 % on\n%3")
        .arg(full ? QString("Full cache") : QString("%1, %2").arg(m_data.curves()[cell.curve].title, StoreData::budgetInWords(*cell.mark)))
        .arg(cell.depth * 100 / kSweepDepths)
        .arg(share);
  }
  return {};
}

void StoreChart::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  m_theme = &m_workspace.theme();
  paintOn(painter, rect(), /*on_screen=*/true);
  if (!hasFocus()) return;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(toColor(m_workspace.theme().accent), 1));
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

void StoreChart::mouseMoveEvent(QMouseEvent* event) {
  int run = -1;
  if (!m_depths) {
    const Layout shown = layout(rect());
    if (const Place* place = under(event->position(), shown)) run = static_cast<int>(place->mark->run);
  }
  if (run == m_current) return;
  m_current = run;
  update();
  Q_EMIT pointed(run);
}

void StoreChart::leaveEvent(QEvent*) {
  if (hasFocus()) return;  // the keyboard's place stays
  m_current = -1;
  update();
  Q_EMIT pointed(-1);
}

void StoreChart::keyPressEvent(QKeyEvent* event) {
  const Layout shown = layout(rect());
  const int step = event->key() == Qt::Key_Left ? -1 : event->key() == Qt::Key_Right ? 1 : 0;
  const bool curve = event->key() == Qt::Key_Up || event->key() == Qt::Key_Down;
  if (m_depths || shown.places.empty() || (step == 0 && !curve)) return QWidget::keyPressEvent(event);
  const auto now = std::ranges::find_if(shown.places, [this](const Place& p) { return static_cast<int>(p.mark->run) == m_current; });
  auto to = now == shown.places.end() ? shown.places.begin() : now;
  if (now != shown.places.end()) {
    const auto other = [&](const Place& p) { return p.curve != now->curve; };
    if (step > 0 && now + 1 != shown.places.end() && !other(*(now + 1))) to = now + 1;
    if (step < 0 && now != shown.places.begin() && !other(*(now - 1))) to = now - 1;
    if (event->key() == Qt::Key_Down) to = std::find_if(now, shown.places.end(), other);
    if (event->key() == Qt::Key_Up) {
      const auto before = std::find_if(std::make_reverse_iterator(now), shown.places.rend(), other);
      to = before == shown.places.rend()
               ? now
               : std::find_if(shown.places.begin(), now, [&](const Place& p) { return p.curve == before->curve; });
    }
    if (to == shown.places.end()) to = now;
  }
  m_current = static_cast<int>(to->mark->run);
  setAccessibleDescription(m_data.describe(m_data.curves()[to->curve], *to->mark, *m_measure).join("; "));
  update();
  Q_EMIT pointed(m_current);
}

bool StoreChart::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const QString text = words(QPointF(help->pos()));
  text.isEmpty() ? QToolTip::hideText() : QToolTip::showText(help->globalPos(), text, this);
  return true;
}

}  // namespace kvscope
