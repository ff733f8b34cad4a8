// SPDX-License-Identifier: Apache-2.0
#include "viz/views/inspector/why_card.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "viz/draw/format.h"
#include "viz/reduce/text.h"
#include "viz/reduce/why/why_kept.h"
#include "viz/reduce/why/why_refitted.h"
#include "viz/reduce/why/why_stored.h"
#include "viz/views/inspector/inspector_cards.h"

namespace kvscope::viz {

namespace {

// Logical pixels.
constexpr float kIndent = 30;          // of a reason under its number
constexpr float kLine = 17;            // a line of words
constexpr float kCandidateRow = 15;    // a candidate of the cosines
constexpr float kHeadRow = 16;         // a query head of the bias
constexpr std::size_t kKeysLeast = 3;  // candidates shown however little room there is
constexpr float kFoot = 28, kAir = 8;  // the cost's line; above the first reason

void number_badge(Painter& p, ImVec2 at, int number) {
  const Theme& t = p.theme();
  p.ring(at, p.px(8.5f), t.accent, 1.4f);
  p.text(at, std::to_string(number), Face::caption, t.accent, Align::centre);
}

/// Cosines of this step's removals on one axis: the one looked at in accent, the others grey, the threshold dashed; where they are
/// recorded, the best candidates by name, a line each.
class Cosines {
 public:
  /// `width`: of the rectangle that draw() will get.
  Cosines(Painter& p, float width, std::span<const TokenInfo> tokens, const Why& why, const WhyStep& step)
      : p_(p), tokens_(tokens), why_(why), keys_(step.keys) {
    fit();
    names_ = by_name() ? p.px(108) : p.px(4);
    length_ = std::min(width - p.px(20), p.px(520)) - names_;
    float labels_end = 0;
    for (const double tick : nice_ticks(low_, high_, 6))
      labels_end = std::max(labels_end, along(tick) + p.width_of(Face::caption, tick_text(tick)) / 2);
    if (std::isfinite(why.threshold)) note_ = fmt::format("threshold {:.2f}", why.threshold);
    if (by_name()) {
      note_ += note_.empty() ? "cosine" : ", cosine";
    } else if (!why.other_cos.empty()) {
      note_ +=
          fmt::format("{}grey: {} other {} of this step", note_.empty() ? "" : " · ",
                      format_count(static_cast<std::int64_t>(why.other_cos.size())), why.other_cos.size() == 1 ? "removal" : "removals");
    }
    // Behind the numbers of the axis where there is room, else on a line of its own.
    beside_ = length_ + p.px(16) - p.width_of(Face::caption, note_) > labels_end + p.px(8);
  }

  float height() const { return by_name() ? rows() + p_.px(beside_ ? 28 : 41) : p_.px(59); }

  void draw(const Rect& area) const {
    const Theme& t = p_.theme();
    const float x0 = area.x0 + names_, x1 = x0 + length_;
    const float y = area.y0 + (by_name() ? rows() + p_.px(2) : p_.px(17)), bottom = by_name() ? y + p_.px(20) : area.y0 + p_.px(42);
    p_.hline(x0, x1, y, t.line);
    for (const double tick : nice_ticks(low_, high_, 6)) {
      const std::string label = tick_text(tick);
      const float x = x0 + along(tick), half = p_.width_of(Face::caption, label) / 2;
      p_.mark("cosine.tick", label, {x - half, bottom - p_.px(12), x + half, bottom});
      p_.text({x, bottom - p_.px(6)}, label, Face::caption, t.disabled, Align::centre);
      p_.vline(x, y - 2, y + 3, t.disabled);
    }
    if (std::isfinite(why_.threshold)) {
      const float x = x0 + along(why_.threshold);
      p_.dashed({x, area.y0 + p_.px(2)}, {x, y + p_.px(12)}, t.accent, kDashLimit, 1);
      p_.mark("threshold", "cosine", {x, area.y0, x + 1, y + 12}, fmt::format("{:g}", why_.threshold));
    }
    if (by_name())
      draw_names(area, x0, x1, bottom);
    else
      draw_crowd(area, x0, y);
  }

 private:
  bool by_name() const { return !keys_.empty(); }
  float rows() const { return p_.px(kCandidateRow) * static_cast<float>(keys_.size()); }
  float along(double cos) const { return static_cast<float>((cos - low_) / (high_ - low_)) * length_; }
  static std::string tick_text(double tick) { return fmt::format("{:g}", std::round(tick * 1000) / 1000); }

