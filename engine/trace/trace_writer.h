// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/cancel.h"
#include "io/files.h"
#include "runtime/session/record_sink.h"
#include "runtime/session/run_request.h"
#include "snapshot/snapshot.h"

namespace kvscope {

struct TraceOptions {
  Detail detail = Detail::slots;
  std::uint64_t seed = 0;               // of the request; a snapshot does not know it
  const CancelToken* cancel = nullptr;  // asked once per step
};

/// JSON text of a run, schema kvscope.trace/1, one line per step and per head, newline at the end. The same run gives the same bytes: no
/// times, no thread counts, no paths. Numbers are written in the shortest form that reads back to the same value (doubles as doubles,
/// recorded floats as floats); a number that is not there or not finite is null, and `warnings` says why where the schema promises one.
/// Detail::why adds what the window shows beyond that, so that read_trace() gives the whole snapshot back. Throws Cancelled.
std::string trace_text(const Snapshot& snapshot, const TraceOptions& options = {});
/// The same in pieces of a megabyte, as they are made.
void write_trace(const Snapshot& snapshot, const TraceOptions& options, const TakesText& take);

/// The same bytes while the run goes on: every step is written as soon as it is final and put aside on disk, so that no record has to stay
/// in memory. One run for each.
class TraceStream final : public RecordSink {
 public:
  /// measures: of the request. folder: where there is room for the text of the steps.
  TraceStream(const TraceOptions& options, const MeasureSet& measures, std::string folder);
  ~TraceStream() override;
  void take(int lane, const StepRecord& step) override;
  /// snapshot: the finished run, whose records were all taken. Throws Error (disk), Cancelled.
  void finish(const Snapshot& snapshot, const TakesText& take);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Name of a detail as in the command line, "slots".
std::string name_of(Detail detail);

}  // namespace kvscope
