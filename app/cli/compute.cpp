// SPDX-License-Identifier: Apache-2.0
#include "app/cli/compute.h"

#include <utility>

#include "app/cli/inputs.h"
#include "app/cli/progress.h"
#include "runtime/session/session.h"

namespace kvscope::cli {

Result compute(const Arguments& a, Detail detail, bool shadow, const MeasureSet& measures, const CancelToken& cancel,
               const MakeSink& make_sink) {
  ModelFiles model = open_model_of(a);
  RunRequest request = make_request(a, model);
  request.detail = detail;
  request.shadow = shadow && (!a.session || request.shadow);  // a session may have switched it off
  request.measures = measures;
  request.n_logits = a.logits;
  request.ignore_end = a.ignore_eos;
  const std::shared_ptr<const Tokenizer> tokenizer = model.tokenizer;
  cancel.check();
  Session session(std::move(model), {.precision = a.precision, .n_threads = a.threads, .device = a.device, .record_limit = a.memory});
  Progress progress(a.quiet);
  Snapshot snapshot = session.run(
      request, cancel, [&](const std::string& activity, double fraction) { progress.show(activity, fraction); }, {},
      make_sink ? make_sink(request) : nullptr);
  return {std::move(snapshot), tokenizer};
}

}  // namespace kvscope::cli
