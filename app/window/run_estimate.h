// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <QString>

#include "snapshot/snapshot.h"

namespace kvscope {

/// What runs would cost, before they start. NaN: nothing is known to estimate it from.
struct RunEstimate {
  double ms = kNotAvailable;            // one after the other
  double cache_bytes = kNotAvailable;   // keys and values
  double record_bytes = kNotAvailable;  // what the pictures read
  QString basis;                        // what the time comes from: "measured on 3 runs"
};

/// measured_ms: what one run of this text took so far, with n_measured runs behind it; 0 of them: the steps on screen tell. keep: the runs become
/// lanes; else each one's memory is given back before the next.
RunEstimate estimateRuns(const Snapshot& snapshot, const std::vector<std::string>& specs, double measured_ms, int n_measured, bool keep);

/// Bytes that the records of a lane hold.
double recordBytes(const LaneSnapshot& lane);
/// Slots per head that a specification asks for; -1: no limit or unreadable.
int slotsAsked(const std::string& spec, int n_prompt);
/// "12 runs · about 0.42 s (measured on 3 runs) · caches 3.1 MiB, records 9.0 MiB"
QString estimateWords(std::size_t n_runs, const RunEstimate& estimate, bool keep);

}  // namespace kvscope
