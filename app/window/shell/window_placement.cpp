// SPDX-License-Identifier: Apache-2.0
#include "app/window/shell/window_placement.h"

#include <QMainWindow>
#include <QScreen>
#include <QSettings>

#include "app/window/look/windows.h"
#include "app/window/shell/inspect_page.h"

namespace kvscope {

namespace {
constexpr double kShareOfScreen = 0.8;  // of a large one, the first time
}  // namespace

void restoreGeometryOf(QMainWindow& window, const QSettings& settings) {
  const QByteArray geometry = settings.value("geometry").toByteArray();
  if (!geometry.isEmpty()) window.restoreGeometry(geometry);
  const QScreen* const on = window.screen();
  if (on == nullptr || (!geometry.isEmpty() && (window.isMaximized() || window.isFullScreen()))) return;
  if (geometry.isEmpty()) window.resize(window.size().expandedTo(on->availableGeometry().size() * kShareOfScreen));
  const QSize room = on->availableGeometry().size() - kWindowFrame;
  if (window.size() != window.size().boundedTo(room)) {  // with its frame it does not fit: it fills the screen, nothing of it lies outside
    window.resize(window.size().boundedTo(room));
    window.setWindowState(window.windowState() | Qt::WindowMaximized);
  } else if (geometry.isEmpty()) {  // 80 % of a large screen, which nobody reads from edge to edge, in its middle
    QRect frame(QPoint(), window.size() + kWindowFrame);
    frame.moveCenter(on->availableGeometry().center());
    window.move(frame.topLeft());
  }
}

void restoreDocks(InspectPage& inspect, const QSettings& settings) {
  const QByteArray docks = settings.value("docks").toByteArray();
  if (!docks.isEmpty()) inspect.restore(docks);
}

void keepPlacement(const QMainWindow& window, InspectPage& inspect, QSettings& settings) {
  settings.setValue("geometry", window.saveGeometry());
  inspect.endVisits();
  settings.setValue("docks", inspect.state());
}

}  // namespace kvscope