  /// The axis holds all that is shown, with air.
  void fit() {
    low_ = high_ = why_.event.cos;
    const auto widen = [&](double v) {
      if (!std::isfinite(v)) return;
      low_ = std::min(low_, v);
      high_ = std::max(high_, v);
    };
    widen(why_.threshold);
    for (const double v : why_.other_cos) widen(v);
    for (const auto& [pos, cos] : keys_) widen(cos);
    const double span = std::max(high_ - low_, 0.05);
    low_ = std::max(-1.0, std::floor((low_ - 0.15 * span) * 20) / 20);
    high_ = std::min(1.0, std::ceil((high_ + 0.1 * span) * 20) / 20);
    if (high_ <= low_) low_ = high_ - 0.1;
  }

  void draw_names(const Rect& area, float x0, float x1, float bottom) const {
    const Theme& t = p_.theme();
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      const auto& [pos, cos] = keys_[i];
      const float line = area.y0 + p_.px(kCandidateRow) * (static_cast<float>(i) + 0.5f), x = x0 + along(cos);
      const bool target = pos == why_.event.into;
      p_.text({area.x0 + p_.px(24), line}, format_count(pos), Face::caption, t.disabled, Align::right);
      p_.token({area.x0 + p_.px(32), line}, p_.elide(token_text(tokens_, pos), Face::mono, p_.px(70)), p_.size_of(Face::mono),
               target ? t.text : t.secondary);
      p_.hline(x0, x1, line, t.line, 0.5);
      p_.disc({x, line}, p_.px(target ? 4.2f : 3.0f), target ? t.accent : t.disabled);
      const std::string number = fmt::format("{:.3f}", cos);
      const float begin = x + p_.px(8), end_of_number = begin + p_.width_of(Face::caption, number);
      const float limit = std::isfinite(why_.threshold) ? x0 + along(why_.threshold) : x1 + p_.px(20);
      const bool left = end_of_number + p_.px(2) > x1 + p_.px(18) || (limit > begin - p_.px(2) && limit < end_of_number + p_.px(2));
      p_.text({x + (left ? -p_.px(8) : p_.px(8)), line}, number, Face::caption, target ? t.text : t.secondary,
              left ? Align::right : Align::left);
      p_.mark("candidate", fmt::format("t{}", pos), {area.x0, line - p_.px(kCandidateRow) / 2, x1, line + p_.px(kCandidateRow) / 2},
              number);
    }
    const float end = x1 + p_.px(16), y = bottom + (beside_ ? -p_.px(6) : p_.px(7));
    p_.text({end, y}, note_, Face::caption, t.secondary, Align::right);
    p_.mark("cosine.note", note_, {end - p_.width_of(Face::caption, note_), y - p_.px(6), end, y + p_.px(6)});
  }

  void draw_crowd(const Rect& area, float x0, float y) const {
    const Theme& t = p_.theme();
    for (std::size_t i = 0; i < std::min<std::size_t>(why_.other_cos.size(), 400); ++i)
      p_.disc({x0 + along(why_.other_cos[i]), y}, p_.px(2.6f), t.disabled, 0.75);
    const float x = x0 + along(why_.event.cos);
    p_.disc({x, y}, p_.px(4.6f), t.accent);
    p_.mark("cosine", fmt::format("t{}", why_.event.pos), {x - 5, y - 5, x + 5, y + 5}, format_number(why_.event.cos));
    p_.text({x, area.y0 + p_.px(4)}, fmt::format("{:.3f}", why_.event.cos), Face::caption, t.text, Align::centre);
    p_.text({x0, area.y0 + p_.px(50)}, note_, Face::caption, t.secondary);
  }

