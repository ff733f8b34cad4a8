// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStringList>

namespace kvscope {

/// What files and the command line call the pages of the window: "inspect", those of views, "sweep", "lecture".
const QStringList& pageNames();

}  // namespace kvscope
