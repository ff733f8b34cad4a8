// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "snapshot/snapshot.h"

namespace kvscope::remote {

/// What views rely on, in a record from elsewhere. All throw Error.

/// Heads divide, tables and layers are as many as they are said to be. A model without layers is refused.
void check_model(const ModelConfig& model);
void check_characters(const HeadCharacters& characters, const ModelConfig& model);
/// Every token says where it stands in the text.
void check_tokens(const Snapshot& snapshot);
/// The outline of a head: positions ascend and end with the step's own; lists by slot have an entry for each.
void check_outline(const HeadRecord& head, int position);
/// Its numbers.
void check_numbers(const HeadRecord& head, int position);

}  // namespace kvscope::remote
