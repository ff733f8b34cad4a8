// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/runs/row_table.h"

#include <QHeaderView>
#include <QTableView>

#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"

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

}  // namespace kvscope
