// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/loading.h"

#include <utility>

#include "cache/history.h"
#include "runtime/forward.h"

namespace kvscope {

namespace {

constexpr std::chrono::milliseconds kReportEvery{50};
constexpr std::size_t kPage = 4096, kPiece = std::size_t{4} << 20;

/// Touches every page: weights are used where they are mapped, and a file that is not in memory yet is read here, where it is counted and
/// can be ended, not somewhere in the first run.
void read_weights(const ModelFiles& files, LoadWatch& watch) {
  const auto touch = [&](const TensorView& tensor) {
    for (std::size_t at = 0; at < tensor.bytes.size(); at += kPiece) {
      const std::size_t end = std::min(at + kPiece, tensor.bytes.size());
      for (std::size_t i = at; i < end; i += kPage) static_cast<void>(*static_cast<const volatile std::byte*>(&tensor.bytes[i]));
      watch.add(static_cast<double>(end - at));
    }
  };
  touch(files.embedding);
  touch(files.final_norm);
  if (!files.config.tied_embeddings) touch(files.lm_head);
  for (const LayerTensors& layer : files.layers) layer.for_each(touch);
}

/// A token that sees only itself.
class OneToken final : public AttentionSite {
 public:
  OneToken(Backend& backend, const ModelConfig& config) : backend_(backend), config_(config) {}

  void attend(const LayerRows& rows) override {
    History history(backend_, config_.n_kv_heads);
    history.append(rows.k, rows.v, size_of(backend_.dtype()) * static_cast<std::size_t>(config_.head_dim));
    std::vector<std::vector<KvSegment>> slots;
    for (int h = 0; h < config_.n_kv_heads; ++h) slots.push_back(history.segments(h));
    backend_.attend_prompt({.slots = slots, .rows = 1, .q = rows.q, .out = rows.out, .layer = config_.layer(rows.layer)});
  }

 private:
  Backend& backend_;
  const ModelConfig& config_;
};

void run_once(Backend& backend, const Model& model, const CancelToken& cancel) {
  OneToken site(backend, model.config());
  Forward forward(backend, model);
  const int token = 0, position = 0;
  forward.run({&token, 1}, {&position, 1}, site, cancel);
}

}  // namespace

LoadWatch::LoadWatch(const CancelToken& cancel, Report report) : cancel_(cancel), report_(std::move(report)) {
  for (const char* name : {"read header", "map weights", "build", "warm up"}) stages_.push_back({.name = name});
}

void LoadWatch::report() {
  reported_ = Clock::now();
  stages_[now_].ms = std::chrono::duration<double, std::milli>(reported_ - began_).count();
  if (report_) report_(stages_);
}

void LoadWatch::begin(Stage stage, double of_bytes) {
  cancel_.check();
  for (; now_ < stage; ++now_) {
    LoadStage& before = stages_[now_];
    before.state = LoadStage::State::done;
    before.ms = std::chrono::duration<double, std::milli>(Clock::now() - began_).count();
  }
  stages_[now_].state = LoadStage::State::running;
  stages_[now_].of_bytes = of_bytes;
  began_ = Clock::now();
  report();
}

void LoadWatch::add(double bytes) {
  cancel_.check();
  stages_[now_].bytes += bytes;
  if (Clock::now() - reported_ >= kReportEvery) report();
}

std::unique_ptr<Session> load_session(const std::string& folder, const SessionOptions& options, LoadWatch& watch) {
  watch.begin(LoadWatch::read_header);
  ModelFiles files = open_model(folder);
  const double bytes = static_cast<double>(files.weight_bytes);
  ChosenBackend chosen = choose_backend(options, files);  // before anything large is read: it knows whether the model fits
  watch.begin(LoadWatch::map_weights, bytes);
  read_weights(files, watch);
  watch.begin(LoadWatch::build, bytes);
  Model model = load_model(std::move(files), *chosen.backend, [&watch](std::size_t n) { watch.add(static_cast<double>(n)); });
  watch.begin(LoadWatch::warm_up);
  run_once(*chosen.backend, model, watch.cancel());
  auto session = std::make_unique<Session>(std::move(chosen.backend), std::move(model), std::move(chosen.notice));
  session->set_record_limit(options.record_limit);
  return session;
}

}  // namespace kvscope
