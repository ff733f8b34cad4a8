// SPDX-License-Identifier: Apache-2.0
#include "app/window/diagnostics/synthetic_source.h"

#include "snapshot/synthetic.h"

namespace kvscope {

SyntheticSource::SyntheticSource(const SyntheticSize& size, QObject* parent) : QObject(parent), m_size(size) {}

SyntheticSource::~SyntheticSource() = default;

void SyntheticSource::start() {
  m_thread = std::jthread([this](const std::stop_token& stop) { make(stop); });
}

void SyntheticSource::make(const std::stop_token& stop) {
  const SyntheticSize& n = m_size;
  Snapshot snapshot = synthetic::make_huge_snapshot(n.n_layers, n.n_kv_heads, n.n_prompt, n.n_generated, 0);
  for (int i = 0; i < n.n_prompt; ++i) snapshot.prompt += snapshot.tokens[static_cast<std::size_t>(i)].bytes;
  for (int lane = 0; lane < n.n_lanes && !stop.stop_requested(); ++lane) {
    snapshot.lanes.push_back(synthetic::make_huge_lane(lane, n.n_layers, n.n_kv_heads, n.n_prompt, n.n_generated));
    if (lane == 0 && n.n_lanes > 1) continue;  // the reference alone says little
    ++snapshot.sequence;
    const bool last = lane + 1 == n.n_lanes;
    QMetaObject::invokeMethod(
        this,
        [this, last, copy = std::make_shared<const Snapshot>(snapshot)] {
          m_done = last;
          Q_EMIT grown(copy);
        },
        Qt::QueuedConnection);
  }
}

}  // namespace kvscope
