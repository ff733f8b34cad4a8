// SPDX-License-Identifier: Apache-2.0
#include "viz/views/atlas/atlas_cursor.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace kvscope::viz {
namespace {

/// Tokens that a key moves by; nullopt: none.
std::optional<int> tokens_of(std::string_view key, int page) {
  constexpr int kAll = std::numeric_limits<int>::max() / 2;
  if (key == "Left" || key == "Right") return key == "Left" ? -1 : 1;
  if (key == "Shift+Left" || key == "Shift+Right") return key == "Shift+Left" ? -10 : 10;
  if (key == "PageUp" || key == "PageDown") return key == "PageUp" ? -page : page;
  if (key == "Home" || key == "End") return key == "Home" ? -kAll : kAll;
  return std::nullopt;
}

}  // namespace

void AtlasCursor::set(const AtlasCell& cell, const Selection& selected) {
  cell_ = cell;
  selected_ = selected;
}

bool AtlasCursor::taken(const Selection& selected) const {
  const auto place = [](const Selection& s) { return std::tie(s.layer, s.kv_head, s.tokens, s.slot); };
  return cell_ && place(selected) == place(selected_);
}

bool AtlasCursor::ahead(const Frame& frame) const {
  const StepRecord* record = record_of(frame);
  return cell_ && record != nullptr && cell_->token > record->position;
}

AtlasCell AtlasCursor::of(const Frame& frame) const {
  const Selection& selected = frame.selection;
  AtlasCell c = cell_.value_or(AtlasCell{0, 0, 0});
  if (!taken(selected)) {
    if (selected.layer) c.layer = *selected.layer, c.kv_head = selected.kv_head.value_or(0);
    if (selected.tokens) c.token = selected.slot.value_or(selected.tokens->first);
  }
  const ModelConfig& model = frame.snapshot->model;
  const StepRecord* record = record_of(frame);
  c.layer = std::clamp(c.layer, 0, std::max(0, model.n_layers - 1));
  c.kv_head = std::clamp(c.kv_head, 0, std::max(0, model.n_kv_heads - 1));
  c.token = std::clamp(c.token, 0, record == nullptr ? 0 : std::max(0, record->position));
  return c;
}

bool AtlasCursor::move(const Frame& frame, std::string_view key, int page) {
  AtlasCell c = of(frame);
  if (const std::optional<int> by = tokens_of(key, page)) {
    c.token = std::clamp(c.token + *by, 0, std::max(0, record_of(frame)->position));
  } else if (key == "Up" || key == "Down") {
    const int n_kv = frame.snapshot->model.n_kv_heads, n_heads = static_cast<int>(lane_of(frame)->fates->heads.size());
    const int head = std::clamp(head_index(*frame.snapshot, c.layer, c.kv_head) + (key == "Up" ? -1 : 1), 0, n_heads - 1);
    c.layer = head / n_kv;
    c.kv_head = head % n_kv;
  } else {
    return false;
  }
  set(c, frame.selection);
  return true;
}

}  // namespace kvscope::viz
