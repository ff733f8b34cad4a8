// SPDX-License-Identifier: Apache-2.0
#pragma once

class QComboBox;

namespace kvscope {

/// Fills a list to choose a policy from: titles, with the name as data and the idea as tooltip. Policies that cannot run stand at the end,
/// disabled, with the reason as tooltip.
void addPolicies(QComboBox& box, bool with_reference);

}  // namespace kvscope
