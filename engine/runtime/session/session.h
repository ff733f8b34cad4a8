// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "arch/model_files.h"
#include "backend/backend.h"
#include "core/cancel.h"
#include "core/error.h"
#include "runtime/model/devices.h"
#include "runtime/model/model.h"
#include "runtime/session/record_sink.h"
#include "runtime/session/run_request.h"
#include "snapshot/snapshot.h"

namespace kvscope {

/// A prompt of more tokens than the model was made for.
class PromptTooLong : public Error {
 public:
  PromptTooLong(const std::string& sentence, PromptCut what_fits) : Error(sentence), cut(std::move(what_fits)) {}
  PromptCut cut;
};

/// A quarter of the machine's memory, at least 1 GiB.
std::size_t default_record_limit();

/// One model and one run over it: lanes side by side on one prompt. Synchronous and single-threaded to its caller; keeps what it computed,
/// so that the next request re-runs only what changed (longest common prefix of the tokens, lanes added, generation continued).
class Session {
 public:
  /// Called between layers and steps. activity: "layer 3 of 6"; fraction of the whole request in [0, 1].
  using Progress = std::function<void(const std::string& activity, double fraction)>;
  /// Called with a partial result worth showing (after the prompt, after steps). Optional.
  using Publish = std::function<void(Snapshot)>;

  /// Throws Error (model files, device, memory).
  Session(ModelFiles model, const SessionOptions& options);
  /// On a backend that the caller has made, with the weights that it holds. notice: of every run, ChosenBackend.
  Session(std::unique_ptr<Backend> backend, Model model, std::string notice = "");
  ~Session();

  /// Memory for recorded results, in bytes; 0: default_record_limit(). Past it the oldest steps keep only figures, and the lanes say so.
  void set_record_limit(std::size_t bytes);

  const ModelConfig& config() const;
  const Tokenizer& tokenizer() const;
  std::string device_name() const;

  /// Brings the run to the requested state and returns it. Throws Error or UsageError on bad requests (too long prompt, bad lane),
  /// Cancelled when cancelled; the session then stays usable and continues from what was finished. sink: takes every record when it is
  /// final; the run starts anew, the snapshot's records then have no heads and no fates, and the next request starts anew too.
  Snapshot run(const RunRequest& request, const CancelToken& cancel, const Progress& progress = {}, const Publish& publish = {},
               RecordSink* sink = nullptr);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvscope
