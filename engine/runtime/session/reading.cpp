// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/reading.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "core/cache_bytes.h"
#include "measure/perturbation.h"
#include "runtime/model/devices.h"

namespace kvscope {

namespace {

constexpr double kPictures = 0.05;  // of the time, at most
constexpr double kLittle = 0.25;    // of what the whole text costs

}  // namespace

std::string time_left(double ms, double share) {
  const double seconds = std::max(1.0, ms / share * (1 - share) / 1000);
  return seconds < 99.5 ? fmt::format("about {:.0f} s", seconds) : fmt::format("about {:.0f} min", seconds / 60);
}

CompressionProgress::CompressionProgress(std::span<const std::string> policies, int n_layers, const std::map<std::string, double>& took) {
  double known = 0;
  int n_known = 0;
  for (const std::string& policy : policies)
    if (const auto cost = took.find(policy); cost != took.end()) known += cost->second, ++n_known;
  for (const std::string& policy : policies) {
    const auto cost = took.find(policy);
    all_ += n_layers * (weights_[policy] = cost != took.end() ? cost->second : n_known > 0 ? known / n_known : 1);
    n_layers_ += n_layers;
  }
}

void CompressionProgress::layer_done(const std::string& policy) {
  ++n_done_;
  done_ += weights_.at(policy);
}

std::string CompressionProgress::words() const {
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  return fmt::format("prompt, compressing, layer {} of {}{}", n_done_, n_layers_,
                     ms < Reading::Pace().tell || share() <= 0 ? "" : ", " + time_left(ms, share()) + " left");
}

void drop_unread(Snapshot& snapshot) {
  const auto unread = [](const LaneSnapshot& lane) { return lane.steps.empty() || lane.steps.front()->top1 < 0; };
  if (!snapshot.lanes.empty() && unread(snapshot.lanes.front())) snapshot.lanes.clear();
  std::erase_if(snapshot.lanes, unread);
}

Reading::Reading(const ModelConfig& config, PromptRun& prompt, int n_tokens, DType precision, const RecordOptions& record, const Pace& pace)
    : config_(config), prompt_(prompt), n_tokens_(n_tokens), precision_(precision), record_(record), pace_(pace) {}

void Reading::show_to(const std::function<void(Snapshot)>& publish, const Picture& picture, Screen screen) {
  const bool shows = publish && record_.slots;
  prompt_.watch(shows && record_.captures);
  if (!shows) return;
  publish_ = publish;
  picture_ = picture;
  screen_ = screen;
  if (screen == Screen::nothing) {
    Snapshot text = picture_();
    text.lanes.clear();  // they have nothing yet
    publish_(std::move(text));
  }
  shown_ = screen == Screen::nothing;
  show_after_ = ms() + pace_.show;
}

double Reading::cost(double n) const {
  // the attention of a token grows with those before it, what its weights cost does not
  const double weights = 2.0 * config_.dim * (config_.q_dim() + config_.kv_dim()) + 3.0 * config_.dim * config_.hidden_dim;
  return weights * n + config_.q_dim() * n * n;
}

double Reading::share() const {
  if (layer_ < 0) return 0;
  const double before = prompt_.n_done(), now = prompt_.n_in_work();
  const double at = before + (now - before) * (layer_ + 1) / config_.n_layers;
  return std::clamp((cost(at) - cost(first_)) / (cost(n_tokens_) - cost(first_)), 0.0, 1.0);
}

std::string Reading::words() const {
  std::string out = fmt::format("prompt, {} of {} tokens, layer {} of {}", prompt_.n_in_work(), n_tokens_, layer_ + 1, config_.n_layers);
  if (ms() >= pace_.tell) out += ", " + time_left(ms(), share()) + " of reading left";
  return out;
}

void Reading::layer_done(int layer) {
  if (first_ < 0) first_ = prompt_.n_done();
  layer_ = layer;
  const bool whole = layer + 1 == config_.n_layers, last = prompt_.n_in_work() == n_tokens_;
  if (whole && !last && publish_ && ms() >= show_after_) show();
}

void Reading::show() {
  if (screen_ == Screen::results && cost(n_tokens_) - cost(first_) < kLittle * cost(n_tokens_)) return;
  const double before = ms(), done = share();
  if (!shown_ && before / done * (1 - done) < pace_.show_left) return;
  shown_ = true;
  Snapshot out = picture_();
  out.activity = words();
  const StepPtr step = record();
  LaneFates all;
  all.n_tokens = n_tokens_;  // those to come have their place on the axis
  all.heads.resize(step->heads.size());
  const auto fates = std::make_shared<const LaneFates>(extend_fates(std::move(all), 0, {step}));
  for (LaneSnapshot& lane : out.lanes) {
    if (!lane.steps.empty()) continue;
    lane.steps = {step};
    lane.fates = fates;
    lane.slots = prompt_.n_in_work();
    lane.kv_bytes = full_cache_bytes(config_, precision_, prompt_.n_in_work());
  }
  publish_(std::move(out));
  const double took = ms() - before;
  show_after_ = ms() + std::max(pace_.every, took / kPictures);
}

StepPtr Reading::record() const {
  const int n = prompt_.n_in_work(), group = config_.group();
  auto out = std::make_shared<StepRecord>();
  out->position = n - 1;
  out->kl = kNotAvailable;
  out->top1 = out->top1_reference = -1;
  std::vector<int> pos(static_cast<std::size_t>(n));
  std::iota(pos.begin(), pos.end(), 0);
  const std::vector<int> votes(pos.size(), 1);
  for (int l = 0; l < config_.n_layers; ++l) {
    for (int h = 0; h < config_.n_kv_heads; ++h) {
      HeadRecord& head = out->heads.emplace_back();
      head.layer = l;
      head.kv_head = h;
      head.n_slots = n;
      head.pos = pos;
      head.votes = votes;
      head.compress_rel_l2 = kNotAvailable;
      if (!record_.captures) continue;
      const auto rows = prompt_.last_attention(l).subspan(static_cast<std::size_t>(h) * group * pos.size(), group * pos.size());
      head.attended = pos;
      head.attention = mean_over_group(rows, group);
    }
  }
  return out;
}

}  // namespace kvscope
