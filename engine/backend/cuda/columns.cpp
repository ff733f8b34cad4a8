// SPDX-License-Identifier: Apache-2.0
// Sums over the rows of a prompt attention: the device makes those of this call, the host adds them to what is there.
#include "backend/cuda/columns.h"

#include <algorithm>
#include <utility>

#include "backend/cuda/check.h"
#include "core/error.h"

namespace kvscope::cuda {

namespace {

std::size_t hit_words(const ColumnSums& c) { return static_cast<std::size_t>((std::max(c.hit_rows, 0) + 63) / 64); }

}  // namespace

/// The sums of one call: where they are in the results, on the device and then on the host, and where they go.
class SumsUnderWay::Pass {
 public:
  Pass(const ModelConfig& config, const PromptAttentionJob& job);

  void start(Device& device, const PromptAttentionJob& job, const PromptArgs& prompt, PinnedMemory& host, Event& done);
  void add_to_what_is_there() const;

 private:
  struct Places {  // where the arrays of one ColumnSums begin, in doubles from the start of the results
    std::size_t sum = 0, sum_sq = 0, decayed = 0, hits = 0;
  };
  std::size_t take(bool wanted, std::size_t n);
  /// What the kernel is to know of columns_.
  std::vector<ColumnWant> wants(double* results, const double* lambdas) const;
  void add_columns(const ColumnSums& to, const Places& places, std::size_t head) const;

  int rows_;
  std::size_t all_, heads_, plane_, tiles_;
  double group_share_;
  std::vector<std::vector<ColumnSums::Decayed>> decayed_;
  std::vector<ColumnSums> columns_;
  std::vector<OutsideSum> outside_;
  std::function<void()> sums_done_;
  std::vector<Places> places_;
  std::size_t size_ = 0, outside_at_ = 0;
  const double* host_ = nullptr;
  cudaEvent_t done_ = nullptr;
};

SumsUnderWay::Pass::Pass(const ModelConfig& config, const PromptAttentionJob& job)
    : rows_(job.rows),
      all_(static_cast<std::size_t>(job.first + job.rows)),
      heads_(static_cast<std::size_t>(config.n_kv_heads)),
      plane_(heads_ * all_),
      tiles_((all_ + kColumnTile - 1) / kColumnTile),
      group_share_(1.0 / config.group()),
      columns_(job.columns.begin(), job.columns.end()),
      outside_(job.outside.begin(), job.outside.end()),
      sums_done_(job.sums_done) {
  decayed_.reserve(columns_.size());
  for (ColumnSums& c : columns_) {
    KVSCOPE_ASSERT(c.stride >= all_ && c.hit_rows <= job.rows && (c.hit_rows <= 0 || c.hits));
    c.decayed = decayed_.emplace_back(c.decayed.begin(), c.decayed.end());
    Places p;
    p.sum = take(c.sum != nullptr, plane_);
    p.sum_sq = take(c.sum_sq != nullptr, plane_);
    p.decayed = take(true, plane_ * c.decayed.size());
    p.hits = take(c.hit_rows > 0, plane_ * hit_words(c));
    places_.push_back(p);
  }
  outside_at_ = take(true, heads_ * tiles_ * outside_.size());
}

std::size_t SumsUnderWay::Pass::take(bool wanted, std::size_t n) {
  const std::size_t at = size_;
  size_ += wanted ? n : 0;
  return at;
}

std::vector<ColumnWant> SumsUnderWay::Pass::wants(double* results, const double* lambdas) const {
  std::vector<ColumnWant> out;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const ColumnSums& from = columns_[i];
    out.push_back({.largest = from.reduce == GroupReduce::max,
                   .share = from.reduce == GroupReduce::mean ? group_share_ : 1.0,
                   .sum = from.sum ? results + places_[i].sum : nullptr,
                   .sum_sq = from.sum_sq ? results + places_[i].sum_sq : nullptr,
                   .n_decayed = static_cast<int>(from.decayed.size()),
                   .lambdas = lambdas,
                   .decayed = results + places_[i].decayed,
                   .hit_rows = std::max(from.hit_rows, 0),
                   .hits = from.hit_rows > 0 ? reinterpret_cast<std::uint64_t*>(results + places_[i].hits) : nullptr});
    lambdas += from.decayed.size();
  }
  return out;
}

