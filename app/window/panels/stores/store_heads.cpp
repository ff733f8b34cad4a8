// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/stores/store_heads.h"

#include <algorithm>
#include <cmath>

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"

namespace kvscope {

namespace {

constexpr double kLeft = 14, kTop = 60;              // of the first grid's row
constexpr double kLayerNames = 30, kHeadNames = 34;  // beside and above a grid
constexpr double kGap = 14;
constexpr double kWidest = 84, kHighest = 26;  // of a cell
constexpr double kRoomForCount = 40, kCountWide = 20, kCountHigh = 11;
constexpr double kLine = 13;  // of names

QColor colourOf(const viz::Theme& theme, Category category) { return toColor(theme.category[static_cast<std::size_t>(category)]); }

}  // namespace

StoreHeads::StoreHeads(Workspace& workspace, const StoreData& store, QWidget* parent)
    : QWidget(parent), m_workspace(workspace), m_data(store) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setAccessibleName("What became of the answers, by head");
  connect(&workspace, &Workspace::themeChanged, this, [this] { update(); });
}

void StoreHeads::setMoment(StoreMoment moment) {
  m_moment = moment;
  refresh();
}

void StoreHeads::refresh() {
  setAccessibleDescription(
      QStringList({m_data.knowsHeads() ? "a grid of layers and KV heads per run; arrow keys go through the heads, Page up "
                                         "and Page down through the runs"
                                       : "nothing is known",
                   m_data.over()})
          .join("; "));
  update();
}

QRectF StoreHeads::Grid::cell(int head) const {
  const SweepHeads& of = mark->heads;
  const double w = at.width() / of.n_kv_heads, h = at.height() / of.n_layers;
  return {at.left() + head % of.n_kv_heads * w, at.top() + std::floor(head / of.n_kv_heads) * h, w, h};
}

/// A row per policy, a column per budget. All cells are of one size.
std::vector<StoreHeads::Grid> StoreHeads::grids(const QRect& area) const {
  std::vector<Grid> out;
  std::size_t rows = 0, columns = 0;
  const SweepHeads* of = nullptr;
  for (const StoreCurve& curve : m_data.curves()) {
    std::size_t n = 0;
    for (const StoreMark& mark : curve.marks)
      if (mark.heads.n > 0) ++n, of = &mark.heads;
    columns = std::max(columns, n);
    rows += n > 0;
  }
  if (!of) return out;
  const double width = (area.width() - 2 * kLeft) / static_cast<double>(columns) - kLayerNames - kGap,
               height = (area.height() - kTop) / static_cast<double>(rows) - kHeadNames - kGap;
  const QSizeF size(std::clamp(width / of->n_kv_heads, 1.0, kWidest) * of->n_kv_heads,
                    std::clamp(height / of->n_layers, 1.0, kHighest) * of->n_layers);
  double y = area.top() + kTop + kHeadNames;
  for (const StoreCurve& curve : m_data.curves()) {
    double x = area.left() + kLeft + kLayerNames;
    for (const StoreMark& mark : curve.marks) {
      if (mark.heads.n == 0) continue;
      out.push_back({&curve, &mark, QRectF(QPointF(x, y), size), x == area.left() + kLeft + kLayerNames});
      x += size.width() + kLayerNames + kGap;
    }
    if (x > area.left() + kLeft + kLayerNames) y += size.height() + kHeadNames + kGap;
  }
  return out;
}

QPointF StoreHeads::cellOf(std::size_t run, int head) const {
  for (const Grid& grid : grids(rect()))
    if (grid.mark->run == run) return grid.cell(head).center();
  return {};
}

std::optional<StoreHeads::Place> StoreHeads::under(const QPointF& at, const std::vector<Grid>& shown) const {
  for (std::size_t g = 0; g < shown.size(); ++g) {
    if (!shown[g].at.contains(at)) continue;
    const int n = shown[g].mark->heads.n_layers * shown[g].mark->heads.n_kv_heads;
    for (int head = 0; head < n; ++head)
      if (shown[g].cell(head).contains(at)) return Place{g, head};
  }
  return std::nullopt;
}

QString StoreHeads::wordsOf(const Grid& grid, int head) const {
  const SweepHeads& of = grid.mark->heads;
  const HeadAnswers& answers = headsAt(of, m_moment)[static_cast<std::size_t>(head)];
  const bool one_seed = m_data.contents().seeds.size() == 1;
  return QString("%1, %2 of the prompt; layer %3, KV head %4\n%5: answer kept in %6 of %7 %8, merged in %9, evicted in %10")
      .arg(grid.curve->title, StoreData::budgetOf(*grid.mark))
      .arg(head / of.n_kv_heads)
      .arg(head % of.n_kv_heads)
      .arg(momentWords(m_moment))
      .arg(answers.kept)
      .arg(of.n)
      .arg(one_seed ? "texts" : "texts and seeds")
      .arg(answers.merged)
      .arg(answers.evicted);
}

