// SPDX-License-Identifier: Apache-2.0
#include "app/window/lecture/lecture_memory.h"

#include <algorithm>

#include <QPainter>
#include <QStringList>

#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "core/cache_bytes.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {

constexpr double kMemoryRow = 34, kMemoryBar = 18;  // px at 100 %, the most
constexpr auto kLengths = kKnownThousands.size();

QString lengthText(std::size_t i) { return QString("%1K tokens").arg(kKnownThousands[i]); }

}  // namespace

LectureMemory::LectureMemory(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
  setAccessibleName("memory of keys and values in known models");
  QStringList words;
  for (const KnownModel& model : known_models())
    for (std::size_t i = 0; i < kLengths; ++i)
      words << QString("%1, %2: %3").arg(qs(model.name), lengthText(i), qs(viz::format_bytes(model.bytes[i])));
  setAccessibleDescription(words.join("; "));
  connect(&workspace, &Workspace::themeChanged, this, qOverload<>(&QWidget::update));
}

void LectureMemory::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const viz::Theme& theme = m_workspace.theme();
  const std::vector<KnownModel>& models = known_models();
  double most = 0;
  for (const KnownModel& model : models) most = std::max(most, *std::ranges::max_element(model.bytes));
  const QFont text = typeFont(*this, Type::text), bold = typeFont(*this, Type::text, true);
  const QFontMetrics metrics(text), strong(bold);
  int name = 0, length = 0, number = 0;
  for (const KnownModel& model : models) {
    name = std::max(name, strong.horizontalAdvance(qs(model.name)));
    for (std::size_t i = 0; i < kLengths; ++i) {
      length = std::max(length, metrics.horizontalAdvance(lengthText(i)));
      number = std::max(number, strong.horizontalAdvance(qs(viz::format_bytes(model.bytes[i]))));
    }
  }
  const int gap = px(*this, 14), left = name + gap + length + gap, room = width() - left - gap - number;
  // Between models stands half a row.
  const double rows = static_cast<double>(models.size() * kLengths) + 0.5 * static_cast<double>(models.size() - 1);
  const double row = std::min<double>(px(*this, kMemoryRow), height() / rows), bar = std::min<double>(px(*this, kMemoryBar), row * 0.6);
  double y = 0;
  for (const KnownModel& model : models) {
    for (std::size_t i = 0; i < kLengths; ++i, y += row) {
      const QRectF line(0, y, width(), row);
      const double wide = std::max<double>(px(*this, 2), room * model.bytes[i] / most);
      painter.setFont(bold);
      painter.setPen(toColor(theme.text));
      if (i == 0) painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, qs(model.name));
      painter.drawText(line.adjusted(left + wide + gap, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, qs(viz::format_bytes(model.bytes[i])));
      painter.setFont(text);
      painter.setPen(toColor(theme.secondary));
      painter.drawText(line.adjusted(name + gap, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, lengthText(i));
      painter.setPen(Qt::NoPen);
      painter.setBrush(toColor(theme.category[static_cast<std::size_t>(Category::kept)]));
      painter.drawRoundedRect(QRectF(left, y + (row - bar) / 2, wide, bar), px(*this, 2), px(*this, 2));
    }
    y += row / 2;
  }
}

}  // namespace kvscope
