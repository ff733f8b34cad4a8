// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include <QRectF>
#include <QString>
#include <QStringList>

#include "viz/draw/theme.h"

class QPainter;

namespace kvscope {

class Workspace;

/// At which budget, of those tried, a run on screen says the full cache's token of the step that is shown: a vertical mark over the curves.
struct SweepBreak {
  int lane = 0;
  int slots = 0;
  double held = 0;
  double x = 0;        // in the picture
  QString words, how;  // "B · KeepKV says «7» from 23.0 % (47 of 204 slots)"
};

/// Of the runs on screen, as far as they are known; x is the caller's.
std::vector<SweepBreak> sweepBreaks(const Workspace& workspace);
/// Those that were asked for and have no place in the picture, too, one a line: "B · Full cache: no budget to lower".
QStringList sweepBreakWords(const Workspace& workspace);
/// Where the letter of each stands beside its flag. Where flags stand close together, all their letters stand behind the last one, in the
/// order of the flags. width: of a run's letter.
std::vector<double> sweepBreakLetters(const std::vector<SweepBreak>& breaks, const std::function<double(int lane)>& width);
void paintSweepBreaks(QPainter& painter, const QRectF& plot, const viz::Theme& theme, const std::vector<SweepBreak>& breaks);
/// What a flag means, and in fewer words: budgets that were not tried are not known, more slots need not be better.
QStringList sweepFlagWords();
/// Under the pointer; nullptr: none.
const SweepBreak* sweepBreakAt(const QPointF& at, const QRectF& plot, const std::vector<SweepBreak>& breaks);

}  // namespace kvscope
