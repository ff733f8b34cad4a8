// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "backend/cuda/check.h"
#include "backend/cuda/cuda_backend.h"
#include "core/error.h"

namespace kvscope::cuda {

namespace {

/// Appends what is not empty; returns the number of slots.
int add_segments(std::span<const KvSegment> from, std::vector<Segment>& to) {
  int n = 0;
  for (const KvSegment& s : from) {
    if (s.n <= 0) continue;
    to.push_back({s.k, s.v, s.rows, s.rows, n});
    n += s.n;
  }
  return n;
}

}  // namespace

void CudaBackend::attend(std::span<const AttentionJob> jobs) {
  if (jobs.empty()) return;
  const auto held = device_->lock();
  const std::size_t group = static_cast<std::size_t>(config_.group()), group_bytes = row_bytes() * group;
  std::vector<DecodeJob> to;
  std::vector<Segment> segments;
  std::vector<DecodeItem> items;
  std::vector<float> biases;
  std::vector<std::size_t> bias_of(jobs.size()), keys_of(jobs.size());
  std::vector<Mirrors::Piece> wanted;  // by the host
  std::size_t raw = 0, rotated = 0;
  int longest = 0;
  bool any_probabilities = false;
  DecodeArgs args{.n_jobs = static_cast<int>(jobs.size()), .group = config_.group(), .d = config_.head_dim};
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const AttentionJob& from = jobs[i];
    DecodeJob job{.q = from.q,
                  .out = from.out,
                  .probabilities = from.probabilities,
                  .logits = from.logits,
                  .first_segment = static_cast<int>(segments.size()),
                  .first_item = static_cast<int>(items.size())};
    job.n = add_segments(from.slots, segments);
    const std::size_t n = static_cast<std::size_t>(job.n);
    job.n_segments = static_cast<int>(segments.size()) - job.first_segment;
    job.n_items = (job.n + kChunkSlots - 1) / kChunkSlots;
    for (int c = 0; c < job.n_items; ++c) items.push_back({static_cast<int>(i), c});
    bias_of[i] = biases.size();
    if (from.bias) {
      biases.insert(biases.end(), from.bias, from.bias + n);
      biases.resize(bias_of[i] + static_cast<std::size_t>(job.n_items) * kChunkSlots);  // the same places until there is another chunk
    }
    keys_of[i] = rotated;
    if (from.rotate_by_index) {
      rotated += n * static_cast<std::size_t>(config_.head_dim);
      longest = std::max(longest, job.n);
    }
    device_->writes(job.out, group_bytes);
    if (from.reads_out) wanted.push_back({job.out, group_bytes});
    if (job.probabilities && n > 0) {
      job.raw = static_cast<long>(raw);
      raw += group * n;
      any_probabilities = true;
    }
    for (void* const rows : {job.probabilities, job.logits})
      if (rows && n > 0) wanted.push_back({rows, bytes(group * n)});
    to.push_back(job);
  }
  args.n_items = static_cast<int>(items.size());

  std::byte* const keys = rotated > 0 ? static_cast<std::byte*>(device_->scratch(Device::Use::rotated_keys, bytes(rotated))) : nullptr;
  if (rotated > 0) reserve_rotations(longest);
  std::vector<Segment> unrotated = segments;
  for (std::size_t i = 0; i < jobs.size() && rotated > 0; ++i) {
    if (!jobs[i].rotate_by_index) continue;
    for (int s = to[i].first_segment; s < to[i].first_segment + to[i].n_segments; ++s) {
      Segment& segment = segments[static_cast<std::size_t>(s)];
      segment.k = keys + bytes(keys_of[i]) + row_bytes() * static_cast<std::size_t>(segment.begin);
      segment.key_rows = nullptr;
    }
  }

  const std::size_t places = items.size() + jobs.size();
  float* const numbers = device_->scratch_of<float>(
      Device::Use::attention, items.size() * group * static_cast<std::size_t>(config_.head_dim) + 2 * places * group + raw);
  args.partial = numbers;
  args.tops = args.partial + items.size() * group * static_cast<std::size_t>(config_.head_dim);
  args.sums = args.tops + places * group;
  args.raw = args.sums + places * group;

  device_->flush();
  Upload up(*device_);
  const std::size_t at_segments = up.add(segments), at_unrotated = up.add(unrotated), at_items = up.add(items);
  // the biases' own place is known once they are on the device: they go first
  Upload bias_up(*device_);
  const std::size_t at_biases = bias_up.add(biases);
  if (!biases.empty()) bias_up.send();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].bias) to[i].bias = bias_up.at<float>(at_biases) + bias_of[i];
  }
  const std::size_t at_jobs = up.add(to);
  up.send();
  args.jobs = up.at<DecodeJob>(at_jobs);
  args.segments = up.at<Segment>(at_segments);
  args.items = up.at<DecodeItem>(at_items);
  for (std::size_t i = 0; i < jobs.size() && rotated > 0; ++i) {
    if (!jobs[i].rotate_by_index) continue;
    rotate_keys(work(), dtype_, up.at<Segment>(at_unrotated) + to[i].first_segment, to[i].n_segments, to[i].n, config_.head_dim,
                cosines_.as<float>(), sines_.as<float>(), keys + bytes(keys_of[i]));
  }
  decode_attention(work(), dtype_, args, any_probabilities);
  device_->bring(std::move(wanted));
  work().pause();
}

void CudaBackend::attend_prompt(const PromptAttentionJob& job) {
  KVSCOPE_ASSERT(job.slots.size() == static_cast<std::size_t>(config_.n_kv_heads) && job.first >= 0);
  KVSCOPE_ASSERT(job.probability_rows <= job.rows && job.logit_rows <= job.rows);
  if (job.rows <= 0) return;
  const auto held = device_->lock();
  const int all = job.first + job.rows;
  std::vector<Segment> segments;
  std::vector<int> first_segment = {0};
  for (const std::vector<KvSegment>& head : job.slots) {
    const int n = add_segments(head, segments);
    KVSCOPE_ASSERT(n >= all);
    first_segment.push_back(static_cast<int>(segments.size()));
  }
  device_->flush();
  Upload up(*device_);
  const std::size_t at_segments = up.add(segments), at_first = up.add(first_segment);
  up.send();
  const std::size_t n_rows = static_cast<std::size_t>(config_.n_heads) * static_cast<std::size_t>(job.rows);
  float* const numbers = device_->scratch_of<float>(Device::Use::attention, 2 * n_rows);
  const PromptArgs args{.segments = up.at<Segment>(at_segments),
                        .first_segment = up.at<int>(at_first),
                        .n_heads = config_.n_heads,
                        .n_kv_heads = config_.n_kv_heads,
                        .d = config_.head_dim,
                        .first = job.first,
                        .rows = job.rows,
                        .q = job.q,
                        .out = job.out,
                        .tops = numbers,
                        .sums = numbers + n_rows};
  device_->writes(job.out, row_bytes() * n_rows);
  const std::size_t of_row = bytes(static_cast<std::size_t>(config_.n_heads) * static_cast<std::size_t>(all));
  if (job.probability_rows > 0) device_->writes(job.probabilities, of_row * static_cast<std::size_t>(job.probability_rows));
  if (job.logit_rows > 0) device_->writes(job.logits, of_row * static_cast<std::size_t>(job.logit_rows));
  prompt_attention(work(), dtype_, args);
  if (!job.columns.empty() || !job.outside.empty() || job.probability_rows > 0 || job.logit_rows > 0) sum_columns(job, args);
}

}  // namespace kvscope::cuda
