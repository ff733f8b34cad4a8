// SPDX-License-Identifier: Apache-2.0
#include "slots/log_mean_rows.h"

#include <algorithm>
#include <cmath>

#include "core/vector_math.h"

namespace kvscope {
namespace {

constexpr std::size_t kAnewEvery = 8;     // rows
constexpr double kLeastTotal = 1.0 / 64;  // below, what was taken away from a sum has left too few of its digits

}  // namespace

std::vector<double> LogMeanRows::row(int r) const {
  std::vector<double> out = ring_.row(r);
  for (std::size_t x = 0; x < out.size(); ++x) out[x] += offset_[x];
  return out;
}

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

void LogMeanRows::load(std::span<const double> z, int n_rows) {
  ring_.load(z, n_rows);
  const std::size_t size = z.size() / static_cast<std::size_t>(n_rows);
  offset_.assign(size, 0.0);
  top_.assign(size, kMinusInf);
  total_.assign(size, 0.0);
  n_.assign(size, 0);
  const auto row_of = [&](int r) { return z.subspan(static_cast<std::size_t>(r) * size, size); };
  for (int r = 0; r < n_rows; ++r) {
    const std::span<const double> row = row_of(r);
    for (std::size_t x = 0; x < size; ++x) top_[x] = std::max(top_[x], row[x]);
  }
  std::vector<double> share(size);
  for (int r = 0; r < n_rows; ++r) {
    const std::span<const double> row = row_of(r);
    for (std::size_t x = 0; x < size; ++x) share[x] = top_[x] == kMinusInf ? kMinusInf : row[x] - top_[x];
    exp_all(share);
    for (std::size_t x = 0; x < size; ++x) total_[x] += share[x];
    for (std::size_t x = 0; x < size; ++x) n_[x] += row[x] != kMinusInf;
  }
  pushed_ = static_cast<std::size_t>(n_rows);
}

void LogMeanRows::push(std::span<const double> row) {
  const std::size_t size = row.size();
  offset_.resize(size, 0.0);
  top_.resize(size, kMinusInf);
  total_.resize(size, 0.0);
  n_.resize(size, 0);
  thread_local std::vector<double> z, old, share;  // kept by its thread: in a step an allocation would cost as much as the work
  z.resize(size);
  for (std::size_t x = 0; x < size; ++x) z[x] = row[x] - offset_[x];
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
  for (std::size_t x = 0; x < out.size(); ++x) out[x] = n_[x] > 0 ? offset_[x] + (top_[x] + out[x]) : kMinusInf;
}

void LogMeanRows::set_log_mean(int slot, std::span<const double> log_mean) {
  for (int g = 0; g < ring_.width(); ++g) {
    const std::size_t x = static_cast<std::size_t>(slot * ring_.width() + g);
    offset_[x] = log_mean[static_cast<std::size_t>(g)] - (top_[x] + std::log(total_[x] / n_[x]));
  }
}

void LogMeanRows::append_slot() {
  ring_.append_slot(kMinusInf);
  const std::size_t group = static_cast<std::size_t>(ring_.width());
  offset_.insert(offset_.end(), group, 0.0);
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
  move(offset_);
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
  keep(offset_);
  keep(top_);
  keep(total_);
  keep(n_);
}

}  // namespace kvscope
