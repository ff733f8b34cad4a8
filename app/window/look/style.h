// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QColor>
#include <QFont>
#include <QIcon>
#include <QString>

#include "viz/draw/theme.h"

class QApplication;

namespace kvscope {

// Sizes of the window in pixels at 100 %.
inline constexpr int kGutter = 8;
inline constexpr int kMenuRow = 30;
inline constexpr int kToolRow = 46;
inline constexpr int kCrumbRow = 34;
inline constexpr int kStatusRow = 26;
inline constexpr int kPanelHeader = 34;

inline QColor toColor(viz::Rgb c) { return QColor(c.r(), c.g(), c.b()); }

/// Type of the window: Noto Sans, DejaVu Sans where it is missing.
QFont uiFont(int px, bool bold = false);
/// Token text and number columns: Noto Sans Mono, DejaVu Sans Mono; emoji and CJK from the system.
QFont monoFont(int px, bool bold = false);
/// Full path of an installed font file ("NotoSans-Regular.ttf"); empty if there is none.
QString findFontFile(const QString& file);

/// The one style sheet, made from the colours of the theme; `scale`: of all sizes but thin lines.
QString styleSheet(const viz::Theme& theme, double scale = 1);
/// Palette and fonts of the whole program, and no style sheet: with one, every widget that is put into another is given its style anew with
/// all that it has in it.
void beginTheme(QApplication& app, const viz::Theme& theme);
/// Palette, fonts and style sheet.
void applyTheme(QApplication& app, const viz::Theme& theme);

enum class Icon {
  open,
  save,
  play,
  stop,
  next,
  add,
  compare,
  maximise,
  restore,
  close,
  left,
  right,
  first,
  last,
  playLine,
  pause,
  bookmark,
  menu,
  ghosts,
  find
};
/// Line icon of 16 x 16, drawn for every size and pixel ratio.
QIcon icon(Icon which, const QColor& colour, const QColor& disabled);

}  // namespace kvscope