  Painter& p_;
  std::span<const TokenInfo> tokens_;
  const Why& why_;
  std::vector<std::pair<int, double>> keys_;
  double low_ = 0, high_ = 1;
  float names_ = 0, length_ = 0;  // width of the names; of the axis
  std::string note_;
  bool beside_ = false;
};

void draw_head_rows(Painter& p, const Rect& area, const WhyStep& step) {
  const Theme& t = p.theme();
  const float columns = static_cast<float>(step.rows.front().size() - 1),
              column = std::min(p.px(92), (area.width() - p.px(70)) / std::max(1.0f, columns));
  float y = area.y0 + p.px(8);
  for (std::size_t r = 0; r < step.rows.size(); ++r, y += p.px(kHeadRow)) {
    for (std::size_t c = 0; c < step.rows[r].size(); ++c) {
      const float x = area.x0 + p.px(66) + column * static_cast<float>(c);
      p.text({x, y}, step.rows[r][c], r == 0 ? Face::caption : Face::mono, r == 0 ? t.disabled : t.text, Align::right);
    }
    if (r > 0)
      p.mark("head.row", "query head " + step.rows[r][0], {area.x0, y - 8, area.x1, y + 8},
             fmt::format("{}", fmt::join(step.rows[r], " ")));
  }
}

/// A text too wide for one line is broken at wide gaps as far as these let it fit, else between words: an equation is nothing without its
/// end.
std::vector<std::string> broken(const Painter& p, std::string text, Face face, float room) {
  const auto cut = [&]() -> std::optional<std::string> {
    for (const std::string_view gap : {"  ·  ", "     ", ":  ", " = ", " "}) {
      const std::size_t keep = gap.front() == ':' ? 1 : 0, skip = gap == " = " ? 1 : gap.size();
      for (std::size_t at = text.rfind(gap); at != std::string::npos && at > 0; at = text.rfind(gap, at - 1)) {
        std::string first = text.substr(0, at + keep);
        if (p.width_of(face, first) > room) continue;
        text.erase(0, at + skip);
        return first;
      }
    }
    return std::nullopt;
  };
  std::vector<std::string> out;
  while (p.width_of(face, text) > room) {
    std::optional<std::string> first = cut();
    if (!first) break;
    out.push_back(*std::move(first));
  }
  out.push_back(std::move(text));
  return out;
}

/// A line, a picture or a gap of the reasons: laid out first, so that what has no room is known before anything is drawn.
struct Piece {
  std::size_t step = 0;
  float height = 0;
  std::function<void(const Rect&)> draw;  // empty: a gap
};

float total(const std::vector<Piece>& pieces) {
  return std::accumulate(pieces.begin(), pieces.end(), 0.0f, [](float sum, const Piece& one) { return sum + one.height; });
}

/// `fewer`: candidates of the cosines to leave out, as far as kKeysLeast stay.
std::vector<Piece> pieces_of(Painter& p, float width, std::span<const TokenInfo> tokens, const Why& why, const std::vector<WhyStep>& steps,
                             std::size_t fewer) {
  const Theme& t = p.theme();
  const float indent = p.px(kIndent), room = width - indent;
  std::vector<Piece> out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const WhyStep& step = steps[i];
    const auto write = [&](std::string text, Face face, Rgb ink, std::string whole = {}) {
      out.push_back({i, p.px(kLine), [&p, i, text = std::move(text), whole = std::move(whole), face, ink, indent](const Rect& r) {
                       p.text_fit({r.x0 + indent, r.middle_y()}, text, face, ink, r.width() - indent);
                       if (!whole.empty()) p.mark("why.line", std::to_string(i + 1), r, whole);
                     }});
    };
    const std::vector<std::string> heading = broken(p, step.title, Face::strong, room);
    out.push_back({i, p.px(22), [&p, &t, &step, i, indent, text = heading[0]](const Rect& r) {
                     number_badge(p, {r.x0 + p.px(8.5f), r.middle_y()}, static_cast<int>(i) + 1);
                     p.text_fit({r.x0 + indent, r.middle_y()}, text, Face::strong, t.text, r.width() - indent);
                     p.mark("why", std::to_string(i + 1), r, step.title);
                   }});
    for (std::size_t h = 1; h < heading.size(); ++h) write(heading[h], Face::strong, t.text);
    if (step.kind == WhyStep::Kind::cosines) {
      WhyStep low = step;
      if (low.keys.size() > kKeysLeast) low.keys.resize(std::max(kKeysLeast, low.keys.size() - std::min(fewer, low.keys.size())));
      Cosines cosines(p, room, tokens, why, low);
      const float height = cosines.height();
      out.push_back({i, height, [cosines = std::move(cosines), indent](const Rect& r) {
                       cosines.draw({r.x0 + indent, r.y0, r.x1, r.y1});
                     }});
    }
    for (const std::string& line : step.lines) {
      std::string whole = line;
      for (const std::string& part : broken(p, line, Face::body, room))
        write(part, Face::body, i == 0 ? t.secondary : t.text, std::exchange(whole, {}));
    }
    if (step.kind == WhyStep::Kind::heads) {
      out.push_back({i, p.px(kHeadRow) * static_cast<float>(step.rows.size()), [&p, &step, indent](const Rect& r) {
                       draw_head_rows(p, {r.x0 + indent, r.y0, r.x1, r.y1}, step);
                     }});
      if (step.rows.size() > 2) write("“left over”: the query heads share one bias", Face::caption, t.disabled);
    }
    out.push_back({i, p.px(6), {}});
  }
  if (!out.empty()) out.pop_back();  // the gap after the last
  return out;
}

