// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/policy/policy_items.h"

#include <QComboBox>
#include <QStandardItemModel>

#include "policy/catalog.h"

namespace kvscope {

void addPolicies(QComboBox& box, bool with_reference) {
  const auto add = [&](const QString& title, const PolicyInfo& info, const std::string& tip) {
    box.addItem(title, QString::fromStdString(info.name));
    box.setItemData(box.count() - 1, QString::fromStdString(tip), Qt::ToolTipRole);
  };
  for (const PolicyInfo& info : policies()) {
    if (with_reference || info.name != reference_policy()) add(QString::fromStdString(info.title), info, info.idea);
  }
  auto* model = qobject_cast<QStandardItemModel*>(box.model());
  for (const PolicyInfo& info : unavailable_policies()) {
    add(QString::fromStdString(info.title) + " (n/a)", info, info.idea + "\nNot available: " + info.unavailable + ".");
    if (model) model->item(box.count() - 1)->setEnabled(false);
  }
}

}  // namespace kvscope
