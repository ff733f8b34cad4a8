// SPDX-License-Identifier: Apache-2.0
// Sums over the rows of a prompt attention: the device makes those of this call, the host adds them to what is there.
#include <algorithm>
#include <vector>

#include "backend/cuda/attention.h"
#include "backend/cuda/check.h"
#include "core/error.h"

namespace kvscope::cuda {

namespace {

std::size_t hit_words(const ColumnSums& c) { return static_cast<std::size_t>((c.hit_rows + 63) / 64); }

/// The sums of one call: where they are in the results, on the device and then on the host, and how they come there.
class ColumnPass {
 public:
  ColumnPass(Device& device, const ModelConfig& config, const PromptAttentionJob& job, const PromptArgs& args);

  void run();
  void add_to_what_is_there() const;

 private:
  struct Places {  // where the arrays of one ColumnSums begin, in doubles from the start of the results
    std::size_t sum = 0, sum_sq = 0, decayed = 0, hits = 0;
  };
  std::size_t take(bool wanted, std::size_t n);
  void lay_out();
  /// What the kernel is to know of job.columns.
  void send_wants();
  /// What the rows of a pass gave outside of the columns that stay.
  void add_outside(std::size_t first, std::size_t n) const;
  void add_columns(const ColumnSums& to, const Places& places, std::size_t head) const;

