// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/runs/row_table.h"

#include <QHeaderView>
#include <QTableView>

#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/format.h"

namespace kvscope {

void makeRowTable(QTableView& table, Workspace& workspace, const QString& name) {
  table.setSelectionBehavior(QAbstractItemView::SelectRows);
  table.setAlternatingRowColors(true);
  table.setShowGrid(false);
  table.setFrameShape(QFrame::NoFrame);
  table.setTabKeyNavigation(false);
  table.setWordWrap(false);
  table.setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  table.verticalHeader()->hide();
  table.verticalHeader()->setMinimumSectionSize(1);
  table.verticalHeader()->setDefaultSectionSize(px(table, 22));
  table.horizontalHeader()->setHighlightSections(false);
  table.setFont(typeFont(table, Type::body, false, TypeFace::tabular));
  table.setAccessibleName(name);
  const auto style_header = [&table, &workspace] {
    table.horizontalHeader()->setStyleSheet(
        QString("QHeaderView { background: %1; border: none; }").arg(toColor(workspace.theme().panel).name()));
  };
  QObject::connect(&workspace, &Workspace::themeChanged, &table, style_header);
  style_header();
}

viz::Table rowsOf(const QTableView& table, bool only_selected) {
  const QAbstractItemModel& model = *table.model();
  viz::Table out;
  const int n = model.columnCount();
  for (int c = 0; c < n; ++c) out.columns.push_back(model.headerData(c, Qt::Horizontal).toString().toStdString());
  for (int row = 0; row < model.rowCount(); ++row) {
    if (only_selected && !table.selectionModel()->isRowSelected(row, {})) continue;
    std::vector<std::string>& cells = out.rows.emplace_back();
    for (int c = 0; c < n; ++c) cells.push_back(model.index(row, c).data().toString().toStdString());
  }
  return out;
}

QString tsvOf(const QTableView& table, bool only_selected) {
  const viz::Table rows = rowsOf(table, only_selected);
  QString out;
  const auto add = [&out](const std::vector<std::string>& cells) {
    QStringList line;  // a line break or tab inside a cell would make two cells of one
    for (const std::string& cell : cells) line << qs(plain_number(cell)).replace('\t', "⇥").replace('\n', "↵");
    out += line.join('\t') + '\n';
  };
  add(rows.columns);
  for (const auto& row : rows.rows) add(row);
  return out;
}

}  // namespace kvscope
