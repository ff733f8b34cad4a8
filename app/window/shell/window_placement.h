// SPDX-License-Identifier: Apache-2.0
#pragma once

class QMainWindow;
class QSettings;

namespace kvscope {

class InspectPage;

// Where the window stood last time, and its docks.
void restoreGeometryOf(QMainWindow& window, const QSettings& settings);
void restoreDocks(InspectPage& inspect, const QSettings& settings);
void keepPlacement(const QMainWindow& window, InspectPage& inspect, QSettings& settings);

}  // namespace kvscope
