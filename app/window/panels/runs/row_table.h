// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

class QTableView;

namespace kvscope {

class Workspace;

/// Gives a table of rows (what-ifs, data behind a view) the look that both have: whole rows are selected, Tab leaves it, cells stay on one
/// line and scroll by pixels, the header follows the theme. name: for screen readers.
void makeRowTable(QTableView& table, Workspace& workspace, const QString& name);

}  // namespace kvscope
