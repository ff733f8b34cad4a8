// SPDX-License-Identifier: Apache-2.0
#include "viz/views/compare/compare_metrics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <span>

#include <fmt/format.h>

#include "viz/draw/format.h"
#include "viz/reduce/range.h"
#include "viz/views/compare/compare_difference.h"

namespace kvscope::viz {

namespace {

using Kind = MetricColumn::Kind;
constexpr float kAnswerBox = 25, kAnswerGap = 4, kAnswerInside = 10, kAnswerEnd = 6;
constexpr float kUnitGap = 6;                                     // before the unit of the next column
constexpr std::size_t kAnswerLines = 10;                          // of a tooltip
constexpr float kAnswerNote = 54;                                 // height of a row that has a second line for what finds no room
constexpr float kPlainBox = 13, kPlainGap = 2, kPlainInside = 6;  // of a lecture, where a whole number stands in large type

std::size_t n_wrong(std::span<const AnswerToken> answer) {
  return static_cast<std::size_t>(std::ranges::count(answer, false, &AnswerToken::same));
}

/// What the tokens of an answer are that find no room: "+9 (2 wrong)".
std::string more_text(std::span<const AnswerToken> rest) {
  return fmt::format("+{}{}", rest.size(), n_wrong(rest) > 0 ? fmt::format(" ({} wrong)", n_wrong(rest)) : "");
}

void add_answer_lines(const Snapshot& snapshot, const LaneMetrics& m, std::vector<std::string>& out) {
  if (m.answer_before > 0) out.push_back(fmt::format("{} before: as the full cache", count_of(m.answer_before, "step", "steps")));
  const std::span answer(m.answer);
  const std::size_t listed = std::min(answer.size(), kAnswerLines);
  for (const AnswerToken& token : answer.first(listed))
    out.push_back(fmt::format("step {}: {}, {}", token.step, quoted(text_of_id(snapshot, token.id)),
                              token.same ? "as the full cache" : "the full cache says otherwise"));
  if (listed < answer.size()) out.push_back(more_text(answer.subspan(listed)));
  if (!answer.empty() && snapshot.follow != "self")
    out.push_back(fmt::format("each after {} before it: no text that the run wrote",
                              snapshot.follow == "file" ? "the given tokens" : "the full cache's tokens"));
}

/// Its heads hold more behind the last step that counts than in the one shown: a mean over the steps is that of a run that grows.
bool grows(const LaneMetrics& m) { return m.means.slots - m.slots >= 0.05; }

void add_growth(const LaneMetrics& m, std::vector<std::string>& out) {
  if (grows(m))
    out.push_back(fmt::format("slots per head: {} in step {}, {} behind the last of these steps", format_mean(m.slots), m.step,
                              format_mean(m.means.slots)));
}

std::string asked_for(const LaneSnapshot& run) {
  if (const LaneWarning* raised = warning_of(run.warnings, LaneWarning::Kind::budget_raised)) return text_of(*raised);
  return run.slots_asked >= 0 ? fmt::format("asked for: {}", run.slots_asked) : "asked for: unlimited";
}

/// Beside the slots of this step: what was asked for, and what there are at the end. Empty: as many.
std::string slots_note(const LaneSnapshot& run, const LaneMetrics& m) {
  if (run.slots_asked < 0 || !std::isfinite(m.slots)) return {};
  const LaneWarning* const raised = warning_of(run.warnings, LaneWarning::Kind::budget_raised);
  const bool unlike = std::abs(m.slots - run.slots_asked) >= 0.05;
  const std::string asked = raised != nullptr ? fmt::format("{} asked, raised", format_mean(raised->asked))
                            : unlike          ? fmt::format("asked {}", format_count(run.slots_asked))
                                              : std::string();
  return fmt::format("{}{}{}", asked, !asked.empty() && grows(m) ? ", " : "",
                     grows(m) ? fmt::format("at the end {}", format_mean(m.means.slots)) : "");
}

struct AnswerBox {
  std::string text;
  float width = 0;
};

AnswerBox answer_box(const Painter& p, const AnswerToken& token) {
  const bool plain = p.frame().plain;
  AnswerBox out{p.elide(text_of_id(*p.frame().snapshot, token.id), Face::mono, p.px(44)), 0};
  out.width = std::max(p.px(plain ? kPlainBox : kAnswerBox), p.width_of(Face::mono, out.text) + p.px(plain ? kPlainInside : kAnswerInside));
  return out;
}

float answer_gap(const Painter& p) { return p.px(p.frame().plain ? kPlainGap : kAnswerGap); }

/// Width of the first boxes of an answer, gaps between them; no more than `most` are counted in full.
float boxes_width(const Painter& p, std::span<const AnswerToken> answer, float most) {
  float out = 0;
  for (std::size_t i = 0; i < answer.size() && out <= most; ++i) out += answer_box(p, answer[i]).width + (i > 0 ? answer_gap(p) : 0);
  return out;
}

float dots_width(const Painter& p) { return p.width_of(Face::caption, "…") + p.px(3); }

}  // namespace

std::size_t answer_begin(const Painter& p, const std::vector<LaneMetrics>& lanes, float width) {
  const auto differs = [](const LaneMetrics& m) { return std::ranges::find(m.answer, false, &AnswerToken::same) - m.answer.begin(); };
  const auto lane = std::ranges::min_element(lanes, {}, [&](const LaneMetrics& m) {
    const auto at = differs(m);
    return at < std::ssize(m.answer) ? at : std::numeric_limits<std::ptrdiff_t>::max();
  });
  if (lane == lanes.end() || differs(*lane) == std::ssize(lane->answer)) return 0;
  const auto changed = static_cast<std::size_t>(differs(*lane));
  const float room = width - p.px(kAnswerEnd);
  std::size_t first = 0;
  while (first < changed &&
         (first > 0 ? dots_width(p) : 0) + boxes_width(p, std::span(lane->answer).subspan(first, changed + 1 - first), room) > room)
    ++first;
  return first;
}

float answer_width(const Painter& p, const std::vector<LaneMetrics>& lanes, float most) {
  float out = 0;
  for (const LaneMetrics& m : lanes) out = std::max(out, boxes_width(p, m.answer, most) + p.px(kAnswerEnd));
  return std::min(out, most);
}

std::vector<std::string> metric_lines(const Snapshot& snapshot, int lane, const LaneMetrics& m, const MetricColumn& column) {
  std::vector<std::string> out = {lane_name(snapshot, lane)};
  const auto number = [](double v) { return std::isfinite(v) ? fmt::format("{}", v) : std::string(kNotAvailableText); };
  const auto steps_of = [&](int n) {
    if (m.range) return fmt::format("{} of the range ({})", count_of(n, "step", "steps"), range_text(*m.range));
    return count_of(n, "step", "steps") + (snapshot.prefill_mode ? " after the prompt" : ", those that read the prompt included");
  };
  const std::string steps = steps_of(m.means.n_steps), compared = steps_of(m.means.compared);
  switch (column.kind) {
    case Kind::answer:
      add_answer_lines(snapshot, m, out);
      break;
    case Kind::differs:
      if (m.split.position < 0) {
        out.push_back(fmt::format("the same {} tokens after the prompt as the full cache", m.split.compared));
        break;
      }
      out.push_back(
          fmt::format("token {} of the text {}", format_count(m.split.position), m.split.forced ? "would differ first" : "differs first"));
      out.push_back((m.split.forced ? "this run's choices: " : "this run: ") + quoted(m.split.own));
      out.push_back("the full cache: " + quoted(m.split.reference));
      break;
    case Kind::kl:
      out.push_back(fmt::format("KL(full ‖ this run) after step {}: {} nats", m.step, number(m.kl)));
      break;
    case Kind::mean_kl:
      out.push_back(fmt::format("mean KL over {}: {} nats", compared, number(m.means.kl.mean())));
      add_growth(m, out);
      break;
    case Kind::top1:
      out.push_back(
          fmt::format("the full cache's top choice in {} of {}{}", m.means.top1_same, compared,
                      m.range || !snapshot.prefill_mode ? "" : "; the first next token, that of the prompt's own step, is not counted"));
      break;
    case Kind::nll:
      if (m.range) {
        out.push_back(fmt::format("−ln p of the tokens fed next, mean over {}: {}", steps, number(m.nll)));
        break;
      }
      out.push_back(fmt::format("−ln p of the token fed next, {}: {}",
                                m.next_token >= 0 ? quoted(text_of_id(snapshot, m.next_token)) : "none", number(m.nll)));
      break;
    case Kind::attention:
      out.push_back(fmt::format("attention on tokens that no slot represents, or that the query does not read, mean of the heads{}: {}",
                                m.range ? " and of " + steps : "", number(m.attention_loss)));
      out.emplace_back("merged tokens do not count as lost: a slot stands in for them");
      break;
    case Kind::slots: {
      out.push_back(fmt::format("slots per head after step {}, mean: {}", m.step, number(m.slots)));
      const LaneSnapshot& run = snapshot.lanes[static_cast<std::size_t>(lane)];
      out.push_back(asked_for(run));
      if (run.slots_asked >= 0) add_growth(m, out);
      break;
    }
    case Kind::bytes:
      out.push_back(fmt::format("bytes of the keys and values after step {}: {}", m.step, number(m.bytes)));
      out.push_back(fmt::format("allocated for them now: {}", number(m.means.allocated)));
      break;
    case Kind::read:
      out.push_back(std::isnan(m.read)
                        ? "its query reads every slot that is there"
                        : fmt::format("bytes that the query of step {} reads, with the bounds of pages: {}", m.step, number(m.read)));
      out.push_back(fmt::format("bytes kept: {}", number(m.bytes)));
      break;
    case Kind::policy:
      out.push_back(fmt::format(
          "statistics, decisions and merges: about {} ms a step, {}{}", format_number(m.work.ms, 1),
          m.work.n_steps > 0 ? fmt::format("the median of {}", count_of(m.work.n_steps, "step", "steps")) : std::string("their mean"),
          std::isfinite(m.work.prompt_ms) ? fmt::format(", after {} ms for the whole prompt", format_number(m.work.prompt_ms, 1)) : ""));
      if (m.work.probe_tokens > 0)
        out.push_back(
            fmt::format("a probe ran {} over the full cache{}", count_of(m.work.probe_tokens, "token", "tokens"),
                        std::isfinite(m.work.probe_ms) ? fmt::format(", {} of the prompt's time", format_ms(m.work.probe_ms)) : ""));
      out.push_back("measured on this machine in this run: the next one differs by as much as other work disturbs it");
      break;
  }
  return out;
}

std::string metric_plain(const Snapshot& snapshot, const LaneMetrics& m, MetricColumn::Kind kind) {
  const bool reads_all = kind == Kind::read && std::isnan(m.read);
  const bool number = kind != Kind::answer && kind != Kind::differs && kind != Kind::top1 && !reads_all;
  return number && m.step >= 0 ? format_plain(sort_value(m, kind)) : metric_text(snapshot, m, kind);
}

std::string metric_title(const MetricColumn& column) {
  switch (column.kind) {
    case Kind::mean_kl:
      return fmt::format("mean KL, nats ({})", column.unit);
    case Kind::nll:
      return fmt::format("−ln p, nats ({})", column.unit);
    case Kind::attention:
      return fmt::format("attention lost, share ({})", column.unit);
    case Kind::slots:
      return fmt::format("slots per head ({})", column.unit);
    default:
      return fmt::format("{} ({})", column.title, column.unit);
  }
}

double sort_value(const LaneMetrics& m, MetricColumn::Kind kind) {
  switch (kind) {
    case Kind::answer:
      return m.answer.empty()
                 ? kNotAvailable
                 : static_cast<double>(std::count_if(m.answer.begin(), m.answer.end(), [](const AnswerToken& t) { return !t.same; }));
    case Kind::differs:  // the later, the better; never is after all
      if (m.split.compared == 0) return kNotAvailable;
      return m.split.position < 0 ? std::numeric_limits<double>::max() : m.split.position;
    case Kind::kl:
      return m.kl;
    case Kind::mean_kl:
      return m.means.kl.mean();
    case Kind::top1:
      return m.means.top1_share();
    case Kind::nll:
      return m.nll;
    case Kind::attention:
      return m.attention_loss;
    case Kind::slots:
      return m.slots;
    case Kind::bytes:
      return m.bytes;
    case Kind::read:
      return m.read;
    case Kind::policy:
      return m.work.ms;
  }
  return kNotAvailable;
}

std::vector<int> sorted_lanes(const std::vector<LaneMetrics>& lanes, const MetricOrder& order) {
  std::vector<int> out(lanes.size());
  std::iota(out.begin(), out.end(), 0);
  if (!order.kind || out.size() < 2) return out;
  std::stable_sort(out.begin() + 1, out.end(), [&](int a, int b) {
    const double x = sort_value(lanes[static_cast<std::size_t>(a)], *order.kind),
                 y = sort_value(lanes[static_cast<std::size_t>(b)], *order.kind);
    if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
    return order.descending ? x > y : x < y;
  });
  return out;
}

void draw_metric_header(Painter& p, const Rect& strip, const std::vector<MetricColumn>& columns, const MetricOrder& order) {
  const Theme& t = p.theme();
  float x = strip.x1 - total_width(columns, p.frame().scale);
  for (const MetricColumn& c : columns) {
    const float end = x + p.px(c.width);
    const bool left = c.kind == Kind::answer;
    const float at = left ? x : end;
    const bool sorted = order.kind == c.kind;
    const float wide =
        p.text({at, strip.y0 + p.px(10)}, c.title, Face::caption, sorted ? t.accent : t.text, left ? Align::left : Align::right);
    if (sorted) {  // a triangle beside the title: where the largest stands
      const float tip = order.descending ? p.px(3) : -p.px(3), mid = strip.y0 + p.px(10),
                  tx = left ? at + wide + p.px(8) : at - wide - p.px(8);
      p.triangle({tx - p.px(3.5f), mid - tip}, {tx + p.px(3.5f), mid - tip}, {tx, mid + tip}, t.accent);
    }
    // Said here, too: the title of the panel may have no room for it.
    const bool unequal = c.kind == Kind::slots && !p.frame().plain && unequal_budgets(*p.frame().snapshot);
    const std::string& follow = p.frame().snapshot->follow;  // the row is no text that the run wrote, unless it goes on from its own
    const bool fed = c.kind == Kind::answer && !p.frame().plain && follow != "self";
    const std::string unit = unequal ? "they differ" : fed ? follow == "file" ? "after given tokens" : "after A's tokens" : c.unit;
    const std::string shown = p.elide(unit, Face::caption, end - x - p.px(kUnitGap));
    const float w =
        p.text({at, strip.y0 + p.px(24)}, shown, Face::caption, unequal ? t.accent : t.secondary, left ? Align::left : Align::right);
    p.mark("unit", c.title, {left ? x : end - w, strip.y0 + p.px(17), left ? x + w : end, strip.y0 + p.px(31)}, shown);
    p.mark("column", c.title, {x, strip.y0, end, strip.y1}, unit);
    x = end;
  }
}

namespace {

/// How many of the boxes have room before what is said of the others.
std::size_t boxes_shown(const Painter& p, std::span<const AnswerToken> answer, float room, const std::function<float(std::size_t)>& note) {
  float taken = 0;
  std::size_t n = 0;
  for (; n < answer.size(); ++n) {
    taken += answer_box(p, answer[n]).width + (n > 0 ? answer_gap(p) : 0);
    if (taken + (n + 1 < answer.size() ? note(n + 1) : 0) > room) break;
  }
  return n;
}

void draw_answer(Painter& p, float x, float width, float y, float row, int lane, const LaneMetrics& m, std::size_t first) {
  const Theme& t = p.theme();
  const bool plain = p.frame().plain, below = !plain && row >= p.px(kAnswerNote);
  const float end = x + width - p.px(kAnswerEnd), begin = x, side = p.px(kAnswerBox);
  if (m.answer.empty()) p.text({x, y}, "–", Face::body, t.disabled);
  first = std::min(first, m.answer.size());
  if (m.answer_before > 0 || first > 0) x += p.text({x, y}, "…", Face::caption, t.secondary) + p.px(3);
  const std::span answer = std::span(m.answer).subspan(first);
  // What finds no room is said below in a tall row, else behind, in short where the words would take the place of the tokens.
  const auto words = [&](std::size_t n, bool whole) {
    return whole ? more_text(answer.subspan(n)) : fmt::format("+{}", answer.size() - n);
  };
  bool whole = !plain;
  const auto note_room = [&](std::size_t n) { return below || plain ? 0 : answer_gap(p) + p.width_of(Face::caption, words(n, whole)); };
  std::size_t n = boxes_shown(p, answer, end - x, note_room);
  if (whole && !below && n < std::min<std::size_t>(3, answer.size())) {
    whole = false;
    n = boxes_shown(p, answer, end - x, note_room);
  }
  for (const AnswerToken& token : answer.first(n)) {
    const auto [text, w] = answer_box(p, token);
    const float high = std::min(side, std::max(4.0f, row - 2));  // of a low row
    const Rect box{x, std::round(y - high / 2), x + w, std::round(y - high / 2) + high};
    p.fill(box, t.raised, 1, 4);
    p.frame_rect(box, token.same ? t.line : t.changed, token.same || high < side ? 1.0f : 1.5f, high < side ? 2 : 4);  // clear of the sign
    p.token({box.middle_x(), box.middle_y()}, text, p.size_of(Face::mono), token.same ? t.text : t.changed, true, false, false,
            Align::centre);
    p.mark(token.same ? "answer" : "answer.changed", fmt::format("lane {} step {}", lane, token.step), box, text);
    x += w + answer_gap(p);
  }
  if (n == answer.size()) return;
  const ImVec2 at = below ? ImVec2(begin, y + side / 2 + p.px(9)) : ImVec2(x, y);
  const std::string note = words(n, whole);
  const float w = p.text(at, note, Face::caption, !plain && n_wrong(answer.subspan(n)) > 0 ? t.changed : t.disabled);
  p.mark("answer.more", fmt::format("lane {}", lane), {at.x, at.y - p.px(7), at.x + w, at.y + p.px(7)}, note);
}

}  // namespace

void draw_metrics(Painter& p, float right, float y, float row, const std::vector<MetricColumn>& columns, int lane,
                  const LaneMetrics& metrics, std::size_t answer_from, bool below) {
  const Theme& t = p.theme();
  const Snapshot& snapshot = *p.frame().snapshot;
  float x = right - total_width(columns, p.frame().scale);
  for (const MetricColumn& c : columns) {
    const float width = p.px(c.width), end = x + width;
    if (c.kind == Kind::answer) {
      draw_answer(p, x, width, y, row, lane, metrics, answer_from);
    } else {
      // Nobody reads powers of ten from the last row.
      const bool little = p.frame().plain && c.kind == Kind::mean_kl && metrics.means.kl.mean() < kSameNats && lane > 0;
      const std::string text = little ? "<0.001" : metric_text(snapshot, metrics, c.kind);
      const bool main = c.kind == Kind::kl;
      const bool number = text != kNotAvailableText && text != "–";
      p.text({end, y}, text, main ? Face::strong : Face::mono, number ? (c.kind == Kind::bytes ? t.secondary : t.text) : t.disabled,
             Align::right);
      if (c.kind == Kind::slots && below)
        if (const std::string note = slots_note(snapshot.lanes[static_cast<std::size_t>(lane)], metrics); !note.empty())
          p.text({end, y + p.px(14)}, note, Face::caption, t.disabled, Align::right);
      p.mark("metric", fmt::format("lane {} {}", lane, c.title), {x, y - 9, end, y + 9}, text);
    }
    x = end;
  }
}

int metric_at(float x, float right, const std::vector<MetricColumn>& columns, float scale) {
  float end = right;
  for (int i = static_cast<int>(columns.size()) - 1; i >= 0; --i) {
    const float begin = end - columns[static_cast<std::size_t>(i)].width * scale;
    if (x >= begin && x < end) return i;
    end = begin;
  }
  return -1;
}

}  // namespace kvscope::viz
