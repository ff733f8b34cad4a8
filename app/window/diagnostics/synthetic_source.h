// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thread>

#include <QObject>

#include "snapshot/snapshot.h"

namespace kvscope {

struct SyntheticSize {
  int n_layers = 32, n_kv_heads = 32, n_prompt = 32768;
  int n_generated = 8;  // steps after the prompt
  int n_lanes = 4;      // the reference and so many less one
};

/// Makes a synthetic snapshot on a thread of its own and hands it out as it grows, run by run: the first picture does not wait for the
/// last run.
class SyntheticSource : public QObject {
  Q_OBJECT

 public:
  explicit SyntheticSource(const SyntheticSize& size, QObject* parent = nullptr);
  ~SyntheticSource() override;  // waits for the run that is being made

  void start();
  bool done() const { return m_done; }

 Q_SIGNALS:
  /// On the thread of this object, with at least two runs.
  void grown(const kvscope::SnapshotPtr& snapshot);

 private:
  void make(const std::stop_token& stop);

  SyntheticSize m_size;
  bool m_done = false;
  std::jthread m_thread;
};

}  // namespace kvscope
