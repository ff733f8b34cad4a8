// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <span>
#include <string>

#include "runtime/session/run_request.h"
#include "snapshot/step_record.h"
#include "trace/json_text.h"

namespace kvscope {

/// JSON of a trace: numbers that may not be there, and sentences about those that had to be null.
class TraceJson : public JsonText {
 public:
  /// A number that must be there: null and a warning if it is not finite.
  void number(double value, const char* what);
  /// A number that may be missing (NaN): then null and no word about it.
  void optional_number(double value, const char* what);
  void numbers(std::span<const double> values, const char* what);

  std::set<std::string> warnings;
};

/// Writes the records of steps, one object each.
class StepWriter {
 public:
  /// theta: that measure was asked for.
  StepWriter(TraceJson& json, Detail detail, bool theta) : json_(json), detail_(detail), why_(detail == Detail::why), theta_(theta) {}
  void write(const StepRecord& step);

 private:
  void logits(const StepRecord& step);
  void head(const HeadRecord& head);
  void head_why(const HeadRecord& head);
  void score_parts(const ScoreParts& parts);
  void event(const Event& event);
  void merge(const MergeDetail& merge);

  TraceJson& json_;
  Detail detail_;
  bool why_;  // with what the window shows of single slots
  bool theta_;
};

}  // namespace kvscope
