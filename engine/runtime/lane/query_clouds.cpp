// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/query_clouds.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "backend/cpu/rope.h"
#include "core/place.h"
#include "runtime/lane/group_queries.h"
#include "runtime/lane/layer_view.h"
#include "slots/slot_updates.h"

namespace kvscope {
namespace {

constexpr std::size_t kMeasured = 64;    // tokens whose queries are held against all keys
constexpr std::size_t kInAStretch = 16;  // distances of a stretch at which the expected score is computed

/// 0, 1, 2, 3, 4, 6, 8, 12, 16, 24, ... below n.
std::vector<int> first_distances(int n) {
  std::vector<int> out;
  for (int d = 0; d < n; d = d < 4 ? d + 1 : (d & (d - 1)) == 0 ? d + d / 2 : d / 3 * 4) out.push_back(d);
  return out;
}

/// Rows of one head, its pairs of numbers as complex ones; what no position turns is left out.
class Pairs {
 public:
  Pairs(std::span<const double> rows, std::size_t width, std::size_t half) : rows_(rows), width_(width), half_(half) {}
  std::complex<double> of(std::size_t row, std::size_t f) const { return {rows_[row * width_ + f], rows_[row * width_ + f + half_]}; }

 private:
  std::span<const double> rows_;
  std::size_t width_, half_;
};

class Cloud {
 public:
  Cloud(const QueriesAndKeys& head, std::size_t width)
      : head_(head),
        width_(width),
        half_(head.frequencies.size()),
        n_(head.keys.size() / width),
        group_(head.queries.size() / head.keys.size()),
        scale_(head.layer.logits.scale > 0 ? head.layer.logits.scale : 1 / std::sqrt(static_cast<double>(width))) {}

  QueryCloud made() {
    out_.turn.assign(head_.frequencies.begin(), head_.frequencies.end());
    const int seen = static_cast<int>(n_);
    out_.distances = first_distances(head_.layer.window > 0 ? std::min(seen, head_.layer.window) : seen);
    find_queries();
    find_expected();
    measure();
    return std::move(out_);
  }

 private:
  double capped(double z) const {
    const double cap = head_.layer.logits.cap;
    return cap > 0 ? cap * std::tanh(z / cap) : z;
  }
  /// One past the last distance of a stretch.
  std::size_t end_of(std::size_t b) const { return b + 1 < out_.distances.size() ? at(out_.distances[b + 1]) : at(last_seen() + 1); }
  int last_seen() const { return (head_.layer.window > 0 ? std::min(static_cast<int>(n_), head_.layer.window) : static_cast<int>(n_)) - 1; }

  void find_queries() {
    const Pairs q(head_.queries, width_, half_);
    for (std::size_t g = 0; g < group_; ++g)
      for (std::size_t f = 0; f < half_; ++f) {
        std::complex<double> mean;
        for (std::size_t t = 0; t < n_; ++t) mean += q.of(t * group_ + g, f) / static_cast<double>(n_);
        double square = 0;
        for (std::size_t t = 0; t < n_; ++t) square += std::norm(q.of(t * group_ + g, f) - mean) / static_cast<double>(n_);
        out_.re.push_back(mean.real());
        out_.im.push_back(mean.imag());
        out_.spread.push_back(std::sqrt(square));
      }
  }

  void find_expected() {
    const Pairs k(head_.keys, width_, half_);
    double level = 0;  // of the numbers that no position turns
    for (std::size_t i = 2 * half_; i < width_; ++i) {
      double key = 0;
      for (std::size_t t = 0; t < n_; ++t) key += head_.keys[t * width_ + i] / static_cast<double>(n_);
      for (std::size_t r = 0; r < n_ * group_; ++r) level += head_.queries[r * width_ + i] * key / static_cast<double>(n_);
    }
    std::vector<std::complex<double>> products(half_);  // of the mean queries, together, with the mean key
    for (std::size_t f = 0; f < half_; ++f) {
      std::complex<double> key, query;
      for (std::size_t t = 0; t < n_; ++t) key += k.of(t, f) / static_cast<double>(n_);
      for (std::size_t g = 0; g < group_; ++g) query += std::complex<double>(out_.re[g * half_ + f], out_.im[g * half_ + f]);
      products[f] = query * std::conj(key);
    }
    for (std::size_t b = 0; b < out_.distances.size(); ++b) {
      const std::size_t first = at(out_.distances[b]), all = end_of(b) - first, some = std::min(all, kInAStretch);
      double sum = 0;
      for (std::size_t i = 0; i < some; ++i) {
        const auto distance = static_cast<double>(first + i * all / some);
        double z = level;
        for (std::size_t f = 0; f < half_; ++f) z += (products[f] * std::polar(1.0, head_.frequencies[f] * distance)).real();
        sum += capped(scale_ * z / static_cast<double>(group_));
      }
      out_.expected.push_back(sum / static_cast<double>(some));
    }
  }