QString StoreHeads::words(const QPointF& at) const {
  const std::vector<Grid> shown = grids(rect());
  const std::optional<Place> place = under(at, shown);
  return place ? wordsOf(shown[place->grid], place->head) : QString();
}

void StoreHeads::point(std::optional<Place> place, const std::vector<Grid>& shown) {
  if (place == m_at) return;
  m_at = place;
  update();
  Q_EMIT pointed(place ? static_cast<int>(shown[place->grid].mark->run) : -1);
}

void StoreHeads::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const viz::Theme& theme = m_workspace.theme();
  paintOn(painter, rect(), theme);
  painter.setBrush(Qt::NoBrush);
  const std::vector<Grid> shown = grids(rect());
  if (m_at && m_at->grid < shown.size()) {
    painter.setPen(QPen(toColor(theme.accent), 2));
    painter.drawRect(shown[m_at->grid].cell(m_at->head));
  }
  if (!hasFocus()) return;
  painter.setPen(QPen(toColor(theme.accent), 1));
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

void StoreHeads::mouseMoveEvent(QMouseEvent* event) {
  const std::vector<Grid> shown = grids(rect());
  point(under(event->position(), shown), shown);
}

void StoreHeads::leaveEvent(QEvent*) {
  if (!hasFocus()) point(std::nullopt, {});  // the keyboard's place stays
}

/// Past the edge of a grid lies the one beside it.
void StoreHeads::keyPressEvent(QKeyEvent* event) {
  const std::vector<Grid> shown = grids(rect());
  const int key = event->key();
  const int across = key == Qt::Key_Left    ? -1
                     : key == Qt::Key_Right ? 1
                                            : 0,
            down = key == Qt::Key_Up     ? -1
                   : key == Qt::Key_Down ? 1
                                         : 0,
            turn = key == Qt::Key_PageUp     ? -1
                   : key == Qt::Key_PageDown ? 1
                                             : 0;
  if (shown.empty() || (across == 0 && down == 0 && turn == 0)) return QWidget::keyPressEvent(event);
  Place to = m_at && m_at->grid < shown.size() ? *m_at : Place{};
  if (m_at) {
    const SweepHeads& of = shown[to.grid].mark->heads;
    int layer = to.head / of.n_kv_heads, head = to.head % of.n_kv_heads + across, grid = static_cast<int>(to.grid) + turn;
    layer = std::clamp(layer + down, 0, of.n_layers - 1);
    if (head < 0 || head >= of.n_kv_heads) grid += across;
    if (grid < 0 || grid >= static_cast<int>(shown.size())) return;
    head = head < 0 ? of.n_kv_heads - 1 : head >= of.n_kv_heads ? 0 : head;
    to = {static_cast<std::size_t>(grid), layer * of.n_kv_heads + head};
  }
  point(to, shown);
  setAccessibleDescription(wordsOf(shown[to.grid], to.head));
}

bool StoreHeads::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const QString text = words(QPointF(help->pos()));
  text.isEmpty() ? QToolTip::hideText() : QToolTip::showText(help->globalPos(), text, this);
  return true;
}

QImage StoreHeads::picture(const QSize& size, double scale, const viz::Theme& theme) const {
  QImage image(size * scale, QImage::Format_RGB32);
  image.setDevicePixelRatio(scale);
  QPainter painter(&image);
  paintOn(painter, QRect(QPoint(0, 0), size), theme);
  return image;
}

void StoreHeads::paintOn(QPainter& painter, const QRect& area, const viz::Theme& theme) const {
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(area, toColor(theme.panel));
  const std::vector<Grid> shown = grids(area);
  if (shown.empty()) {
    painter.setFont(uiFont(13));
    painter.setPen(toColor(theme.secondary));
    painter.drawText(area.adjusted(40, 0, -40, 0), Qt::AlignCenter | Qt::TextWordWrap,
                     m_data.nThere() == 0
                         ? "No item is there yet."
                         : "What became of the answers is not known: the texts have none, or none that stands in one place "
                           "of its context, or an earlier version filled the store.");
    return;
  }
  paintLegend(painter, area, theme);
  for (const Grid& grid : shown) {
    paintGrid(painter, grid, theme);
    paintNames(painter, grid, theme);
  }
}

