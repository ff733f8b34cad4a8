// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/kept_file.h"
#include "runtime/session/run_request.h"

namespace kvscope {

/// Has a request read the text of a file of kept tokens (TRACE.md section 6), as ids, and repeat its runs, behind those that are there.
/// What was fed after the prompt becomes the text to follow; follow and n_generate stay. Throws UsageError: a token that a vocabulary of
/// this size does not have, a file whose name cannot stand in a specification.
void take_kept(RunRequest& request, const KeptFile& kept, int vocab_size);

}  // namespace kvscope
