// SPDX-License-Identifier: Apache-2.0
#include "runtime/session.h"

#include <fmt/core.h>

#include "runtime/session_impl.h"

namespace kvscope {

namespace {

DType checked_precision(const SessionOptions& options) {
  if (options.device == "cuda") throw Error("device cuda: this build has no CUDA backend; use --device cpu");
  if (options.device != "cpu" && options.device != "auto") {
    throw UsageError(fmt::format("device '{}': expected auto, cpu or cuda", options.device));
  }
  if (options.precision != DType::f32 && options.precision != DType::f64) {
    throw Error(fmt::format("precision {} on the CPU: activations and caches are f32 or f64 there (weights stay as the file has them); use f32",
                            name_of(options.precision)));
  }
  return options.precision;
}

}  // namespace

Session::Impl::Impl(ModelFiles files, const SessionOptions& options)
    : backend(make_cpu_backend(checked_precision(options), files.config, {.n_threads = options.n_threads})),
      model(load_model(std::move(files), *backend)),
      forward(*backend, model),
      prompt(*backend, model),
      tape(*backend, model.config()),
      vocabulary(make_vocabulary(*model.files.tokenizer)) {}

Session::Session(ModelFiles model, const SessionOptions& options) : impl_(std::make_unique<Impl>(std::move(model), options)) {}
Session::~Session() = default;

const ModelConfig& Session::config() const { return impl_->model.config(); }
const Tokenizer& Session::tokenizer() const { return *impl_->model.files.tokenizer; }
std::string Session::device_name() const { return impl_->backend->name(); }

Snapshot Session::run(const RunRequest& request, const CancelToken& cancel, const Progress& progress, const Publish& publish) {
  return impl_->run(request, cancel, progress, publish);
}

}  // namespace kvscope