  Device& device_;
  const PromptAttentionJob& job_;
  std::size_t all_, heads_, plane_, tiles_;
  double group_share_;
  std::vector<Places> places_;
  std::size_t size_ = 0, outside_at_ = 0;
  double* results_ = nullptr;
  Upload lambdas_, wants_;
  ColumnArgs args_;
  std::vector<double> host_;
};

ColumnPass::ColumnPass(Device& device, const ModelConfig& config, const PromptAttentionJob& job, const PromptArgs& args)
    : device_(device),
      job_(job),
      all_(static_cast<std::size_t>(job.first + job.rows)),
      heads_(static_cast<std::size_t>(config.n_kv_heads)),
      plane_(heads_ * all_),
      tiles_((all_ + kColumnTile - 1) / kColumnTile),
      group_share_(1.0 / config.group()),
      lambdas_(device),
      wants_(device),
      args_{.prompt = args} {
  lay_out();
  results_ = device.scratch_of<double>(Device::Use::sums, std::max<std::size_t>(size_, 1));
  check(cudaMemsetAsync(results_, 0, outside_at_ * sizeof(double), device.stream()), "clearing sums");
  send_wants();
  args_.probability_rows = std::max(job.probability_rows, 0);
  args_.probabilities = job.probabilities;
  args_.logit_rows = std::max(job.logit_rows, 0);
  args_.logits = job.logits;
  args_.outside_sums = results_ + outside_at_;
  const bool all_rows = !job.columns.empty() || !job.outside.empty();
  args_.row_begin = all_rows ? 0 : job.rows - std::max(args_.probability_rows, args_.logit_rows);
}

std::size_t ColumnPass::take(bool wanted, std::size_t n) {
  const std::size_t at = size_;
  size_ += wanted ? n : 0;
  return at;
}

void ColumnPass::lay_out() {
  for (const ColumnSums& c : job_.columns) {
    KVSCOPE_ASSERT(c.stride >= all_ && c.hit_rows <= job_.rows && (c.hit_rows <= 0 || c.hits));
    Places p;
    p.sum = take(c.sum != nullptr, plane_);
    p.sum_sq = take(c.sum_sq != nullptr, plane_);
    p.decayed = take(true, plane_ * c.decayed.size());
    p.hits = take(c.hit_rows > 0, plane_ * hit_words(c));
    places_.push_back(p);
  }
  outside_at_ = take(true, heads_ * tiles_ * std::min<std::size_t>(job_.outside.size(), kMostOutside));
}

void ColumnPass::send_wants() {
  std::vector<double> lambdas;
  for (const ColumnSums& c : job_.columns)
    for (const ColumnSums::Decayed& d : c.decayed) lambdas.push_back(d.lambda);
  const std::size_t at_lambdas = lambdas_.add(lambdas);
  lambdas_.send();
  const double* lambda = lambdas_.at<double>(at_lambdas);
  std::vector<ColumnWant> wants;
  for (std::size_t i = 0; i < job_.columns.size(); ++i) {
    const ColumnSums& from = job_.columns[i];
    wants.push_back({.largest = from.reduce == GroupReduce::max,
                     .share = from.reduce == GroupReduce::mean ? group_share_ : 1.0,
                     .sum = from.sum ? results_ + places_[i].sum : nullptr,
                     .sum_sq = from.sum_sq ? results_ + places_[i].sum_sq : nullptr,
                     .n_decayed = static_cast<int>(from.decayed.size()),
                     .lambdas = lambda,
                     .decayed = results_ + places_[i].decayed,
                     .hit_rows = std::max(from.hit_rows, 0),
                     .hits = from.hit_rows > 0 ? reinterpret_cast<std::uint64_t*>(results_ + places_[i].hits) : nullptr});
    lambda += from.decayed.size();
  }
  const std::size_t at_wants = wants_.add(wants);
  wants_.send();
  args_.wants = wants_.at<ColumnWant>(at_wants);
  args_.n_wants = static_cast<int>(wants.size());
  args_.lambdas = lambdas_.at<double>(at_lambdas);
  args_.n_lambdas = count_of_sums(job_.columns).lambdas;
  args_.n_sums = count_of_sums(job_.columns).sums;
}

void ColumnPass::run() {
  std::size_t done = 0;
  do {  // more sums outside than fit in one pass are rare
    args_.n_outside = static_cast<int>(std::min<std::size_t>(job_.outside.size() - done, kMostOutside));
    for (int o = 0; o < args_.n_outside; ++o) {
      const auto& outside = job_.outside[done + static_cast<std::size_t>(o)];
      args_.outside[o] = {outside.sinks, outside.recent};
    }
    prompt_columns(device_.work(), device_.type(), args_);
    const std::size_t n_outside = static_cast<std::size_t>(args_.n_outside), here = done == 0 ? 0 : outside_at_;
    host_.resize(size_);
    if (size_ > 0)
      device_.download(host_.data() + here, results_ + here, (outside_at_ + heads_ * tiles_ * n_outside - here) * sizeof(double));
    add_outside(done, n_outside);
    done += n_outside;
    args_.n_wants = args_.n_sums = args_.n_lambdas = 0;
    args_.probability_rows = args_.logit_rows = 0;
  } while (done < job_.outside.size());
}

void ColumnPass::add_outside(std::size_t first, std::size_t n) const {
  for (std::size_t h = 0; h < heads_; ++h)
    for (std::size_t t = 0; t < tiles_; ++t)
      for (std::size_t o = 0; o < n; ++o) job_.outside[first + o].sum[h] += host_[outside_at_ + (h * tiles_ + t) * n + o];
}

void ColumnPass::add_to_what_is_there() const {
  for (std::size_t i = 0; i < job_.columns.size(); ++i)
    for (std::size_t h = 0; h < heads_; ++h) add_columns(job_.columns[i], places_[i], h);
}

void ColumnPass::add_columns(const ColumnSums& to, const Places& places, std::size_t h) const {
  const auto add = [&](double* sums, std::size_t at, double keep) {
    const double* const from = host_.data() + at + h * all_;
    for (std::size_t j = 0; j < all_; ++j) sums[h * to.stride + j] = keep * sums[h * to.stride + j] + from[j];
  };
  if (to.sum) add(to.sum, places.sum, 1);
  if (to.sum_sq) add(to.sum_sq, places.sum_sq, 1);
  for (std::size_t x = 0; x < to.decayed.size(); ++x) {
    double decay = 1;
    for (int r = 0; r < job_.rows; ++r) decay *= to.decayed[x].lambda;
    add(to.decayed[x].sum, places.decayed + x * plane_, decay);
  }
  for (std::size_t w = 0; w < hit_words(to) && to.hit_rows > 0; ++w) {
    const std::size_t row = h * hit_words(to) + w;
    const auto* from = reinterpret_cast<const std::uint64_t*>(host_.data() + places.hits) + row * all_;
    std::copy_n(from, all_, to.hits + row * to.stride);
  }
}

}  // namespace

SumCount count_of_sums(std::span<const ColumnSums> columns) {
  SumCount n;
  for (const ColumnSums& c : columns) {
    n.lambdas += static_cast<int>(c.decayed.size());
    n.sums += static_cast<int>(c.decayed.size()) + (c.sum ? 1 : 0) + (c.sum_sq ? 1 : 0);
  }
  return n;
}

void sum_columns(Device& device, const ModelConfig& config, const PromptAttentionJob& job, const PromptArgs& args) {
  ColumnPass pass(device, config, job, args);
  pass.run();
  pass.add_to_what_is_there();
}

}  // namespace kvscope::cuda
