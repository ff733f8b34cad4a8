// SPDX-License-Identifier: Apache-2.0
// Sums over the rows of a prompt attention: the device makes those of this call, the host adds them to what is there.
#include <algorithm>
#include <vector>

#include "backend/cuda/check.h"
#include "backend/cuda/cuda_backend.h"
#include "core/error.h"

namespace kvscope::cuda {

namespace {

/// Where the arrays of one ColumnSums begin, in doubles from the start of the call's results.
struct Places {
  std::size_t sum = 0, sum_sq = 0, decayed = 0, hits = 0;
};

}  // namespace

void CudaBackend::sum_columns(const PromptAttentionJob& job, const PromptArgs& args) {
  const std::size_t all = static_cast<std::size_t>(job.first + job.rows), heads = static_cast<std::size_t>(config_.n_kv_heads),
                    plane = heads * all;
  std::vector<Places> places;
  std::size_t size = 0;
  const auto take = [&](bool wanted, std::size_t n) {
    const std::size_t at = size;
    size += wanted ? n : 0;
    return at;
  };
  const auto words_of = [](const ColumnSums& c) { return static_cast<std::size_t>((c.hit_rows + 63) / 64); };
  std::vector<double> lambdas;
  for (const ColumnSums& c : job.columns) {
    KVSCOPE_ASSERT(c.stride >= all && c.hit_rows <= job.rows && (c.hit_rows <= 0 || c.hits));
    Places p;
    p.sum = take(c.sum != nullptr, plane);
    p.sum_sq = take(c.sum_sq != nullptr, plane);
    p.decayed = take(true, plane * c.decayed.size());
    p.hits = take(c.hit_rows > 0, plane * words_of(c));
    places.push_back(p);
    for (const ColumnSums::Decayed& d : c.decayed) lambdas.push_back(d.lambda);
  }
  const std::size_t tiles = (all + kColumnTile - 1) / kColumnTile, outside_at = size;
  size += heads * tiles * std::min<std::size_t>(job.outside.size(), kMostOutside);
  auto* const device = device_->scratch_of<double>(Device::Use::sums, std::max<std::size_t>(size, 1));
  check(cudaMemsetAsync(device, 0, outside_at * sizeof(double), device_->stream()), "clearing sums");

  Upload lambdas_up(*device_);
  const std::size_t at_lambdas = lambdas_up.add(lambdas);
  lambdas_up.send();
  const double* lambda = lambdas_up.at<double>(at_lambdas);
  std::vector<ColumnWant> wants;
  ColumnArgs c{.prompt = args};
  for (std::size_t i = 0; i < job.columns.size(); ++i) {
    const ColumnSums& from = job.columns[i];
    ColumnWant want{.largest = from.reduce == GroupReduce::max,
                    .share = from.reduce == GroupReduce::mean ? 1.0 / config_.group() : 1.0,
                    .sum = from.sum ? device + places[i].sum : nullptr,
                    .sum_sq = from.sum_sq ? device + places[i].sum_sq : nullptr,
                    .n_decayed = static_cast<int>(from.decayed.size()),
                    .lambdas = lambda,
                    .decayed = device + places[i].decayed,
                    .hit_rows = std::max(from.hit_rows, 0),
                    .hits = from.hit_rows > 0 ? reinterpret_cast<std::uint64_t*>(device + places[i].hits) : nullptr};
    lambda += from.decayed.size();
    wants.push_back(want);
  }
  Upload wants_up(*device_);
  const std::size_t at_wants = wants_up.add(wants);
  wants_up.send();
  c.wants = wants_up.at<ColumnWant>(at_wants);
  c.n_wants = static_cast<int>(wants.size());
  c.probability_rows = std::max(job.probability_rows, 0);
  c.probabilities = job.probabilities;
  c.logit_rows = std::max(job.logit_rows, 0);
  c.logits = job.logits;
  c.outside_sums = device + outside_at;
  const bool all_rows = !job.columns.empty() || !job.outside.empty();
  c.row_begin = all_rows ? 0 : job.rows - std::max(c.probability_rows, c.logit_rows);
  std::vector<double> host;
  std::size_t done = 0;
  do {  // more sums outside than fit in one pass are rare
    c.n_outside = static_cast<int>(std::min<std::size_t>(job.outside.size() - done, kMostOutside));
    for (int o = 0; o < c.n_outside; ++o)
      c.outside[o] = {job.outside[done + static_cast<std::size_t>(o)].sinks, job.outside[done + static_cast<std::size_t>(o)].recent};
    prompt_columns(work(), dtype_, c);
    const std::size_t n_outside = static_cast<std::size_t>(c.n_outside), here = done == 0 ? 0 : outside_at;
    host.resize(std::max(host.size(), size));
    if (size > 0) device_->download(host.data() + here, device + here, (outside_at + heads * tiles * n_outside - here) * sizeof(double));
    for (std::size_t h = 0; h < heads; ++h)
      for (std::size_t t = 0; t < tiles; ++t)
        for (std::size_t o = 0; o < n_outside; ++o) job.outside[done + o].sum[h] += host[outside_at + (h * tiles + t) * n_outside + o];
    done += n_outside;
    c.n_wants = 0;
    c.probability_rows = c.logit_rows = 0;
  } while (done < job.outside.size());

  for (std::size_t i = 0; i < job.columns.size(); ++i) {
    const ColumnSums& to = job.columns[i];
    for (std::size_t h = 0; h < heads; ++h) {
      const auto add = [&](double* sums, const double* from, double keep) {
        for (std::size_t j = 0; j < all; ++j) sums[h * to.stride + j] = keep * sums[h * to.stride + j] + from[h * all + j];
      };
      if (to.sum) add(to.sum, host.data() + places[i].sum, 1);
      if (to.sum_sq) add(to.sum_sq, host.data() + places[i].sum_sq, 1);
      for (std::size_t x = 0; x < to.decayed.size(); ++x) {
        double decay = 1;
        for (int r = 0; r < job.rows; ++r) decay *= to.decayed[x].lambda;
        add(to.decayed[x].sum, host.data() + places[i].decayed + x * plane, decay);
      }
      for (std::size_t w = 0; w < words_of(to) && to.hit_rows > 0; ++w) {
        const auto* from = reinterpret_cast<const std::uint64_t*>(host.data() + places[i].hits) + (h * words_of(to) + w) * all;
        std::copy_n(from, all, to.hits + (h * words_of(to) + w) * to.stride);
      }
    }
  }
}

}  // namespace kvscope::cuda
