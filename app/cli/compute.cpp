// SPDX-License-Identifier: Apache-2.0
#include "app/cli/compute.h"

#include <utility>

#include "app/cli/inputs.h"
#include "app/cli/progress.h"
#include "runtime/session/session.h"

namespace kvscope::cli {

Runs::Runs(const Arguments& a, Detail detail, bool history, const MeasureSet& measures, const CancelToken& cancel)
    : cancel_(cancel), quiet_(a.quiet) {
  ModelFiles model = open_model_of(a);
  request_ = make_request(a, model);
  request_.detail = detail;
  request_.history = history && (!a.session || request_.history);  // a session may have switched it off
  request_.measures = measures;
  request_.n_logits = a.logits;
  request_.ignore_end = a.ignore_eos || request_.ignore_end;
  tokenizer_ = model.tokenizer;
  model_ = model.folder;
  cancel.check();
  session_ = std::make_unique<Session>(
      std::move(model), SessionOptions{.precision = a.precision, .n_threads = a.threads, .device = a.device, .record_limit = a.memory});
}

Runs::~Runs() = default;

Snapshot Runs::run(const RunRequest& request, RecordSink* sink) {
  Progress progress(quiet_);
  return session_->run(
      request, cancel_, [&](const std::string& activity, double fraction) { progress.show(activity, fraction); }, {}, sink);
}

Result compute(const Arguments& a, Detail detail, bool history, const MeasureSet& measures, const CancelToken& cancel,
               const MakeSink& make_sink) {
  Runs runs(a, detail, history, measures, cancel);
  Snapshot snapshot = runs.run(runs.request(), make_sink ? make_sink(runs.request()) : nullptr);
  return {std::move(snapshot), runs.tokenizer()};
}

}  // namespace kvscope::cli
