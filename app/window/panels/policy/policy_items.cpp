// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/policy/policy_items.h"

#include <QComboBox>
#include <QMenu>
#include <QStandardItemModel>

#include "policy/policy_groups.h"

namespace kvscope {

namespace {

/// Disabled: a heading.
QStandardItem* addTo(QStandardItemModel& model, const QString& title, const std::string& name, const std::string& tip, bool enabled) {
  auto* item = new QStandardItem(title);
  if (!name.empty()) item->setData(QString::fromStdString(name), Qt::UserRole);
  item->setToolTip(QString::fromStdString(tip));
  item->setEnabled(enabled);
  model.appendRow(item);
  return item;
}

void addHeading(QStandardItemModel& model, const QString& title) {
  QStandardItem* heading = addTo(model, title, {}, {}, false);
  QFont bold;
  bold.setBold(true);
  heading->setFont(bold);
}

}  // namespace

void addPolicies(QComboBox& box, bool with_reference) {
  auto* model = new QStandardItemModel(&box);
  for (const PolicyGroup& group : policy_groups()) {
    addHeading(*model, QString::fromStdString(group.title));
    for (const PolicyInfo* info : group.members)
      if (with_reference || info->name != reference_policy())
        addTo(*model, QString::fromStdString(info->title), info->name, info->idea, true);
  }
  box.setModel(model);
}

void addPolicies(QMenu& menu, const std::function<void(const QString&)>& chosen) {
  for (const PolicyGroup& group : policy_groups()) {
    QMenu* kind = menu.addMenu(QString::fromStdString(group.title));
    kind->setToolTipsVisible(true);
    for (const PolicyInfo* info : group.members) {
      if (info->name == reference_policy()) continue;  // it is there already
      QAction* one = kind->addAction(QString::fromStdString(info->title));
      one->setToolTip(QString::fromStdString(info->idea));
      QObject::connect(one, &QAction::triggered, &menu, [chosen, name = QString::fromStdString(info->name)] { chosen(name); });
    }
  }
}

}  // namespace kvscope
