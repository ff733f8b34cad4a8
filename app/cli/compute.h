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

namespace kvscope {
class Session;
}

namespace kvscope::cli {

/// A finished run and what is needed to speak about it.
struct Result {
  Snapshot snapshot;
  std::shared_ptr<const Tokenizer> tokenizer;
};

/// What takes the records while the run goes on; nullptr: they stay in the snapshot.
using MakeSink = std::function<RecordSink*(const RunRequest&)>;

/// A model that is opened once, for what the arguments ask and for requests that begin from it.
class Runs {
 public:
  /// Throws Error, UsageError, Cancelled.
  Runs(const Arguments& arguments, Detail detail, bool history, const MeasureSet& measures, const CancelToken& cancel);
  ~Runs();

  const RunRequest& request() const { return request_; }
  const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }
  const std::string& model() const { return model_; }  // folder or file
  /// Progress goes to a terminal. Throws as above.
  Snapshot run(const RunRequest& request, RecordSink* sink = nullptr);

 private:
  const CancelToken& cancel_;
  RunRequest request_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::string model_;
  std::unique_ptr<Session> session_;
  bool quiet_;
};

/// What the arguments ask for: model, prompt, runs. Progress goes to a terminal. Throws Error, UsageError, Cancelled.
Result compute(const Arguments& arguments, Detail detail, bool history, const MeasureSet& measures, const CancelToken& cancel,
               const MakeSink& make_sink = {});

}  // namespace kvscope::cli
