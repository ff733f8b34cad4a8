// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/attention.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.h"

namespace kvscope::cuda {

namespace {

/// Appends what is not empty; returns the number of slots.
int add_segments(std::span<const KvSegment> from, std::vector<Segment>& to) {
  int n = 0;
  for (const KvSegment& s : from) {
    if (s.n <= 0) continue;
    to.push_back({s.k, s.v, s.rows, s.rows, s.bias, n});
    n += s.n;
  }
  return n;
}

/// Jobs of steps as the kernels want them, and what they need beside.
class DecodeBatch {
 public:
  DecodeBatch(Device& device, int group) : device_(device), group_(static_cast<std::size_t>(group)) {}

  void add(const AttentionJob& from);
  void start(Rotations& rotations);

 private:
  struct Place {  // where something of a job begins
    std::size_t bias = 0, further = 0, keys = 0;
    bool has_bias = false, has_further = false, rotates = false;
  };
  std::size_t width() const { return group_ * static_cast<std::size_t>(device_.head_dim()); }
  void add_bias(const AttentionJob& from, const DecodeJob& job);
  void add_further(FurtherSlot& slot, DecodeJob& job);
  void add_wanted(const AttentionJob& from, DecodeJob& job);
  /// Slots that are rotated by their index are read where their rotated keys come to be.
  void read_rotated(std::byte* keys);
  DecodeArgs args_in_scratch() const;

  Device& device_;
  std::size_t group_;
  std::vector<DecodeJob> jobs_;
  std::vector<Place> places_;
  std::vector<Segment> segments_;
  std::vector<DecodeItem> items_;
  std::vector<float> biases_;           // and further slots
  std::vector<Mirrors::Piece> wanted_;  // by the host
  std::size_t raw_ = 0, rotated_ = 0;   // numbers: logits kept for probabilities, rotated keys
  int longest_ = 0;                     // of the caches with rotated keys
  bool any_probabilities_ = false;
};

void DecodeBatch::add(const AttentionJob& from) {
  DecodeJob job{.q = from.q,
                .out = from.out,
                .probabilities = from.probabilities,
                .logits = from.logits,
                .first_segment = static_cast<int>(segments_.size()),
                .first_item = static_cast<int>(items_.size())};
  job.n = add_segments(from.slots, segments_);
  job.n_segments = static_cast<int>(segments_.size()) - job.first_segment;
  job.n_items = (job.n + kChunkSlots - 1) / kChunkSlots;
  for (int c = 0; c < job.n_items; ++c) items_.push_back({static_cast<int>(jobs_.size()), c});
  places_.push_back({.bias = biases_.size(), .keys = rotated_, .has_bias = from.bias != nullptr, .rotates = from.rotate_by_index});
  if (from.bias) add_bias(from, job);
  if (from.further) add_further(*from.further, job);
  if (from.rotate_by_index) {
    rotated_ += static_cast<std::size_t>(job.n) * static_cast<std::size_t>(device_.head_dim());
    longest_ = std::max(longest_, job.n);
  }
  add_wanted(from, job);
  jobs_.push_back(job);
}

void DecodeBatch::add_bias(const AttentionJob& from, const DecodeJob& job) {
  const std::size_t begin = biases_.size();
  biases_.insert(biases_.end(), from.bias, from.bias + job.n);
  biases_.resize(begin + static_cast<std::size_t>(job.n_items) * kChunkSlots);  // the same places until there is another chunk
}

void DecodeBatch::add_further(FurtherSlot& slot, DecodeJob& job) {
  places_.back().further = biases_.size();
  places_.back().has_further = true;
  for (const std::vector<double>* numbers : {&slot.logits, &slot.values}) biases_.insert(biases_.end(), numbers->begin(), numbers->end());
  job.further_probabilities = slot.probabilities.data();
  device_.writes(job.further_probabilities, device_.bytes(group_));
  wanted_.push_back({job.further_probabilities, device_.bytes(group_)});
}

void DecodeBatch::add_wanted(const AttentionJob& from, DecodeJob& job) {
  const std::size_t numbers = group_ * static_cast<std::size_t>(job.n), out_bytes = device_.bytes(width());
  device_.writes(job.out, out_bytes);
  if (from.reads_out) wanted_.push_back({job.out, out_bytes});
  if (job.n == 0) return;
  if (job.probabilities) {
    job.raw = static_cast<long>(raw_);
    raw_ += numbers;
    any_probabilities_ = true;
  }
  for (void* const rows : {job.probabilities, job.logits})
    if (rows && !from.rows_stay) wanted_.push_back({rows, device_.bytes(numbers)});
}

void DecodeBatch::read_rotated(std::byte* keys) {
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (!places_[i].rotates) continue;
    for (int s = jobs_[i].first_segment; s < jobs_[i].first_segment + jobs_[i].n_segments; ++s) {
      Segment& segment = segments_[static_cast<std::size_t>(s)];
      segment.k = keys + device_.bytes(places_[i].keys) + device_.row_bytes() * static_cast<std::size_t>(segment.begin);
      segment.key_rows = nullptr;
    }
  }
}

DecodeArgs DecodeBatch::args_in_scratch() const {
  const std::size_t places = items_.size() + jobs_.size(), partial = items_.size() * width();
  DecodeArgs args{.n_jobs = static_cast<int>(jobs_.size()),
                  .n_items = static_cast<int>(items_.size()),
                  .group = static_cast<int>(group_),
                  .d = device_.head_dim()};
  args.partial = device_.scratch_of<float>(Device::Use::attention, partial + 2 * places * group_ + raw_);
  args.tops = args.partial + partial;
  args.sums = args.tops + places * group_;
  args.raw = args.sums + places * group_;
  return args;
}

void DecodeBatch::start(Rotations& rotations) {
  std::byte* const keys =
      rotated_ > 0 ? static_cast<std::byte*>(device_.scratch(Device::Use::rotated_keys, device_.bytes(rotated_))) : nullptr;
  const std::vector<Segment> unrotated = segments_;
  if (keys) {
    rotations.reserve(longest_);
    read_rotated(keys);
  }
  DecodeArgs args = args_in_scratch();

  device_.flush();
  Upload up(device_);
  const std::size_t at_segments = up.add(segments_), at_unrotated = up.add(unrotated), at_items = up.add(items_);
  // the biases' own place is known once they are on the device: they go first
  Upload bias_up(device_);
  const std::size_t at_biases = bias_up.add(biases_);
  if (!biases_.empty()) bias_up.send();
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (places_[i].has_bias) jobs_[i].bias = bias_up.at<float>(at_biases) + places_[i].bias;
    if (places_[i].has_further) jobs_[i].further = bias_up.at<float>(at_biases) + places_[i].further;
  }
  const std::size_t at_jobs = up.add(jobs_);
  up.send();
  args.jobs = up.at<DecodeJob>(at_jobs);
  args.segments = up.at<Segment>(at_segments);
  args.items = up.at<DecodeItem>(at_items);
  for (std::size_t i = 0; i < jobs_.size() && keys; ++i) {
    if (!places_[i].rotates) continue;
    const DecodeJob& job = jobs_[i];
    rotate_keys(device_.work(), device_.type(), up.at<Segment>(at_unrotated) + job.first_segment, job.n_segments, job.n, device_.head_dim(),
                rotations.cosines(), rotations.sines(), keys + device_.bytes(places_[i].keys));
  }
  decode_attention(device_.work(), device_.type(), args, any_probabilities_);
  device_.bring(std::move(wanted_));
  device_.work().pause();
}

}  // namespace

