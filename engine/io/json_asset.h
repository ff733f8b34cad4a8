// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/json_cursor.h"
#include "io/json_document.h"

namespace kvscope {

/// Words that come with the program, or are written as those are: a file { "kvscope": kind, "version": 1, … } of at most 1 MiB. Throws
/// Error (what, where, expected: `expected`, "a glossary").
JsonDocument read_json_asset(const std::string& path, std::string_view kind, std::string_view expected);

/// The texts in a list under `key`; none where it is not given.
std::vector<std::string> texts_under(const JsonCursor& object, std::string_view key);

}  // namespace kvscope
