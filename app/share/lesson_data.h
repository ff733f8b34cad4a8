// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/share/page.h"

namespace kvscope::share {

/// What leads through a page, not yet compressed (engine/trace/TRACE.md section 7): JSON.
std::string lesson_data(const std::vector<PagePart>& parts, const PageLesson& lesson);

}  // namespace kvscope::share
