// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "app/cli/arguments.h"
#include "core/cancel.h"
#include "runtime/session/record_sink.h"
#include "runtime/session/run_request.h"
#include "snapshot/measure_set.h"
#include "snapshot/snapshot.h"
#include "tokenizer/tokenizer.h"

namespace kvscope::cli {

/// A finished run and what is needed to speak about it.
struct Result {
  Snapshot snapshot;
  std::shared_ptr<const Tokenizer> tokenizer;
};

/// What takes the records while the run goes on; nullptr: they stay in the snapshot.
using MakeSink = std::function<RecordSink*(const RunRequest&)>;

/// What the arguments ask for: model, prompt, runs. Progress goes to a terminal. Throws Error, UsageError, Cancelled.
Result compute(const Arguments& arguments, Detail detail, bool shadow, const MeasureSet& measures, const CancelToken& cancel,
               const MakeSink& make_sink = {});

}  // namespace kvscope::cli
