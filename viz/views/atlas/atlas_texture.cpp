// SPDX-License-Identifier: Apache-2.0
// Texels of the atlas: categories while a token has 3 px, else the share of represented tokens. The two are never mixed in one picture.
#include <algorithm>
#include <cmath>

#include "viz/views/atlas/atlas.h"

namespace kvscope::viz {
namespace {

std::uint64_t combine(std::uint64_t seed, std::uint64_t v) {  // FNV-1a over 64-bit words, then spread
  seed = (seed ^ v) * 0x100000001B3ull;
  return seed ^ (seed >> 29);
}

}  // namespace

std::uint64_t Atlas::scene_key(const Frame& frame, const Scene& s) const {
  std::uint64_t k = 0xCBF29CE484222325ull;
  const auto add = [&k](auto v) { k = combine(k, static_cast<std::uint64_t>(v)); };
  add(s.snapshot->sequence);
  add(s.snapshot->generation);
  add(reinterpret_cast<std::uintptr_t>(s.lane->fates.get()));
  add(reinterpret_cast<std::uintptr_t>(s.record));
  add(s.step);
  add(frame.theme->dark);
  add(frame.emphasis ? static_cast<int>(*frame.emphasis) + 1 : 0);
  add(s.bin);
  add(s.binned);
  add(colour_);
  add(s.axis.first_visible());
  add(s.axis.last_visible());
  add(s.rows.by_layer);
  add(s.rows.rows.size());
  if (!s.rows.rows.empty()) {
    add(s.rows.rows.front().layer);
    add(s.rows.rows.front().kv_head);
  }
  return k | 1;
}

void Atlas::fill_categories(const Frame& frame, const Scene& s) {
  const std::uint64_t version = scene_key(frame, s);
  if (cells_.version == version) return;
  const int first = s.axis.first_visible(), last = s.axis.last_visible();
  cells_.version = version;
  cells_.width = std::max(1, last - first + 1);
  cells_.height = std::max<int>(1, static_cast<int>(s.rows.rows.size()));
  cells_.rgba.assign(static_cast<std::size_t>(cells_.width) * static_cast<std::size_t>(cells_.height), 0);
  std::array<std::uint32_t, kCategories> texel{};
  for (int c = 1; c < kCategories; ++c)
    texel[static_cast<std::size_t>(c)] = colour(cell_fill(*frame.theme, static_cast<Category>(c), frame.emphasis));
  auto* out = cells_.rgba.data();
  for (const AtlasRow& row : s.rows.rows) {
    const int head = head_index(*s.snapshot, row.layer, row.kv_head);
    const auto row_categories =
        categories(*s.lane->fates, *s.record, head, s.lane->sinks, is_prefill_step(*s.snapshot, s.step), first, last);
    for (std::size_t i = 0; i < row_categories.size(); ++i) out[i] = texel[static_cast<std::size_t>(row_categories[i])];
    out += cells_.width;
  }
}

void Atlas::fill_fractions(const Frame& frame, const Scene& s) {
  const std::uint64_t version = scene_key(frame, s);
  if (cells_.version == version) return;
  const int first_bin = s.axis.first_visible() / s.bin, last_bin = s.axis.last_visible() / s.bin;
  cells_.version = version;
  cells_.width = std::max(1, last_bin - first_bin + 1);
  const int lines = s.lines;  // mean, spread
  cells_.height = std::max<int>(1, lines * static_cast<int>(s.rows.rows.size()));
  const auto width = static_cast<std::size_t>(cells_.width);
  cells_.rgba.assign(width * static_cast<std::size_t>(cells_.height), 0);
  const int n_kv = s.snapshot->model.n_kv_heads;
  std::vector<RepresentedRows::Row> rows;
  for (const AtlasRow& row : s.rows.rows)
    rows.push_back({head_index(*s.snapshot, row.layer, std::max(0, row.kv_head)), row.kv_head < 0 ? n_kv : 1});
  counts_.count(represented_, rows, {s.bin, first_bin, cells_.width}, lines == 2);
  std::uint32_t* out = cells_.rgba.data();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::uint32_t* const sum = counts_.sums().data() + r * width;
    const std::uint32_t* const low = lines == 2 ? counts_.lows().data() + r * width : nullptr;
    const std::uint32_t* const high = lines == 2 ? counts_.highs().data() + r * width : nullptr;
    // All bins but the last have as many tokens.
    const auto n_heads = static_cast<std::size_t>(rows[r].n_heads), bin = static_cast<std::size_t>(s.bin);
    const std::size_t full = std::min(width, static_cast<std::size_t>(std::max(0, s.seen / s.bin - first_bin)));
    const RampTexels& shares = ramps_.of(frame.theme->sequential, bin * n_heads);
    for (std::size_t i = 0; i < full; ++i) out[i] = shares[sum[i]];
    const RampTexels& spreads = ramps_.of(frame.theme->sequential, bin);
    for (std::size_t i = 0; lines == 2 && i < full; ++i) out[width + i] = spreads[high[i] - low[i]];
    if (const int rest = s.seen - (first_bin + static_cast<int>(full)) * s.bin; full < width && rest > 0) {
      out[full] = colour(ramp(frame.theme->sequential, sum[full] / (static_cast<double>(rest) * static_cast<double>(n_heads))));
      if (lines == 2) out[width + full] = colour(ramp(frame.theme->sequential, (high[full] - low[full]) / static_cast<double>(rest)));
    }
    out += width * static_cast<std::size_t>(lines);
  }
}

void Atlas::fill_minimap(const Frame& frame, const Scene& s) {
  const int bin = tokens_per_bin(s.overview.px);
  std::uint64_t version = 0x9E3779B97F4A7C15ull;
  for (std::uint64_t v :
       {s.snapshot->sequence, static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(s.record)), static_cast<std::uint64_t>(bin),
        static_cast<std::uint64_t>(frame.theme->dark), static_cast<std::uint64_t>(s.step)}) {
    version = combine(version, v);
  }
  version |= 1;
  if (overview_.version == version) return;
  overview_.version = version;
  overview_.width = std::max(1, (s.seen + bin - 1) / bin);
  overview_.height = 1;
  overview_.rgba.assign(static_cast<std::size_t>(overview_.width), 0);
  const auto heads = represented_.heads_per_token();
  const double n_heads = std::max<std::size_t>(1, s.lane->fates->heads.size());
  for (int i = 0; i < overview_.width; ++i) {
    const int first = i * bin, last = std::min(first + bin, static_cast<int>(heads.size())) - 1;
    double sum = 0;
    for (int t = first; t <= last; ++t) sum += heads[static_cast<std::size_t>(t)];
    overview_.rgba[static_cast<std::size_t>(i)] = colour(ramp(frame.theme->sequential, sum / (n_heads * std::max(1, last - first + 1))));
  }
}

}  // namespace kvscope::viz
