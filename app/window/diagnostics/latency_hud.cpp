// SPDX-License-Identifier: Apache-2.0
#include "app/window/diagnostics/latency_hud.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <QPainter>

#include "app/window/diagnostics/latency.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"

namespace kvscope {

namespace {

constexpr int kBins = 12;  // up to 1/2 ms, 1, 2, ... 512 ms, more
constexpr int kName = 130, kNumber = 56, kBar = 8, kLine = 20, kMargin = 10;

int binOf(double ms) { return std::clamp(static_cast<int>(std::ceil(std::log2(std::max(ms, 0.25) * 2))), 0, kBins - 1); }

QString number(double ms) {
  if (std::isnan(ms)) return "n/a";
  return QString::number(ms, 'f', ms < 10 ? 2 : ms < 100 ? 1 : 0);
}

std::array<QString, 6> cells(const Latency& latency, Latency::Stage stage) {
  const Durations& d = latency.of(stage);
  return {Latency::nameOf(stage),   QString::number(d.n()),   number(d.quantile(0.5)),
          number(d.quantile(0.95)), number(d.quantile(0.99)), number(d.quantile(1))};
}

}  // namespace

LatencyHud::LatencyHud(const Latency& latency, const Workspace& workspace, QWidget* parent)
    : QWidget(parent), m_latency(latency), m_workspace(workspace) {
  setObjectName("latencyHud");
  setAccessibleName("How long the stages from an input to its picture take, in milliseconds");
  setAttribute(Qt::WA_OpaquePaintEvent);  // what is below need not be drawn again
  setAttribute(Qt::WA_TransparentForMouseEvents);
  connect(&latency, &Latency::recorded, this, [this] { update(); });
  resize(sizeHint());
  hide();
}

QSize LatencyHud::sizeHint() const {
  return {2 * kMargin + kName + 5 * kNumber + 12 + kBins * kBar, 2 * kMargin + kLine * (Latency::kStages + 2)};
}

QStringList LatencyHud::lines() const {
  QStringList lines;
  for (int i = 0; i < Latency::kStages; ++i) {
    QString line;
    for (const QString& cell : cells(m_latency, static_cast<Latency::Stage>(i))) line += (line.isEmpty() ? "" : "  ") + cell;
    lines << line;
  }
  return lines;
}

void LatencyHud::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const viz::Theme& theme = m_workspace.theme();
  painter.fillRect(rect(), toColor(theme.raised));
  painter.setPen(toColor(theme.line));
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
  painter.setFont(typeFont(*this, Type::caption, false, TypeFace::tabular));
  const auto row = [&](int line, const std::array<QString, 6>& words, const QColor& ink) {
    painter.setPen(ink);
    const int y = kMargin + line * kLine;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const int x = i == 0 ? kMargin : kMargin + kName + (static_cast<int>(i) - 1) * kNumber;
      painter.drawText(QRect(x, y, i == 0 ? kName : kNumber, kLine), (i == 0 ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter,
                       words[i]);
    }
  };
  row(0, {"ms", "n", "p50", "p95", "p99", "max"}, toColor(theme.secondary));
  const int x0 = kMargin + kName + 5 * kNumber + 12;
  for (int i = 0; i < Latency::kStages; ++i) {
    const auto stage = static_cast<Latency::Stage>(i);
    row(i + 1, cells(m_latency, stage), toColor(theme.text));
    std::array<int, kBins> counts{};
    for (double ms : m_latency.of(stage).values()) ++counts[static_cast<std::size_t>(binOf(ms))];
    const int most = std::max(1, *std::max_element(counts.begin(), counts.end()));
    const int base = kMargin + (i + 2) * kLine - 3;
    painter.fillRect(x0, base, kBins * kBar, 1, toColor(theme.line));
    for (int b = 0; b < kBins; ++b) {
      const int n = counts[static_cast<std::size_t>(b)];
      const int h = n == 0 ? 0 : std::max(1, n * (kLine - 6) / most);
      painter.fillRect(x0 + b * kBar, base - h, kBar - 2, h, toColor(theme.accent));
    }
  }
  painter.setPen(toColor(theme.secondary));
  const int y = kMargin + (Latency::kStages + 1) * kLine;
  painter.drawText(QRect(kMargin, y, x0, kLine), Qt::AlignLeft | Qt::AlignVCenter, "newest 4096 of each · F12 hides this");
  painter.drawText(QRect(x0, y, kBins * kBar, kLine), Qt::AlignLeft | Qt::AlignVCenter, "½");
  painter.drawText(QRect(x0, y, kBins * kBar, kLine), Qt::AlignRight | Qt::AlignVCenter, ">512");
}

}  // namespace kvscope
