// SPDX-License-Identifier: Apache-2.0
#include "runtime/speed.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "runtime/forward.h"
#include "runtime/model/synthetic_model.h"
#include "runtime/prompt/prompt_run.h"

namespace kvscope {

namespace {

using Clock = std::chrono::steady_clock;

/// Returns when everything that was asked of the backend so far is done.
void wait(Backend& backend, const void* memory) {
  char byte = 0;
  backend.download(&byte, memory, 1);
}

/// Median seconds of `body`, which waits for itself; at least 5 times and about half a second.
template <class Body>
double median_seconds(const CancelToken& cancel, const Body& body) {
  body();  // allocations, first use
  std::vector<double> seconds;
  for (double total = 0; (total < 0.5 || seconds.size() < 5) && seconds.size() < 200;) {
    cancel.check();
    const auto begin = Clock::now();
    body();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    total += seconds.back();
    if (total > 5 && seconds.size() >= 3) break;
  }
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2), seconds.end());
  return seconds[seconds.size() / 2];
}

/// Caches of `context` slots for every row, layer and head; every step looks at all of them and leaves them as they are.
class FullCaches final : public AttentionSite {
 public:
  FullCaches(Backend& backend, const ModelConfig& c, int batch, int context) : backend_(backend), c_(c), batch_(batch) {
    // numbers of an everyday size; what they are does not matter for the speed
    const Weight some = backend.synthetic_weight(DType::f32, 1, 64 * c.head_dim, 5);
    std::vector<float> host(static_cast<std::size_t>(64 * c.head_dim));
    backend.download(host.data(), some.data, host.size() * sizeof(float));
    const Buffer block = backend.allocate(host.size() * size_of(backend.dtype()));
    backend.from_double(const_cast<void*>(block.data()), std::vector<double>(host.begin(), host.end()));
    for (int i = 0; i < batch * c.n_layers * c.n_kv_heads; ++i) {
      HeadKv kv = backend.make_kv(context);
      for (int n = 0; n < context; n += 64) backend.append_kv(kv, block.data(), block.data(), std::min(64, context - n));
      segments_.push_back({kv.k.data(), kv.v.data(), context});
      caches_.push_back(std::move(kv));
    }
  }

  void attend(const LayerRows& rows) override {
    const std::size_t group_bytes = size_of(backend_.dtype()) * static_cast<std::size_t>(c_.group() * c_.head_dim);
    jobs_.clear();
    for (int r = 0; r < batch_; ++r) {
      for (int h = 0; h < c_.n_kv_heads; ++h) {
        const std::size_t at = group_bytes * static_cast<std::size_t>(r * c_.n_kv_heads + h);
        const KvSegment& slots = segments_[static_cast<std::size_t>((r * c_.n_layers + rows.layer) * c_.n_kv_heads + h)];
        jobs_.push_back({.slots = {&slots, 1},
                         .q = static_cast<std::byte*>(rows.q) + at,
                         .out = static_cast<std::byte*>(rows.out) + at,
                         .rule = c_.layer(rows.layer).logits});
      }
    }
    backend_.attend(jobs_);
  }

 private:
  Backend& backend_;
  const ModelConfig& c_;
  int batch_;
  std::vector<HeadKv> caches_;       // [batch, layers, KV heads]
  std::vector<KvSegment> segments_;  // of them
  std::vector<AttentionJob> jobs_;
};

const Weight& largest_matrix(const LayerWeights& layer) {
  const Weight* largest = &layer.wq;
  layer.for_each([&](const Weight& w) {
    if (static_cast<double>(w.in) * w.out > static_cast<double>(largest->in) * largest->out) largest = &w;
  });
  return *largest;
}

}  // namespace

