// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/share/page.h"

namespace kvscope::share {

/// Data of a page, not yet compressed: 4 bytes with the length of the header (lowest first), the header as JSON, the columns.
std::string page_data(const Snapshot& snapshot, const PageFacts& facts);

}  // namespace kvscope::share
