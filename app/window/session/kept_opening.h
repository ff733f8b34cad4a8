// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include "core/cancel.h"
#include "runtime/session/run_request.h"

namespace kvscope {

/// A file of kept tokens of another program (TRACE.md section 6), with a model on which its runs can be repeated.
struct KeptOpening {
  QString path;        // of the file
  QString model;       // folder or GGUF file; empty: no model here fits
  bool asked = false;  // the model has another name than the file says: nobody gets it unasked
  QString why;         // it is not opened, or not unasked; one sentence
  RunRequest request;  // text, what was fed after it, and the runs, behind the full cache
};

/// Reads the file and looks for its model: by its name as a path, in the folder of the file, as the model `present` or the built-in one, or
/// where other programs keep models; one that has as many layers and KV heads and knows all tokens. The text is set as text where the model
/// reads the same tokens from it, else as ids. Throws Error (what is wrong with the file), Cancelled.
KeptOpening openKeptFile(const QString& path, const QString& present, const CancelToken& cancel);

}  // namespace kvscope