  /// x as it stands at a position.
  void turn(std::span<double> x, double position) const {
    for (std::size_t f = 0; f < half_; ++f) {
      const std::complex<double> turned = std::complex<double>(x[f], x[f + half_]) * std::polar(1.0, head_.frequencies[f] * position);
      x[f] = turned.real();
      x[f + half_] = turned.imag();
    }
  }

  void measure() {
    const std::size_t some = std::min(kMeasured, n_ - n_ / 2), bins = out_.distances.size();
    out_.n_queries = static_cast<int>(some);
    std::vector<double> sum(bins, 0.0), count(bins, 0.0), z;
    out_.share.assign(bins, 0.0);
    std::vector<double> keys(head_.keys.begin(), head_.keys.end()), query(width_);
    for (std::size_t t = 0; t < n_; ++t) turn(std::span(keys).subspan(t * width_, width_), static_cast<double>(t));
    for (std::size_t u = 0; u < some; ++u)
      for (std::size_t g = 0; g < group_; ++g) {
        const std::size_t t = n_ / 2 + u * (n_ - n_ / 2) / some, first = at(head_.layer.first_seen(static_cast<int>(t)));
        std::copy_n(head_.queries.begin() + static_cast<std::ptrdiff_t>((t * group_ + g) * width_), width_, query.begin());
        turn(query, static_cast<double>(t));
        z.clear();
        for (std::size_t j = first; j <= t; ++j) {
          double product = 0;
          for (std::size_t i = 0; i < width_; ++i) product += query[i] * keys[j * width_ + i];
          z.push_back(capped(scale_ * product));
        }
        const double most = *std::ranges::max_element(z);
        double whole = 0;
        for (const double x : z) whole += std::exp(x - most);
        for (std::size_t b = 0; b < bins; ++b)
          for (std::size_t d = at(out_.distances[b]); d < std::min(end_of(b), z.size()); ++d) {
            const double x = z[z.size() - 1 - d];
            sum[b] += x;
            count[b] += 1;
            out_.share[b] += std::exp(x - most) / whole / static_cast<double>(some * group_);
          }
      }
    for (std::size_t b = 0; b < bins; ++b) out_.measured.push_back(count[b] > 0 ? sum[b] / count[b] : kNotAvailable);
  }

  const QueriesAndKeys& head_;
  std::size_t width_, half_, n_, group_;
  double scale_;
  QueryCloud out_;
};

}  // namespace

QueryCloud query_cloud(const QueriesAndKeys& head, int head_dim) { return Cloud(head, at(head_dim)).made(); }

std::vector<QueryCloud> query_clouds(Backend& backend, const Model& model, const PromptRun& prompt) {
  const ModelConfig& c = model.config();
  std::vector<QueryCloud> out(at(c.n_layers * c.n_kv_heads));
  for (int l = 0; l < c.n_layers; ++l) {
    const int table = c.rope_of(l, prompt.size());
    const std::vector<double> frequencies = table >= 0 ? cpu::rope_frequencies(c, table) : std::vector<double>{};
    std::vector<HeadCache> caches(at(c.n_kv_heads));
    for (HeadCache& cache : caches) {
      cache.rope = table;
      load_prompt(cache.slots, StatNeeds(), c.group(), {.n = prompt.size()});
    }
    fill_caches(backend, prompt, l, caches);
    backend.for_each(c.n_kv_heads, [&](int h) {
      const CacheGeometry geometry(backend, caches, h, model.layers[at(l)].wo, c.head_dim);
      const std::vector<double> queries = GroupQueries(backend, c, prompt, l, h).rows(/*rotated=*/false), keys = geometry.unrotated_keys();
      QueryCloud& cloud = out[at(l * c.n_kv_heads + h)];
      cloud = query_cloud({queries, keys, frequencies, c.layer(l)}, c.head_dim);
      cloud.layer = l;
      cloud.kv_head = h;
    });
  }
  return out;
}

}  // namespace kvscope
