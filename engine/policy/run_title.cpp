// SPDX-License-Identifier: Apache-2.0
#include "policy/run_title.h"

#include <algorithm>

#include "policy/catalog.h"

namespace kvscope {

std::string title_of(const LaneSpec& spec) {
  constexpr std::size_t kLongest = 40;
  const PolicyInfo& info = find_policy(spec.name);
  const auto named = std::ranges::find(spec.given, "run", &std::pair<std::string, std::string>::first);
  if (info.name != given_policy().name || named == spec.given.end()) return info.title;
  if (named->second.size() <= kLongest) return named->second;
  std::size_t end = kLongest;
  while (end > 0 && (static_cast<unsigned char>(named->second[end]) & 0xc0) == 0x80) --end;  // not inside a character
  return named->second.substr(0, end) + "…";
}

}  // namespace kvscope