/// Of all that the head lost at once, as it was measured: what one of them cost is not known. Beside it what the step on screen says of
/// the head: both are shares of its output, of other queries and caches.
std::string cost_text(const HeadPick& pick, const Why& why) {
  if (!std::isfinite(why.cost)) return "not measured";
  const std::string whose =
      why.n_removed == 1 ? std::string("by its only removal") : fmt::format("by all {} removals together", format_count(why.n_removed));
  const std::string then = fmt::format("output error at step {} {}: {}", why.step, whose, format_percent(why.cost));
  const double now = pick.values->local_rel_l2;
  if (!std::isfinite(now)) return then;
  return pick.step == why.step ? fmt::format("{}; the local error, {}, is from before it", then, format_percent(now))
                               : fmt::format("{}; local error now (step {}): {}", then, pick.step, format_percent(now));
}

/// The same for who points at it.
std::vector<std::string> cost_lines(const HeadPick& pick, const Why& why) {
  std::vector<std::string> out;
  std::string rest = "Cost to this head: " + cost_text(pick, why);
  for (std::size_t end = rest.find("; "); end != std::string::npos; end = rest.find("; ")) {
    out.push_back(rest.substr(0, end));
    rest.erase(0, end + 2);
  }
  out.push_back(std::move(rest));
  if (why.n_removed > 1) out.emplace_back("measured for all of them at once: what each costs alone is not known");
  return out;
}

/// What the compression of the step cost. Returns where the words end.
float draw_cost(Painter& p, const Rect& foot, const HeadPick& pick, const Why& why) {
  const Theme& t = p.theme();
  p.hline(foot.x0 - p.px(12), foot.x1 + p.px(12), foot.y0, t.line);
  float x = foot.x0 + p.text({foot.x0, foot.middle_y()}, "Cost to this head", Face::body, t.secondary) + p.px(12);
  const std::string whole = cost_text(pick, why), first = whole.substr(0, whole.find(';'));
  // That it is of all removals is never left out: it would be read as the cost of this one.
  const std::string brief = !std::isfinite(why.cost) ? first
                            : why.n_removed == 1
                                ? fmt::format("output error at step {}: {}", why.step, format_percent(why.cost))
                                : fmt::format("all {} together: {}", format_count(why.n_removed), format_percent(why.cost));
  // Beside it must stand that there is more to read.
  const float room = std::max(0.0f, foot.x1 - x - p.width_of(Face::caption, "more of reason 9: PgDown") - p.px(14));
  const std::string* shown = &brief;
  // A head that a merge cost little then may be far off by now.
  const double now = pick.values->local_rel_l2;
  const std::string both = pick.step == why.step || !std::isfinite(now) || !std::isfinite(why.cost)
                               ? first
                               : fmt::format("{}; local error now: {}", brief, format_percent(now));
  for (const std::string* words : {&first, &both, &whole})
    if (p.width_of(Face::strong, *words) <= room) shown = words;
  x += p.text_fit({x, foot.middle_y()}, *shown, Face::strong, t.text, std::max(0.0f, foot.x1 - x));
  p.mark("cost", "compress_rel_l2", foot, whole);
  return x;
}

/// It stands because somebody said so, not because the policy chose it.
bool by_hand(const HeadPick& pick, const SlotFacts& slot) {
  if (slot.pos < 0 || std::ranges::binary_search(pick.values->pinned, slot.pos)) return true;
  return pick.run->fates != nullptr && slot.pos == slot.token &&
         !restored_text(pick.run->fates->heads[static_cast<std::size_t>(pick.head)].past, slot.token, pick.step).empty();
}

