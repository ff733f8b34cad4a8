// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

struct LaneSpec;

/// A key of a policy with another value in one head, or in all heads of a layer. In a lane's specification it stands among the other keys:
/// `keepkv:slots=24,threshold=0.8,threshold[L2H1]=0.6,threshold[L3]=0.7`; of several for one head the last one holds. Only keys that are
/// read where one head merges can differ from head to head; of budgets see lane_edits.h.
struct HeadKey {
  std::string key;    // "threshold"
  std::string value;  // "0.6"
  int layer = 0;
  int kv_head = -1;  // -1: all of the layer
  bool has(int l, int h) const { return l == layer && (kv_head < 0 || h == kv_head); }
  bool operator==(const HeadKey&) const = default;
};

/// The place of "threshold[L2H1]", without a value; nullopt: a key of the whole run. Throws UsageError where brackets hold something else.
std::optional<HeadKey> split_head_key(std::string_view key, const std::string& where);
/// "threshold[L2H1]", "threshold[L2]" with kv_head < 0: a key for with_param().
std::string head_key(std::string_view key, int layer, int kv_head);

/// The keys that a policy takes for single heads; empty: none. Throws UsageError.
std::vector<std::string> head_keys_of(const LaneSpec& spec);
/// What a specification gives to single heads. Throws UsageError.
std::vector<HeadKey> given_head_keys(const LaneSpec& spec);

}  // namespace kvscope
