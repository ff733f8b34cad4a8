// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/session.h"

#include <algorithm>
#include <utility>

#include "core/machine_memory.h"
#include "runtime/session/session_impl.h"

namespace kvscope {

Session::Impl::Impl(ChosenBackend chosen, Model loaded)
    : backend(std::move(chosen.backend)),
      device_notice(std::move(chosen.notice)),
      model(std::move(loaded)),
      policy_cache(model.config(), model.files.folder),
      forward(*backend, model),
      prompt(*backend, model),
      probes(*backend, model),
      tape(*backend, model.config()),
      vocabulary(make_vocabulary(*model.files.tokenizer)),
      reference(*backend, forward, model.config()) {}

Session::Session(ModelFiles files, const SessionOptions& options) {
  ChosenBackend chosen = choose_backend(options, files);
  Model model = load_model(std::move(files), *chosen.backend);
  impl_ = std::make_unique<Impl>(std::move(chosen), std::move(model));
  set_record_limit(options.record_limit);
}
Session::Session(std::unique_ptr<Backend> backend, Model model, std::string notice)
    : impl_(std::make_unique<Impl>(ChosenBackend{std::move(backend), std::move(notice)}, std::move(model))) {}
Session::~Session() = default;

std::size_t default_record_limit() {
  return static_cast<std::size_t>(std::max(machine_memory() / 4, static_cast<double>(std::size_t{1} << 30)));
}

void Session::set_record_limit(std::size_t bytes) { impl_->record_limit = static_cast<double>(bytes > 0 ? bytes : default_record_limit()); }

const ModelConfig& Session::config() const { return impl_->model.config(); }
const Tokenizer& Session::tokenizer() const { return *impl_->model.files.tokenizer; }
std::string Session::device_name() const { return impl_->backend->name(); }

Snapshot Session::run(const RunRequest& request, const CancelToken& cancel, const Progress& progress, const Publish& publish,
                      RecordSink* sink) {
  return impl_->run(request, cancel, progress, publish, sink);
}

}  // namespace kvscope