void StoreHeads::paintLegend(QPainter& painter, const QRect& area, const viz::Theme& theme) const {
  const QFont bold = uiFont(12, true), caption = uiFont(11);
  double x = area.left() + kLeft, y = area.top() + 10;
  painter.setFont(bold);
  painter.setPen(toColor(theme.text));
  const QString title = "answers by head";
  painter.drawText(QRectF(x, y, 200, 16), Qt::AlignLeft | Qt::AlignVCenter, title);
  const double begin = x + QFontMetricsF(bold).horizontalAdvance(title) + 8;
  painter.setFont(caption);
  painter.setPen(toColor(theme.secondary));
  painter.drawText(QRectF(begin, y, area.right() - begin, 16), Qt::AlignLeft | Qt::AlignVCenter,
                   QFontMetricsF(caption).elidedText(
                       QString("%1; share of %2, a cell per layer and KV head, the number: kept").arg(momentWords(m_moment), m_data.over()),
                       Qt::ElideRight, area.right() - begin));
  y += 22;
  for (const auto& [category, name] : {std::pair(Category::kept, "kept: all its tokens have their slots"),
                                       std::pair(Category::merged, "merged: some only stand in another's slot"),
                                       std::pair(Category::evicted, "evicted: one at least is gone")}) {
    paintSwatch(painter, QRectF(x, y + 3, 10, 10), theme, category);
    painter.setPen(toColor(theme.secondary));
    painter.drawText(QRectF(x + 15, y, area.right() - x - 15, 16), Qt::AlignLeft | Qt::AlignVCenter, name);
    x += 15 + QFontMetricsF(caption).horizontalAdvance(name) + 16;
  }
}

void StoreHeads::paintGrid(QPainter& painter, const Grid& grid, const viz::Theme& theme) const {
  const std::vector<HeadAnswers>& heads = headsAt(grid.mark->heads, m_moment);
  const auto n = static_cast<double>(grid.mark->heads.n);
  painter.setFont(uiFont(11));
  for (int head = 0; head < static_cast<int>(heads.size()); ++head) {
    const HeadAnswers& answers = heads[static_cast<std::size_t>(head)];
    const QRectF whole = grid.cell(head), cell = whole.height() > 4 && whole.width() > 4 ? whole.adjusted(1, 1, -1, -1) : whole;
    const bool count = cell.width() >= kRoomForCount && cell.height() >= kCountHigh;
    const double room = cell.width() - (count ? kCountWide : 0);
    QRectF part = cell;
    part.setWidth(room * static_cast<double>(answers.kept) / n);
    painter.fillRect(part, colourOf(theme, Category::kept));
    part.moveLeft(part.right());
    part.setWidth(room * static_cast<double>(answers.merged) / n);
    painter.fillRect(part, colourOf(theme, Category::merged));
    if (cell != whole) {
      painter.setPen(QPen(toColor(theme.line), 1));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(cell);
    }
    if (!count) continue;
    painter.setPen(toColor(answers.kept > 0 ? theme.text : theme.disabled));
    painter.drawText(cell.adjusted(room, 0, -3, 0), Qt::AlignRight | Qt::AlignVCenter, QString::number(answers.kept));
  }
}

/// Policy and budget over it, heads above, layers beside; of many only so many as have room.
void StoreHeads::paintNames(QPainter& painter, const Grid& grid, const viz::Theme& theme) const {
  const SweepHeads& of = grid.mark->heads;
  if (grid.first) {
    painter.setFont(uiFont(12, true));
    painter.setPen(toColor(theme.text));
    painter.drawText(QRectF(grid.at.left() - kLayerNames, grid.at.top() - kHeadNames, grid.at.width() + kLayerNames - 48, 16),
                     Qt::AlignLeft | Qt::AlignVCenter,
                     QFontMetricsF(painter.font()).elidedText(grid.curve->title, Qt::ElideRight, grid.at.width() + kLayerNames - 48));
  }
  painter.setFont(uiFont(11));
  painter.setPen(toColor(theme.secondary));
  painter.drawText(QRectF(grid.at.right() - 48, grid.at.top() - kHeadNames, 48, 16), Qt::AlignRight | Qt::AlignVCenter,
                   StoreData::budgetOf(*grid.mark));
  const double w = grid.at.width() / of.n_kv_heads, h = grid.at.height() / of.n_layers;
  const int every_head = std::max(1, static_cast<int>(std::ceil(22 / w))),
            every_layer = std::max(1, static_cast<int>(std::ceil(kLine / h)));
  for (int head = 0; head < of.n_kv_heads; head += every_head)
    painter.drawText(QRectF(grid.at.left() + head * w - 10, grid.at.top() - 17, w + 20, 15), Qt::AlignCenter, QString("H%1").arg(head));
  for (int layer = 0; layer < of.n_layers; layer += every_layer)
    painter.drawText(QRectF(grid.at.left() - kLayerNames, grid.at.top() + layer * h + h / 2 - 8, kLayerNames - 5, 16),
                     Qt::AlignRight | Qt::AlignVCenter, QString("L%1").arg(layer));
}

}  // namespace kvscope
