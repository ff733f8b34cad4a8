// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy_row.h"

namespace kvscope {

// A policy of a user's own: its keys choose the parts, and the chosen parts bring keys (POLICIES.md section 3).

/// What holds beside a ranking where nothing is said: as its own policy has it.
struct Protects {
  std::string sinks = "4", recent = "0.5";  // never removed
  std::string safeguard = {};               // of a budget that heads share; empty: the key's own default
};

/// One value of a key that chooses a part.
struct PartChoice {
  std::string value;
  std::string help;                       // one line; of a ranking and of a merger also the words of the policy card
  void (*put)(PolicyRow& row) = nullptr;  // makes it part of a composition; none: nothing to do
  std::vector<ParamInfo> params = {};
  Protects protects = {};
};

struct PartKey {
  std::string key;
  std::string help;
  std::vector<PartChoice> choices;
};

/// All keys that choose, in the order in which their parts work.
std::span<const PartKey> part_keys();

/// What was chosen, key by key: as given, or what follows from the other keys.
class Composition {
 public:
  /// given: keys and values as in the specification; `except`: a key as if it were not given.
  explicit Composition(const LaneSpec& given, std::string_view except = {});

  const std::string& at(std::string_view key) const;
  bool is(std::string_view key, std::string_view value) const { return at(key) == value; }
  /// True: one of these values, separated by spaces.
  bool is_any(std::string_view key, std::string_view values) const;
  /// Value as given of any key; "" where it was not.
  std::string_view given(std::string_view key) const;
  const PartChoice& choice(const PartKey& key) const;

 private:
  const LaneSpec* spec_;
  std::string_view except_;
  std::vector<std::string> values_;  // by part_keys()
};

/// The row of the chosen parts, with the keys that they take. Throws UsageError where they do not go together.
PolicyRow compose(const LaneSpec& given, const std::string& where);

/// Why these parts do not work together, and what to change; "" if they do.
std::string objection(const Composition& parts);

}  // namespace kvscope
