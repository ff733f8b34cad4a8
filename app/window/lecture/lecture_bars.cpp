// SPDX-License-Identifier: Apache-2.0
#include "app/window/lecture/lecture_bars.h"

#include <algorithm>
#include <cmath>

#include <QEvent>
#include <QPushButton>

#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/format.h"
#include "viz/views/parts/capture_offer.h"

namespace kvscope {

namespace {

constexpr double kHeader = 20, kBarRow = 22, kBar = 12;  // px at 100 %
constexpr int kMost = 8;

/// Of a slot that speaks for several tokens.
QString votesText(const viz::PairRow& row) { return row.votes > 1 ? QString("×%1").arg(row.votes) : QString(); }

QString shareText(double v) { return std::isnan(v) ? qs(viz::kNotAvailableText) : qs(viz::format_percent(v)); }

}  // namespace

LectureBars::LectureBars(Workspace& workspace, const QString& name, const QString& whole, const QString& empty, Rows rows, QWidget* parent)
    : QWidget(parent), m_workspace(workspace), m_capture(new QPushButton(this)), m_whole(whole), m_empty(empty), m_rows(std::move(rows)) {
  setAccessibleName(name);
  m_capture->setObjectName("link");
  m_capture->setAccessibleName(m_whole + ": not captured, capture now");
  m_capture->setCursor(Qt::PointingHandCursor);
  m_capture->setToolTip("Keep the uncompressed history, and compute the runs again with it");
  m_capture->hide();
  connect(m_capture, &QPushButton::clicked, this, &LectureBars::captureWanted);
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged, &Workspace::themeChanged, &Workspace::staleChanged,
                      &Workspace::teachingChanged})
    connect(&workspace, signal, this, [this] { refresh(); });
  refresh();
}

QSize LectureBars::minimumSizeHint() const { return {px(*this, 300), px(*this, kHeader + 2 * kBarRow)}; }

void LectureBars::refresh() {
  const double pitch = std::max(1, px(*this, kBarRow));  // words end above its lower edge
  const int room = static_cast<int>((height() - px(*this, kHeader)) / pitch + 0.2);
  m_shown = m_rows(m_workspace, std::clamp(room, 1, kMost));
  QStringList words;
  for (const viz::PairRow& row : m_shown) {
    const QString votes = row.votes > 1 ? QString(", %1 votes").arg(row.votes) : QString();
    words << QString("%1%2: %3, %4").arg(qs(row.label), votes, shareText(row.reference), shareText(row.lane));
  }
  setAccessibleDescription(words.isEmpty() ? m_empty : words.join("; "));
  placeCapture();
  update();
}

void LectureBars::offerCapture() {
  m_needs_history = true;
  refresh();
}

bool LectureBars::both() const { return m_workspace.selection().lane > 0; }

int LectureBars::labelWidth() const {
  const QFontMetrics labels(typeFont(*this, Type::text, true, TypeFace::tabular));
  int label = px(*this, 40);
  for (const viz::PairRow& row : m_shown) {
    const QString votes = votesText(row);
    const int tag = votes.isEmpty() ? 0 : labels.horizontalAdvance(votes) + px(*this, 10);
    label = std::max(label, labels.horizontalAdvance(qs(row.label)) + 1 + tag);  // an advance is rounded
  }
  return std::min(label, width() * 9 / 25) + px(*this, 14);
}

/// The name gives way, how many it speaks for does not: in the colour of merged tokens, whose mixture it is.
void LectureBars::paintLabel(QPainter& painter, int y, int width, const viz::PairRow& row) const {
  const viz::Theme& theme = m_workspace.theme();
  painter.setFont(typeFont(*this, Type::text, row.whole || row.reference_first || row.lane_first, TypeFace::tabular));
  painter.setPen(toColor(row.meant ? theme.accent : theme.text));
  const QString votes = votesText(row), name = qs(row.label);
  const int tag = votes.isEmpty() ? 0 : painter.fontMetrics().horizontalAdvance(votes) + px(*this, 4), gap = tag > 0 ? px(*this, 2) : 0;
  const QRect room(0, y, width - tag - gap, px(*this, kBarRow));
  paintLine(painter, room, Qt::AlignLeft, name);
  if (tag == 0) return;
  const int x = std::min(room.right() + 1, painter.fontMetrics().horizontalAdvance(name) + px(*this, 4));
  const QRectF chip(x, y + px(*this, 3), tag, px(*this, kBarRow) - 2 * px(*this, 3));
  painter.setPen(QPen(toColor(theme.category[static_cast<std::size_t>(Category::merged)]), px(*this, 1)));
  painter.setBrush(Qt::NoBrush);
  painter.drawRoundedRect(chip, px(*this, 2), px(*this, 2));
  painter.setPen(toColor(theme.text));
  painter.drawText(chip, Qt::AlignCenter, votes);
}