void attend(Device& device, int group, Rotations& rotations, std::span<const AttentionJob> jobs) {
  if (jobs.empty()) return;
  const auto held = device.lock();
  DecodeBatch batch(device, group);
  for (const AttentionJob& job : jobs) batch.add(job);
  batch.start(rotations);
}

namespace {

/// Whether the kernels for tensor cores have all of this job.
bool by_tiles(const Device& device, const PromptAttentionJob& job) {
  if (device.type() == DType::f32 || !device.has_tensor_cores() || device.head_dim() % 8 != 0) return false;
  const SumCount n = count_of_sums(job.columns);
  return shared_of_tiles(device.head_dim(), n.sums, n.lambdas) <= device.most_shared();
}

}  // namespace

void attend_prompt(Device& device, const ModelConfig& config, SumsUnderWay& sums, const PromptAttentionJob& job) {
  KVSCOPE_ASSERT(job.slots.size() == static_cast<std::size_t>(config.n_kv_heads) && job.first >= 0);
  KVSCOPE_ASSERT(job.probability_rows <= job.rows && job.logit_rows <= job.rows);
  if (job.rows <= 0) return;
  const auto held = device.lock();
  const int all = job.first + job.rows;
  std::vector<Segment> segments;
  std::vector<int> first_segment = {0};
  for (const std::vector<KvSegment>& head : job.slots) {
    const int n = add_segments(head, segments);
    KVSCOPE_ASSERT(n >= all);
    first_segment.push_back(static_cast<int>(segments.size()));
  }
  device.flush();
  Upload up(device);
  const std::size_t at_segments = up.add(segments), at_first = up.add(first_segment);
  up.send();
  const std::size_t n_rows = static_cast<std::size_t>(config.n_heads) * static_cast<std::size_t>(job.rows);
  const std::size_t table = by_tiles(device, job) ? round_up(static_cast<std::size_t>(all), kPromptTable) : 0,
                    n_places = table * static_cast<std::size_t>(config.n_kv_heads);
  auto** const places =
      static_cast<const void**>(device.scratch(Device::Use::attention, 2 * n_places * sizeof(const void*) + 2 * n_rows * sizeof(float)));
  auto* const numbers = reinterpret_cast<float*>(places + 2 * n_places);
  const PromptArgs args{.segments = up.at<Segment>(at_segments),
                        .first_segment = up.at<int>(at_first),
                        .n_heads = config.n_heads,
                        .n_kv_heads = config.n_kv_heads,
                        .d = config.head_dim,
                        .first = job.first,
                        .rows = job.rows,
                        .table = static_cast<int>(table),
                        .q = job.q,
                        .out = job.out,
                        .tops = numbers,
                        .sums = numbers + n_rows,
                        .keys = places,
                        .values = places + n_places};
  device.writes(job.out, device.row_bytes() * n_rows);
  const std::size_t of_row = device.bytes(static_cast<std::size_t>(config.n_heads) * static_cast<std::size_t>(all));
  if (job.probability_rows > 0) device.writes(job.probabilities, of_row * static_cast<std::size_t>(job.probability_rows));
  if (job.logit_rows > 0) device.writes(job.logits, of_row * static_cast<std::size_t>(job.logit_rows));
  prompt_attention(device.work(), device.type(), args);
  if (!job.columns.empty() || !job.outside.empty() || job.probability_rows > 0 || job.logit_rows > 0) {
    sums.start(device, config, job, args);
  } else if (job.sums_done) {
    job.sums_done();
  }
}

}  // namespace kvscope::cuda
