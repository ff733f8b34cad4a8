// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <QString>

class QComboBox;
class QMenu;

namespace kvscope {

/// Fills a list to choose a policy from: titles under those of their groups, with the name as data and the idea as tooltip. Policies that
/// cannot run stand at the end, disabled, with the reason as tooltip.
void addPolicies(QComboBox& box, bool with_reference);
/// The same as a menu of groups, without those that cannot run: `chosen` gets the name.
void addPolicies(QMenu& menu, const std::function<void(const QString&)>& chosen);

}  // namespace kvscope
