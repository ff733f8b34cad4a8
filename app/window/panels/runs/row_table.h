// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include "viz/canvas.h"

class QTableView;

namespace kvscope {

class Workspace;

/// Gives a table of rows (what-ifs, data behind a view) the look that both have: whole rows are selected, Tab leaves it, cells stay on one
/// line and scroll by pixels, the header follows the theme. name: for screen readers.
void makeRowTable(QTableView& table, Workspace& workspace, const QString& name);

/// What a table shows, in its order; only_selected: of whole rows that are selected.
viz::Table rowsOf(const QTableView& table, bool only_selected = false);
/// The same as text for the clipboard: a line of headers, cells apart by tabs, numbers as spreadsheets read them.
QString tsvOf(const QTableView& table, bool only_selected);

}  // namespace kvscope
