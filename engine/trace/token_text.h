// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/json_cursor.h"
#include "snapshot/snapshot.h"
#include "trace/json_text.h"

namespace kvscope {

/// A token's text as a trace has it: a JSON string; {"special": name}; {"hex": digits}, as a token's bytes may be part of a code point.
void write_token_text(JsonText& json, const TokenInfo& token);
/// Throws Error.
void read_token_text(const JsonCursor& text, TokenInfo& token);

}  // namespace kvscope