/// Where the name of the left column would stand.
void LectureBars::placeCapture() {
  const Snapshot& snapshot = m_workspace.snapshot();
  m_capture->setVisible(m_needs_history && !snapshot.history && both() && !m_shown.empty());
  if (m_capture->isHidden()) return;
  const QFont font = typeFont(*this, Type::text);
  m_capture->setFont(font);
  m_capture->ensurePolished();
  const QFontMetrics metrics = m_capture->fontMetrics();
  const QString offer = qs(viz::capture_words(snapshot));
  const int x = labelWidth(), room = (width() - x) / 2 - px(*this, 8);
  m_capture->setText(fitting(metrics, room, {m_whole + ": not captured – " + offer, "not captured – " + offer, offer}));
  m_capture->setAccessibleName(m_whole + ": not captured, " + offer);
  m_capture->setGeometry(x, 0, std::min(room, metrics.horizontalAdvance(m_capture->text()) + 4), px(*this, 19));
}

void LectureBars::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  refresh();
}

void LectureBars::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange) refresh();
}

void LectureBars::paintBar(QPainter& painter, const QRectF& track, double value, const QColor& colour) const {
  const viz::Theme& theme = m_workspace.theme();
  const double radius = px(*this, 2);
  painter.setPen(Qt::NoPen);
  painter.setBrush(mix(toColor(theme.panel), toColor(theme.line), 0.6));
  painter.drawRoundedRect(track, radius, radius);
  if (!(value > 0)) return;
  QRectF bar = track;
  bar.setWidth(std::max<double>(px(*this, 1.2), track.width() * std::min(1.0, value)));
  painter.setBrush(colour);
  painter.drawRoundedRect(bar, std::min(radius, bar.width() / 2), radius);
}

void LectureBars::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const viz::Theme& theme = m_workspace.theme();
  const QColor text = toColor(theme.text), secondary = toColor(theme.secondary), changed = toColor(theme.changed);
  if (m_shown.empty()) {
    painter.setFont(typeFont(*this, Type::text));
    painter.setPen(secondary);
    painter.drawText(rect(), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextWordWrap, m_empty);
    return;
  }
  if (m_workspace.stale()) painter.setOpacity(0.8);
  const bool two = both();
  // A label, then twice a bar with its number.
  const QFontMetrics numbers(typeFont(*this, Type::text, true));
  const int label = labelWidth();
  const int number = numbers.horizontalAdvance(">99.9 %") + px(*this, 4), gap = px(*this, 8);
  const int half = (width() - label) / (two ? 2 : 1), bar = std::max(px(*this, 20), half - number - gap - (two ? px(*this, 8) : 0));
  const auto header = [&](int x, const QString& words) {
    paintLine(painter, QRect(x, 0, half - gap, px(*this, 19)), Qt::AlignLeft, words);
  };
  painter.setFont(typeFont(*this, Type::text));
  painter.setPen(secondary);
  if (m_capture->isHidden())
    header(label, fitting(painter.fontMetrics(), half - gap, {both() ? m_whole : QString("full cache"), QString("all in place")}));
  if (two && m_workspace.lane()) header(label + half, qs(m_workspace.lane()->title));
  const int height = px(*this, kBar);
  int y = px(*this, kHeader);
  for (const viz::PairRow& row : m_shown) {
    const int middle = y + px(*this, kBarRow) / 2;
    paintLabel(painter, y, label - px(*this, 14), row);
    const auto value = [&](int x, const QString& words, const QColor& ink, bool bold) {
      painter.setFont(typeFont(*this, Type::text, bold));
      painter.setPen(ink);
      paintLine(painter, QRect(x + bar + gap, y, number, px(*this, kBarRow)), Qt::AlignLeft, words);
    };
    const auto track = [&](int x) { return QRectF(x, middle - height / 2, bar, height); };
    const QColor framed = toColor(theme.accent);  // as the frames are
    paintBar(painter, track(label), row.reference, row.meant ? framed : secondary);
    value(label, shareText(row.reference), text, row.reference_first);
    if (two) {
      const int x = label + half;
      if (row.state == viz::PairRow::State::here) {
        const bool wrong = row.lane_first && !row.reference_first && !std::isnan(row.reference);
        const QColor own = toColor(theme.category[static_cast<std::size_t>(Category::kept)]);
        paintBar(painter, track(x), row.lane, wrong ? changed : row.meant ? framed : own);
        value(x, shareText(row.lane), text, row.lane_first);
      } else {
        const bool gone = row.state == viz::PairRow::State::gone;
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(toColor(theme.evicted_outline), px(*this, 1)));
        painter.drawRoundedRect(track(x).adjusted(0.5, 0.5, -0.5, -0.5), px(*this, 2), px(*this, 2));
        value(x, gone ? "gone" : "merged", gone ? changed : text, true);
      }
    }
    y += px(*this, kBarRow);
  }
}

}  // namespace kvscope