void SumsUnderWay::Pass::start(Device& device, const PromptAttentionJob& job, const PromptArgs& prompt, PinnedMemory& host, Event& done) {
  double* const results = device.scratch_of<double>(Device::Use::sums, std::max<std::size_t>(size_, 1));
  if (outside_at_ > 0) check(cudaMemsetAsync(results, 0, outside_at_ * sizeof(double), device.stream()), "clearing sums");
  std::vector<double> lambdas;
  for (const std::vector<ColumnSums::Decayed>& of_columns : decayed_)
    for (const ColumnSums::Decayed& d : of_columns) lambdas.push_back(d.lambda);
  Upload lambda_up(device), want_up(device);  // where the lambdas are is known when they have been sent
  const std::size_t at_lambdas = lambda_up.add(lambdas);
  lambda_up.send();
  const std::size_t at_wants = want_up.add(wants(results, lambda_up.at<double>(at_lambdas)));
  want_up.send();

  const bool all_rows = !columns_.empty() || !outside_.empty();
  ColumnArgs args{.prompt = prompt,
                  .probability_rows = std::max(job.probability_rows, 0),
                  .logit_rows = std::max(job.logit_rows, 0),
                  .n_sums = count_of_sums(columns_).sums,
                  .lambdas = lambda_up.at<double>(at_lambdas),
                  .n_lambdas = static_cast<int>(lambdas.size()),
                  .wants = want_up.at<ColumnWant>(at_wants),
                  .n_wants = static_cast<int>(columns_.size()),
                  .probabilities = job.probabilities,
                  .logits = job.logits};
  args.row_begin = all_rows ? 0 : job.rows - std::max(args.probability_rows, args.logit_rows);
  std::size_t begun = 0;
  do {  // more sums outside than fit in one pass are rare
    args.n_outside = static_cast<int>(std::min<std::size_t>(outside_.size() - begun, kMostOutside));
    for (int o = 0; o < args.n_outside; ++o) {
      const OutsideSum& outside = outside_[begun + static_cast<std::size_t>(o)];
      args.outside[o] = {outside.sinks, outside.recent};
    }
    args.outside_sums = results + outside_at_ + heads_ * tiles_ * begun;
    prompt_columns(device.work(), device.type(), args);
    begun += static_cast<std::size_t>(args.n_outside);
    args.n_wants = args.n_sums = args.n_lambdas = 0;
    args.probability_rows = args.logit_rows = 0;
  } while (begun < outside_.size());
  if (size_ == 0) return;
  auto* const to = reinterpret_cast<double*>(host.bytes(size_ * sizeof(double)));
  check(cudaMemcpyAsync(to, results, size_ * sizeof(double), cudaMemcpyDeviceToHost, device.stream()), "a download of sums");
  check(cudaEventRecord(done.get(), device.stream()), "marking a download of sums");
  host_ = to;
  done_ = done.get();
}

void SumsUnderWay::Pass::add_to_what_is_there() const {
  if (size_ > 0) check(cudaEventSynchronize(done_), "waiting for sums");
  for (std::size_t i = 0; i < columns_.size(); ++i)
    for (std::size_t h = 0; h < heads_; ++h) add_columns(columns_[i], places_[i], h);
  for (std::size_t first = 0; first < outside_.size(); first += kMostOutside) {
    const std::size_t n = std::min<std::size_t>(outside_.size() - first, kMostOutside);
    const double* from = host_ + outside_at_ + heads_ * tiles_ * first;
    for (std::size_t h = 0; h < heads_; ++h)
      for (std::size_t t = 0; t < tiles_; ++t)
        for (std::size_t o = 0; o < n; ++o) outside_[first + o].sum[h] += *from++;
  }
  if (sums_done_) sums_done_();
}

void SumsUnderWay::Pass::add_columns(const ColumnSums& to, const Places& places, std::size_t h) const {
  const auto add = [&](double* sums, std::size_t at, double keep) {
    const double* const from = host_ + at + h * all_;
    for (std::size_t j = 0; j < all_; ++j) sums[h * to.stride + j] = keep * sums[h * to.stride + j] + from[j];
  };
  if (to.sum) add(to.sum, places.sum, 1);
  if (to.sum_sq) add(to.sum_sq, places.sum_sq, 1);
  for (std::size_t x = 0; x < to.decayed.size(); ++x) {
    double decay = 1;
    for (int r = 0; r < rows_; ++r) decay *= to.decayed[x].lambda;
    add(to.decayed[x].sum, places.decayed + x * plane_, decay);
  }
  for (std::size_t w = 0; w < hit_words(to); ++w) {
    const std::size_t row = h * hit_words(to) + w;
    const auto* from = reinterpret_cast<const std::uint64_t*>(host_ + places.hits) + row * all_;
    std::copy_n(from, all_, to.hits + row * to.stride);
  }
}

SumCount count_of_sums(std::span<const ColumnSums> columns) {
  SumCount n;
  for (const ColumnSums& c : columns) {
    n.lambdas += static_cast<int>(c.decayed.size());
    n.sums += static_cast<int>(c.decayed.size()) + (c.sum ? 1 : 0) + (c.sum_sq ? 1 : 0);
  }
  return n;
}

SumsUnderWay::SumsUnderWay() = default;
SumsUnderWay::~SumsUnderWay() = default;

void SumsUnderWay::start(Device& device, const ModelConfig& config, const PromptAttentionJob& job, const PromptArgs& args) {
  auto pass = std::make_unique<Pass>(config, job);
  next_ = 1 - next_;
  pass->start(device, job, args, host_[next_], done_[next_]);
  finish();  // what came before: the device has this one to do
  under_way_ = std::move(pass);
  if (!job.sums_done) finish();
}

void SumsUnderWay::finish() {
  if (const auto pass = std::exchange(under_way_, nullptr)) pass->add_to_what_is_there();
}

}  // namespace kvscope::cuda