/// The token has its own slot, whatever that took over.
bool stays_of(const Why& why, const SlotFacts& slot) { return why.step < 0 || why.event.pos != slot.token; }

std::string why_it_stays(const HeadPick& pick, const SlotFacts& slot) {
  const bool pinned = std::ranges::binary_search(pick.values->pinned, slot.pos);
  if (pick.run->fates != nullptr && slot.pos == slot.token) {
    const std::string back = restored_text(pick.run->fates->heads[static_cast<std::size_t>(pick.head)].past, slot.token, pick.step);
    if (!back.empty()) return fmt::format("It was {}{}.", back, pinned ? ", and is pinned: the policy may not remove it" : "");
  }
  if (pinned) return "It is pinned by hand: the policy may not remove it.";
  if (pick.lane == 0 && pick.values->budget < 0) return "No budget: every token keeps its slot.";
  const bool others_have_one = std::ranges::any_of(pick.record->heads, [](const HeadRecord& head) { return head.budget >= 0; });
  if (pick.values->budget < 0 && (pick.run->slots_asked >= 0 || others_have_one))
    return "The policy gives this head no budget: all its tokens keep their slots.";
  return "Nothing has had to go from this head yet.";
}

/// Everything that the card gives as reasons: those of the token looked at, and of one that stays what it took over last.
std::vector<WhyStep> reasons_of(const Snapshot& snapshot, const HeadPick& pick, const Why& why, const SlotFacts& slot) {
  std::vector<WhyStep> steps;
  if (stays_of(why, slot)) {
    if (!by_hand(pick, slot)) steps = why_kept_steps(snapshot, pick, slot.pos);
    std::ranges::move(why_refitted_steps(pick, slot.pos), std::back_inserter(steps));
    std::ranges::move(why_stored_steps(pick, slot.pos), std::back_inserter(steps));
    if (why.step >= 0) {
      if (steps.empty()) steps.push_back({.title = why_it_stays(pick, slot)});
      steps.push_back({.title = "What it took over last: " + why_headline(tokens_of(snapshot, pick.lane), why)});
    }
  }
  std::ranges::move(why_steps(snapshot, pick, why), std::back_inserter(steps));
  if (!steps.empty())
    if (WhyStep others = other_runs_step(snapshot, pick, slot.token); !others.lines.empty()) steps.push_back(std::move(others));
  return steps;
}

}  // namespace

std::string why_words(const Snapshot& snapshot, const HeadPick& pick, const Why& why, const SlotFacts& slot) {
  const std::vector<WhyStep> steps = reasons_of(snapshot, pick, why, slot);
  if (steps.empty()) return "Why: " + why_it_stays(pick, slot);
  const bool stays = stays_of(why, slot);
  std::string out = "Why: " + (stays ? slot_name(tokens_of(snapshot, pick.lane), slot.pos) + " stays"
                                     : why_headline(tokens_of(snapshot, pick.lane), why));
  for (const WhyStep& step : steps) {
    out += ". " + step.title;
    for (const std::string& line : step.lines) out += "; " + line;
    for (const std::vector<std::string>& row : step.rows) out += fmt::format("; {}", fmt::join(row, " "));
  }
  return why.step < 0 ? out : out + ". Cost to this head: " + cost_text(pick, why);
}

float WhyCard::height(Painter& p, float width, const HeadPick& pick, const Why& why, const SlotFacts& slot) {
  const Snapshot& snapshot = *p.frame().snapshot;
  const std::vector<WhyStep> steps = reasons_of(snapshot, pick, why, slot);
  return p.px(kCardHead + kFoot + 2 * kAir) + 1 +
         total(pieces_of(p, width - 2 * p.px(kCardPadding), tokens_of(snapshot, pick.lane), why, steps, 0));
}

