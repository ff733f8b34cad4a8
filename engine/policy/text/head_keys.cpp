// SPDX-License-Identifier: Apache-2.0
#include "policy/text/head_keys.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/from_chars.h"
#include "policy/policy_row.h"

namespace kvscope {
namespace {

/// `letter` and a number from 0 on at the beginning of `text`, which loses them; nullopt: there is none.
std::optional<int> take(std::string_view& text, char letter) {
  int n = 0;
  if (!text.starts_with(letter) || text.size() < 2 || text[1] < '0' || text[1] > '9') return std::nullopt;
  const auto [stop, error] = from_chars(text.data() + 1, text.data() + text.size(), n);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return n;
}

}  // namespace

std::optional<HeadKey> split_head_key(std::string_view key, const std::string& where) {
  const std::size_t open = key.find('[');
  if (open == std::string_view::npos) return std::nullopt;
  std::string_view place = key.substr(open + 1);
  const std::optional<int> layer = take(place, 'L'), head = take(place, 'H');
  if (!layer || place != "]")
    throw UsageError(fmt::format("{}: expected KEY[L2H1], or KEY[L2] for all heads of a layer, got {}", where, quoted(key)));
  return HeadKey{.key = std::string(key.substr(0, open)), .value = {}, .layer = *layer, .kv_head = head.value_or(-1)};
}

std::string head_key(std::string_view key, int layer, int kv_head) {
  return kv_head < 0 ? fmt::format("{}[L{}]", key, layer) : fmt::format("{}[L{}H{}]", key, layer, kv_head);
}

std::vector<std::string> head_keys_of(const LaneSpec& spec) {
  const ResolvedLane lane = resolve_lane(spec);
  return {lane.parts.row->head_keys.begin(), lane.parts.row->head_keys.end()};
}

std::vector<HeadKey> given_head_keys(const LaneSpec& spec) { return resolve_lane(spec).head_keys; }

}  // namespace kvscope