SpeedLimits measure_limits(Backend& backend, const Model& model) {
  const bool device = backend.name().starts_with("cuda");
  const CancelToken never;
  SpeedLimits out;
  const std::size_t bytes = std::size_t{device ? 1024u : 64u} << 20;
  {
    const Buffer from = backend.allocate(bytes), to = backend.allocate(bytes);
    const double seconds = median_seconds(never, [&] {
      backend.copy(const_cast<void*>(to.data()), from.data(), bytes);
      wait(backend, to.data());
    });
    out.copy_gb_per_s = 2.0 * static_cast<double>(bytes) / seconds * 1e-9;
  }
  // the model's own matrix: a kernel's rate depends on type and shape
  const Weight& w = largest_matrix(model.layers.at(0));
  const int rows = device ? 4096 : 128;
  const std::size_t row = size_of(backend.dtype()) * static_cast<std::size_t>(rows);
  Buffer x = backend.allocate(row * static_cast<std::size_t>(w.in)), y = backend.allocate(row * static_cast<std::size_t>(w.out));
  const Weight some = backend.synthetic_weight(DType::f32, rows, w.in, 2);
  std::vector<int> ids(static_cast<std::size_t>(rows));
  std::iota(ids.begin(), ids.end(), 0);
  backend.embed(some, ids, x.data());
  const double seconds = median_seconds(never, [&] {
    backend.linear(x.data(), w, rows, y.data(), false);
    wait(backend, y.data());
  });
  out.products_tflops = 2.0 * rows * w.in * w.out / seconds * 1e-12;
  return out;
}

StepSpeed measure_steps(Backend& backend, const Model& model, int batch, int context, const CancelToken& cancel) {
  const ModelConfig& c = model.config();
  FullCaches caches(backend, c, batch, context);
  Forward forward(backend, model);
  std::vector<int> tokens, positions;
  for (int r = 0; r < batch; ++r) {
    tokens.push_back((1 + 7 * r) % c.vocab_size);
    positions.push_back(context);
  }
  std::vector<std::vector<double>> logits(static_cast<std::size_t>(batch), std::vector<double>(static_cast<std::size_t>(c.vocab_size)));
  std::vector<std::span<double>> rows(logits.begin(), logits.end());
  StepSpeed out{.batch = batch, .context = context};
  const double seconds = median_seconds(cancel, [&] {
    forward.run(tokens, positions, caches, cancel);
    forward.project(0, batch);
    forward.logits(rows);  // the sampler is on the host: this is where a step ends
  });
  out.ms = seconds * 1e3;
  out.tokens_per_s = batch / seconds;
  out.bytes = bytes_read_per_step(model) + 2.0 * batch * context * c.n_layers * c.kv_dim() * static_cast<double>(size_of(backend.dtype()));
  return out;
}

std::vector<int> measured_prompt(int n, int vocab_size) {
  std::vector<int> ids(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int>((1 + i * 7919) % static_cast<std::size_t>(vocab_size));
  return ids;
}

double measure_reading(Backend& backend, const Model& model, int n, ReadingSums sums, const CancelToken& cancel) {
  PromptNeeds needs;
  if (sums == ReadingSums::of_columns) {
    PromptNeeds::Columns& columns = needs.columns[static_cast<std::size_t>(GroupReduce::mean)];
    columns.sums = {{.power = 1, .decay = 0.99}, {.power = 1}, {.power = 2}};
    columns.hits = 64;
    needs.outside = {{.sinks = 4, .recent = 64}};
  }
  PromptRun prompt(backend, model);
  Forward forward(backend, model);
  std::vector<int> tokens = measured_prompt(n, model.config().vocab_size);
  std::vector<double> ms;
  for (double total = 0; ms.empty() || (total < 1000 && ms.size() < 6);) {  // where it takes long, once says enough
    std::rotate(tokens.begin(), tokens.end() - 1, tokens.end());            // another text
    const auto begin = Clock::now();
    prompt.update(tokens, needs, forward, cancel, {});
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    total += ms.back();
  }
  return *std::ranges::min_element(ms);  // the first finds memory
}

double reading_operations(const Model& model, int n) {
  const ModelConfig& c = model.config();
  const double rows = n;
  return 2.0 * products_per_token(c) * rows + 4.0 * rows * (rows + 1) / 2 * c.n_layers * c.q_dim();
}

}  // namespace kvscope
