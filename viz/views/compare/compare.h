// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "viz/views.h"
#include "viz/views/compare/compare_difference.h"
#include "viz/views/compare/compare_metrics.h"
#include "viz/views/compare/compare_strips.h"
#include "viz/views/inspector/inspector_bars.h"
#include "viz/views/parts/capture_offer.h"

namespace kvscope::viz {

/// Sizes of the comparison, pixels at 100 %.
namespace compare {
inline constexpr float kNames = 168;  // column of letters, names and parameters
inline constexpr float kHeader = 38, kLegend = 30;
inline constexpr float kReference = 26;  // the bar of the full cache
inline constexpr float kName = 34;       // two lines of text
inline constexpr float kRemove = 22;     // column of the buttons that remove a run
inline constexpr float kWaiting = 22;    // a run that is not there yet
}  // namespace compare

/// Several runs on one prompt: one strip each on one token axis, their numbers beside them, and the difference of two below.
class Compare final : public View {
 public:
  explicit Compare(std::shared_ptr<TokenWindow> window) : window_(std::move(window)) {}

  const char* id() const override { return "compare"; }
  const char* title() const override { return "Compare"; }
  const std::vector<Mark>& marks() const override { return marks_; }

  std::string facts(const Frame& frame) const override;
  float preferred_height(const Frame& frame) const override;
  Table table(const Frame& frame) const override;
  void draw(const Frame& frame, std::vector<Intent>& intents) override;
  bool key(const Frame& frame, std::string_view key, std::vector<Intent>& intents) override;
  std::string cursor_text(const Frame& frame) const override;
  std::vector<Option> options() const override;
  void choose(std::size_t option, int choice) override;

 private:
  enum class Mode : std::uint8_t { fates, reference, pair };
  /// Row of one run in this frame.
  struct LaneRow {
    int lane = 0;
    Rect row, strip, remove;
  };
  /// How the height of a frame is shared out.
  struct Plan {
    StripScale scale;
    float pad = 0;  // above and below a strip
    float row = 0;  // height of a run's row
    float reference_row = 0;
    bool difference = false;
  };
  /// Numbers of every run; computed anew only when the runs, their shown steps or the range of steps changed.
  const std::vector<LaneMetrics>& metrics_of(const Frame& frame) const;
  TokenAxis token_axis(const Painter& p, const Rect& area, int n_tokens);
  /// Tokens that a lane represents at its shown step; counted when first asked for, then followed.
  const Represented& shown(const Frame& frame, int lane);
  /// Lane that the others are compared with in the strips.
  int reference(const Frame& frame) const;

  // compare_waiting.cpp: runs that are asked for and not there yet, in thin rows below the others
  static float waiting_height(const Painter& p);
  void draw_waiting(Painter& p, Rect area, const TokenAxis& axis);
  bool react_waiting(const Painter& p, std::vector<Intent>& intents);

  /// Finest rows that fit, with the difference below if that leaves room for it.
  Plan plan(const Painter& p, const TokenAxis& axis, float height) const;
  float rows_height(const Painter& p) const;
  void draw_header(Painter& p, const Rect& header, const TokenAxis& axis);
  void draw_rows(Painter& p, Rect area, const TokenAxis& axis);
  void draw_lane(Painter& p, const Rect& row, const TokenAxis& axis, int lane);
  void draw_name(Painter& p, const Rect& row, const LaneSnapshot& run, int lane, bool selected, float height) const;

  /// The full cache keeps everything, so one thin bar says it all; should it not be full, the bar's text says how many slots there are.
  void draw_reference(Painter& p, const Rect& strip, const TokenAxis& axis, const LaneMetrics& m);
  void draw_strip(Painter& p, LaneRow& row, const TokenAxis& axis, int lane, const LaneMetrics& m);
  void draw_legend(Painter& p, const Rect& legend, const TokenAxis& axis);
  static float prompt_end(const Snapshot& s, const TokenAxis& axis);
  void draw_cursors(Painter& p, const TokenAxis& axis, const DifferenceHits& difference, const Selection& selection);

  /// Notices which run was selected before; runs that come or go make old indices meaningless.
  void follow(const Frame& frame);
  /// The run that the selected one is compared with: the one chosen, else the one looked at before, else a neighbour.
  int against(const Frame& frame) const;
  DifferenceScene difference_scene(const Frame& frame);
  std::string count_text(const Frame& frame, int lane, int step, int token) const;
  /// The token in all runs, heads that keep it + those where it is merged; as many runs in a line as 12 lines in all need.
  void add_every_run(const Frame& frame, int token, std::vector<std::string>& lines) const;
  std::vector<std::string> tooltip(const Frame& frame, const LaneRow& row, const TokenAxis& axis, int token, int head);
  bool pan_and_zoom(const Painter& p, const TokenAxis& axis);
  /// What the pair buttons do: the next run that is not the other one of the pair.
  void next_of_pair(const Frame& frame, const DifferenceScene& scene, bool first, std::vector<Intent>& intents);
  void react(const Painter& p, const TokenAxis& axis, const DifferenceHits& difference, const DifferenceScene& scene,
             std::vector<Intent>& intents);
  void react_lane(const Painter& p, const TokenAxis& axis, const LaneRow& row, int token, std::vector<Intent>& intents);
  void react_difference(const Painter& p, const DifferenceHits& difference, const DifferenceScene& scene, int token,
                        std::vector<Intent>& intents);

  std::vector<Mark> marks_;
  std::vector<LaneMetrics> metrics_;  // of the frame being drawn
  mutable std::vector<LaneMetrics> known_;
  mutable std::vector<StepPtr> known_of_;  // newest and shown step of each run; kept: their addresses then name the runs
  mutable std::optional<StepRange> known_range_;
  mutable std::uint64_t known_sequence_ = 0;
  std::vector<MetricColumn> columns_;
  std::vector<std::string> left_out_;  // titles of the columns that found no room
  Rect left_out_at_;                   // where that is said
  CaptureOffer capture_;
  MetricSet set_ = MetricSet::all;
  std::vector<LaneRow> rows_;
  std::vector<std::pair<int, Rect>> cancels_;  // of waiting runs
  Plan plan_;
  float right_ = 0;    // where the numbers end
  int pinned_ = -1;    // run chosen for the difference; -1: none
  int previous_ = -1;  // run selected before the present one
  int selected_ = -1;  // in the last frame
  std::size_t n_lanes_ = 0;
  bool swapped_ = false;
  Mode mode_ = Mode::fates;
  MetricOrder order_;
  std::shared_ptr<TokenWindow> window_;
  std::vector<Represented> shown_;  // by lane
  LaneDifference cells_;
  DifferenceCounts counts_;  // of the pair looked at
  mutable TokenCounts token_counts_;
  bool panning_ = false;
  StripTextures textures_;
  HoverPublisher hover_;
};

}  // namespace kvscope::viz