void WhyCard::draw(Painter& p, const Rect& area, const HeadPick& pick, const Why& why, const SlotFacts& slot) {
  const Theme& t = p.theme();
  const Snapshot& snapshot = *p.frame().snapshot;
  const std::vector<WhyStep> steps = reasons_of(snapshot, pick, why, slot);
  const bool stays = stays_of(why, slot);
  cost_ = {};
  body_ = draw_card_head(p, area, "Why",
                         stays && !steps.empty() ? slot_name(tokens_of(snapshot, pick.lane), slot.pos) + " stays"
                                                 : why_headline(tokens_of(snapshot, pick.lane), why));
  const int of_token = stays ? slot.token : why.event.pos;
  const bool alone = p.frame().alone;  // paper has no wheel: from the first reason on, and on screen nothing moves by that
  const std::array of{pick.lane, pick.head, why.step, of_token};
  if (!alone && std::exchange(of_, of) != of) offset_ = 0;
  hidden_ = 0;
  const Rect foot = body_.cut_bottom(p.px(kFoot));
  if (steps.empty()) {
    const std::string nothing = why_it_stays(pick, slot);
    p.text_fit({body_.x0, body_.y0 + p.px(22)}, nothing, Face::body, t.secondary, body_.width());
    p.mark("why", "nothing", body_, nothing);
    return;
  }
  const float words_end = why.step < 0 ? foot.x0 : draw_cost(p, foot, pick, why);
  if (why.step >= 0) {
    cost_ = foot;
    cost_words_ = cost_lines(pick, why);
  }
  body_.cut_top(p.px(kAir));

  // All that fits with fewer candidates is shown with fewer; else all is there, and is scrolled.
  std::vector<Piece> pieces = pieces_of(p, body_.width(), tokens_of(snapshot, pick.lane), why, steps, 0);
  if (const float lack = total(pieces) - body_.height(); lack > 0) {
    std::vector<Piece> fewer = pieces_of(p, body_.width(), tokens_of(snapshot, pick.lane), why, steps,
                                         static_cast<std::size_t>(std::ceil(lack / p.px(kCandidateRow))));
    if (total(fewer) <= body_.height()) pieces = std::move(fewer);
  }
  hidden_ = std::max(0.0f, total(pieces) - body_.height());
  if (!alone) scroll(0);
  const float offset = alone ? 0 : offset_;
  std::optional<std::size_t> below;  // the first step that is not there to its last line
  p.clip({body_.x0 - p.px(12), body_.y0, body_.x1 + p.px(12), body_.y1});
  float y = body_.y0 - offset;
  for (const Piece& piece : pieces) {
    const Rect r{body_.x0, y, body_.x1, y + piece.height};
    y = r.y1;
    // What would be cut is left out until it is there whole, if it can be.
    const bool whole = r.y0 > body_.y0 - 0.5f && r.y1<body_.y1 + 0.5f, tall = piece.height> 0.5f * body_.height();
    if (piece.draw && (whole || (tall && r.y1 > body_.y0 && r.y0 < body_.y1))) piece.draw(r);
    if (!below && piece.draw && r.y1 > body_.y1 + 0.5f) below = piece.step + 1;
  }
  p.unclip();
  if (hidden_ <= 0 || alone) return;
  const float thumb = body_.height() * body_.height() / (body_.height() + hidden_),
              top = body_.y0 + (body_.height() - thumb) * offset_ / hidden_;
  p.fill({body_.x1 + p.px(4), top, body_.x1 + p.px(8), top + thumb}, t.disabled, 0.8, 2);
  p.mark("why.scroll", "reasons", {body_.x1 + p.px(4), top, body_.x1 + p.px(8), top + thumb});
  const std::string note = below ? fmt::format("more of reason {}: PgDown", *below) : "begins above: PgUp";
  const float room = foot.x1 - words_end - p.px(12);
  if (p.width_of(Face::caption, note) >= room) return;
  p.text({foot.x1, foot.middle_y()}, note, Face::caption, t.accent, Align::right);
  p.mark("why.hidden", note, foot);
}

const std::vector<std::string>& WhyCard::help(const Pointer& mouse) const {
  static const std::vector<std::string> none;
  return mouse.inside && cost_.contains(mouse.at) ? cost_words_ : none;
}

bool WhyCard::react(const Pointer& mouse) {
  if (!mouse.inside || mouse.wheel == 0 || hidden_ <= 0 || !body_.contains(mouse.at)) return false;
  scroll(-3 * kLine * mouse.wheel);
  return true;
}

bool WhyCard::key(std::string_view key) {
  if (hidden_ <= 0 || (key != "PageUp" && key != "PageDown")) return false;
  scroll((key == "PageUp" ? -0.8f : 0.8f) * body_.height());
  return true;
}

void WhyCard::scroll(float by) { offset_ = std::clamp(offset_ + by, 0.0f, hidden_); }

}  // namespace kvscope::viz
