// SPDX-License-Identifier: Apache-2.0
#include "policy/log_mean_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/vector_math.h"

namespace kvscope {
namespace {

constexpr double kMinusInf = -std::numeric_limits<double>::infinity();
constexpr std::size_t kAnewEvery = 8;     // rows
constexpr double kLeastTotal = 1.0 / 64;  // below, what was taken away from a sum has left too few of its digits

}  // namespace

LogMeanRows::Sum LogMeanRows::sum_of(std::size_t x) const {
  const int group = ring_.width(), slot = static_cast<int>(x) / group, g = static_cast<int>(x) % group;
  thread_local std::vector<double> z;  // kept by its thread: in a step an allocation would cost as much as the work
  z.clear();
  for (int r = 0; r < rows(); ++r)
    if (const double number = ring_.number(r, slot, g); number != kMinusInf) z.push_back(number);
  Sum sum{kMinusInf, 0.0, static_cast<int>(z.size())};
  for (const double number : z) sum.top = std::max(sum.top, number);
  for (double& number : z) number -= sum.top;
  exp_all(z);
  for (const double share : z) sum.total += share;
  return sum;
}

void LogMeanRows::sum_anew(std::size_t x) {
  const Sum sum = sum_of(x);
  top_[x] = sum.top;
  total_[x] = sum.total;
  n_[x] = sum.n;
}

void LogMeanRows::push(std::span<const double> z) {
  const std::size_t size = z.size();
  top_.resize(size, kMinusInf);
  total_.resize(size, 0.0);
  n_.resize(size, 0);
  thread_local std::vector<double> old, share;  // kept by its thread: in a step an allocation would cost as much as the work
  old.resize(size);
  share.resize(size);
  if (rows() == max_rows()) {  // the oldest row goes
    ring_.copy_row(0, old);
    for (std::size_t x = 0; x < size; ++x) share[x] = old[x] == kMinusInf ? kMinusInf : old[x] - top_[x];
    exp_all(share);
    for (std::size_t x = 0; x < size; ++x) {
      total_[x] -= share[x];
      n_[x] -= old[x] != kMinusInf;
    }
  }
  // sum e^(z - top), of which either the old sum or the new number has to be brought to the larger one of the two tops
  for (std::size_t x = 0; x < size; ++x) share[x] = z[x] == top_[x] ? 0.0 : -std::abs(z[x] - top_[x]);
  exp_all(share);
  for (std::size_t x = 0; x < size; ++x) {
    const bool scored = z[x] != kMinusInf, rises = z[x] > top_[x];
    total_[x] = rises ? total_[x] * share[x] + 1 : total_[x] + (scored ? share[x] : 0.0);
    top_[x] = rises ? z[x] : top_[x];
    n_[x] += scored;
  }
  ring_.push(z);
  for (std::size_t x = 0; x < size; ++x)
    if (!(total_[x] >= kLeastTotal)) sum_anew(x);
  // and one more now and then, so that errors do not add up for ever
  if (++pushed_ % kAnewEvery == 0 && size > 0) sum_anew(pushed_ / kAnewEvery % size);
}

void LogMeanRows::log_means(std::vector<double>& out) const {
  out.resize(total_.size());
  for (std::size_t x = 0; x < out.size(); ++x) out[x] = total_[x] / n_[x];
  log_all(out);
  for (std::size_t x = 0; x < out.size(); ++x) out[x] = n_[x] > 0 ? top_[x] + out[x] : kMinusInf;
}

void LogMeanRows::set_log_mean(int slot, std::span<const double> log_mean) {
  for (int g = 0; g < ring_.width(); ++g) {
    const std::size_t x = static_cast<std::size_t>(slot * ring_.width() + g);
    const Sum sum = sum_of(x);
    const double shift = log_mean[static_cast<std::size_t>(g)] - (sum.top + std::log(sum.total / sum.n));
    for (int r = 0; r < rows(); ++r) ring_.number(r, slot, g) += shift;
    top_[x] = sum.top + shift;
    total_[x] = sum.total;
    n_[x] = sum.n;
  }
}

void LogMeanRows::append_slot() {
  ring_.append_slot(kMinusInf);
  const std::size_t group = static_cast<std::size_t>(ring_.width());
  top_.insert(top_.end(), group, kMinusInf);
  total_.insert(total_.end(), group, 0.0);
  n_.insert(n_.end(), group, 0);
}

void LogMeanRows::move_last_slot(int to) {
  ring_.move_last_slot(to);
  const int group = ring_.width();
  const auto move = [&](auto& v) {
    if (!v.empty()) std::rotate(v.begin() + to * group, v.end() - group, v.end());
  };
  move(top_);
  move(total_);
  move(n_);
}

void LogMeanRows::keep(std::span<const SlotRun> runs, int n_kept) {
  ring_.keep(runs, n_kept);
  const int group = ring_.width();
  const auto keep = [&](auto& v) {
    if (v.empty()) return;
    for (const SlotRun& r : runs) std::copy_n(v.begin() + r.from * group, r.n * group, v.begin() + r.to * group);
    v.resize(static_cast<std::size_t>(n_kept * group));
  };
  keep(top_);
  keep(total_);
  keep(n_);
}

}  // namespace kvscope
