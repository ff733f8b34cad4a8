// SPDX-License-Identifier: Apache-2.0
// Everything about one head: every token's score, statistic, attention, fate and votes; one slot, where it came from and why.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>

#include <fmt/format.h>

#include "snapshot/held_bytes.h"
#include "viz/draw/format.h"
#include "viz/reduce/characters.h"
#include "viz/reduce/no_tokens.h"
#include "viz/reduce/text.h"
#include "viz/views.h"
#include "viz/views/inspector/inspector_cards.h"
#include "viz/views/inspector/inspector_strip.h"
#include "viz/views/inspector/inspector_zoom.h"
#include "viz/views/inspector/lineage.h"
#include "viz/views/inspector/members.h"
#include "viz/views/inspector/slot_buttons.h"
#include "viz/views/inspector/why_card.h"
#include "viz/views/parts/capture_offer.h"
#include "viz/views/parts/filter_bar.h"
#include "viz/views/parts/room_hint.h"
#include "viz/views/parts/token_brush.h"

namespace kvscope::viz {

namespace {

constexpr float kCardsLeast = 250, kCards = 280;          // least and good height of the cards
constexpr float kStripLeast = 262, kStrip = 360;          // and of the strip above them
constexpr float kStripOfPicture = 290;                    // of a picture for a file, which can be higher where that is too little
constexpr double kAtOnceMs = 2000;                        // runs that compress within that do it again without a question
constexpr float kHintFrom = 220;                          // height from which that one of both is missing has room to be said
constexpr float kFilterFrom = 300;                        // height from which the filters have room
constexpr float kCaptionFrom = 420, kCaptionHeight = 24;  // what the head habitually does
constexpr int kNewest = 63;                               // greatest age of "the newest 64"
constexpr double kMissed = 0.01;                          // attention that a lost token must have had to be shown first
constexpr int kTopSlots = 8;                              // whose share of the attention the head line says

/// The token looked at, and why that one when none was chosen.
struct Focus {
  int token = -1;
  std::string_view why;
};

Focus focus_of(const Selection& selection, const HeadColumns& columns) {
  const int last = columns.size() - 1;
  if (last < 0) return {};
  if (selection.slot && (!selection.tokens || has_token(selection, *selection.slot))) return {std::clamp(*selection.slot, 0, last), ""};
  if (selection.tokens) return {std::clamp(selection.tokens->first, 0, last), ""};
  // The token that the sentence over the panels and the callouts speak of, if this head lost it.
  int missed = -1;
  for (int t = 0; t <= last; ++t) {
    const auto i = static_cast<std::size_t>(t);
    if (columns.category[i] == Category::evicted &&
        columns.lost[i] >= (missed < 0 ? kMissed : columns.lost[static_cast<std::size_t>(missed)]))
      missed = t;
  }
  if (missed >= 0) return {missed, "most missed, none selected"};
  const auto most = std::max_element(columns.votes.begin(), columns.votes.end());
  if (*most > 1) return {static_cast<int>(most - columns.votes.begin()), "most votes, none selected"};
  const int attended = largest(columns.attention);
  return {attended >= 0 ? attended : last, attended >= 0 ? "most attention, none selected" : "newest, none selected"};
}

class Inspector final : public View {
 public:
  const char* id() const override { return "inspector"; }
  const char* title() const override { return "Head inspector"; }
  const std::vector<Mark>& marks() const override { return marks_; }
  float preferred_height(const Frame& frame) const override { return 866 * frame.scale; }
  float lacking_height() const override { return lacking_; }

  std::vector<Option> options() const override {
    const TokenFilter& f = filter_.filter();
    const int shown = !f.active() ? 0 : f.min_votes == 1 ? 1 : f.min_votes == 2 ? 2 : f.max_age == kNewest ? 3 : -1;
    return {{"beside the slot", {"lineage, else why", "lineage", "why", "members by weight"}, beside_},
            {"tokens", {"all", "with a slot", "2 votes or more", "the newest 64"}, shown},
            {"low rows", {"statistic first", "agreement first"}, agreement_first_ ? 1 : 0}};
  }
  void choose(std::size_t option, int choice) override {
    if (option == 0) beside_ = std::clamp(choice, 0, 3), cards_first_ = true;  // what was asked for is shown, whatever else has no room
    if (option == 2) agreement_first_ = choice == 1;
    if (option != 1) return;
    TokenFilter filter;
    if (choice == 1 || choice == 2) filter.min_votes = choice;
    if (choice == 3) filter.max_age = kNewest;
    filter_.set(filter);
  }

  std::string facts(const Frame& frame) const override {
    const HeadPick pick = pick_of(frame);
    if (pick.values == nullptr) return {};
    const HeadColumns& columns = columns_of(frame, pick);
    const HeadRecord& head = *pick.values;
    const auto count = [&](Category c) { return std::count(columns.category.begin(), columns.category.end(), c); };
    int votes = only_figures(head) ? columns.size() - head.evicted_votes : 0;
    for (const int v : head.votes) votes += v;
    const std::int64_t slots = only_figures(head) ? head.n_slots : static_cast<std::int64_t>(head.pos.size());
    return fmt::format(
        "{}{}{} · slots {} of {} tokens ({}) · merged away {} · evicted {} · votes {} + {} lost = {} · {} · local error {} · "
        "effective tokens {} · top {} hold {} of the attention{}",
        head_name(head.layer, head.kv_head), choice_text(pick), window_text(*frame.snapshot, head.layer), format_count(slots),
        format_count(columns.size()), format_percent(static_cast<double>(slots) / std::max(1, columns.size())),
        format_count(count(Category::merged)), format_count(count(Category::evicted)), format_count(votes),
        format_count(head.evicted_votes), format_count(votes + head.evicted_votes), lost_text(pick), format_percent(head.local_rel_l2),
        format_number(effective_tokens(head)), kTopSlots, format_percent(top_mass(head, kTopSlots)), pooled_text(head));
  }

  Table table(const Frame& frame) const override {
    if (frame.snapshot == nullptr) return {};
    const HeadPick pick = pick_of(frame);
    Table table = head_table(*frame.snapshot, pick);
    if (pick.values == nullptr || !filter_.filter().active()) return table;
    const HeadColumns& columns = columns_of(frame, pick);  // a row per token, in order: the picture and the table hide the same ones
    std::vector<std::vector<std::string>> kept;
    for (int token = 0; token < columns.size(); ++token) {
      if (!filter_.filter().hides(columns, token)) kept.push_back(std::move(table.rows[static_cast<std::size_t>(token)]));
    }
    table.note += fmt::format("; hidden by the filter: {} of {} tokens", columns.size() - static_cast<int>(kept.size()), columns.size());
    table.rows = std::move(kept);
    return table;
  }

  void draw(const Frame& frame, std::vector<Intent>& intents) override {
    Painter p(frame, marks_);
    const HeadPick pick = pick_of(frame);
    lacking_ = 0;
    if (pick.values == nullptr) {
      drag_ = {};
      hover_.none(intents);
      p.empty("Every token of one head: score, votes, attention, fate, and why", no_run(frame.snapshot));
      p.finish();
      return;
    }
    const bool measured = frame.snapshot->measures.covers(MeasureSet::of_one_head()), at_once = recompute_ms(*frame.snapshot) < kAtOnceMs;
    if (!measured && at_once) intents.push_back(WantMeasure{WantMeasure::What::of_one_head, true});
    const HeadColumns& all = columns_of(frame, pick);
    const Focus focus = focus_of(frame.selection, all);
    const Looked& looked = look_at(pick, focus.token, all);
    const SlotFacts& slot = looked.slot;
    const Lineage& lineage = looked.lineage;
    Rect area = p.canvas();
    Rect filters;
    // Before the cards go, what stands over the strip does; a filter that hides something stays in sight.
    const Room room = room_of(p, pick, slot, lineage);
    const float spare = area.height() - room.strip - room.cards;
    if (frame.alone) lacking_ = std::max(0.0f, p.px(FilterBar::kHeight + kCaptionHeight) - spare);
    const bool tight = spare >= 0 && spare < p.px(FilterBar::kHeight + kCaptionHeight);
    if (area.height() >= p.px(kFilterFrom) && (!tight || spare >= p.px(FilterBar::kHeight) || filter_.filter().active()))
      filters = area.cut_top(p.px(FilterBar::kHeight));
    if (filters.height() > 0) filter_.react(p, filters, all);
    if (area.height() >= p.px(kCaptionFrom) && !tight)
      draw_habit(p, area.cut_top(p.px(kCaptionHeight)), habit_caption(*frame.snapshot, pick.values->layer, pick.values->kv_head));
    HeadColumns filtered;
    HiddenCount hidden;
    if (filter_.filter().active()) {  // a copy of a long text's columns is not free
      filtered = all;
      hidden = hide_tokens(filtered, filter_.filter());
    }
    const HeadColumns& columns = filter_.filter().active() ? filtered : all;
    const float lacking = -spare;
    const bool both = lacking <= 0, with_cards = both || cards_first_, with_strip = both || !cards_first_;
    hint_.none();
    if (!both && area.height() >= p.px(kHintFrom)) {
      const Rect strip = area.cut_bottom(p.px(RoomHint::kHeight));
      hint_.draw(p, strip, with_strip ? "the slot and what is beside it" : "scores, attention, fates and votes", lacking);
    }
    Rect cards = area;
    if (both) {
      // Short canvases take from both; the strip first, which has rows that can be lower.
      const float good = std::max(0.5f * area.height(), p.px(kStrip)), cards_good = std::max(p.px(kCards), room.cards);
      const float strip = std::clamp(area.height() - cards_good, room.strip, std::max(room.strip, good));
      cards = area.cut_bottom(area.height() - strip);
    }
    const StripContent content{largest(columns.score) >= 0, !columns.statistic.empty(), !columns.probed.empty(),
                               !columns.agreement.empty()};
    const StripRows rows = with_strip ? strip_rows(p, area, content, agreement_first_) : StripRows{};
    const TokenAxis axis = zoom_.axis(p, columns.size());
    StripScene scene{*frame.snapshot, pick, columns, slot, focus.token, zoom_.on(), std::nullopt, kNotAvailable};
    if (drag_.active) {
      scene.dragged_slots = drag_.slots;
      scene.dragged_score = drag_.score;
    }
    const StripHits hits = with_strip ? draw_strip(p, rows, axis, scene) : StripHits{};
    std::vector<LineageHit> tree;
    buttons_.clear();
    why_card_.none();
    if (with_cards) tree = draw_cards(p, cards, pick, slot, lineage, focus);
    const std::vector<TokenRange> ranges = all_tokens(frame.selection);
    if (filters.height() > 0) {
      filter_.draw(p, filters, all, hidden, n_tokens(frame.selection) > 1 ? range_summary(columns, ranges) : std::string());
    }
    offer_what_lacks(p, pick, rows, axis, with_strip && pick.lane > 0, with_strip && pick.lane > 0 && !measured && !at_once);
    if (hint_.under(p.pointer()) && p.pointer().clicked) cards_first_ = !cards_first_;
    if (filter_.busy() || hint_.under(p.pointer()) || capture_.react(p.pointer(), intents) || measure_.react(p.pointer(), intents))
      hover_.none(intents);
    else
      react(p, pick, all, rows, axis, hits, tree, lineage, intents);
    p.finish();
  }

  bool key(const Frame& frame, std::string_view key, std::vector<Intent>& intents) override {
    const HeadPick pick = pick_of(frame);
    if (pick.values == nullptr) return false;
    const HeadColumns& columns = columns_of(frame, pick);
    const int at = focus_of(frame.selection, columns).token;
    if (key == "Left" || key == "Right") {
      int next = at;  // to what is drawn beside it
      do next += key == "Left" ? -1 : 1;
      while (next >= 0 && next < columns.size() && filter_.filter().hides(columns, next));
      if (next >= 0 && next < columns.size()) select(frame, pick, next, intents);
      zoom_.keep_in_view(next);
    } else if (key == "Shift+Left" || key == "Shift+Right") {
      select(frame, pick, at, moved_end(frame.selection, at, key == "Shift+Left" ? -1 : 1, columns.size()), intents);
    } else if (key == "Home" || key == "End") {
      const auto& pos = pick.values->pos;
      if (!pos.empty()) select(frame, pick, key == "Home" ? pos.front() : pos.back(), intents);
    } else if (key == "Shift+Up" || key == "Shift+Down") {
      if (pick.lane > 0 && pick.values->budget >= 0)
        intents.push_back(SetBudget{pick.lane, std::max(1, pick.values->budget + (key == "Shift+Up" ? 1 : -1)), pick.values->layer,
                                    pick.values->kv_head});
    } else if (key == "Up" || key == "Down") {
      go_to_head(frame, pick, key == "Up" ? -1 : 1, intents);
    } else if (key == "+" || key == "-") {
      zoom_.around(at, columns.size(), key == "+" ? 1.0f : -1.0f);
    } else if (key == "0") {
      zoom_ = {};
    } else if (filter_.key(key, columns) || why_card_.key(key)) {
      return true;
    } else if (key == "Enter" && hint_.shown()) {
      cards_first_ = !cards_first_;
    } else {
      return false;
    }
    return true;
  }

  std::string cursor_text(const Frame& frame) const override {
    const HeadPick pick = pick_of(frame);
    if (pick.values == nullptr) return {};
    const HeadColumns& columns = columns_of(frame, pick);
    const int token = focus_of(frame.selection, columns).token;
    const SlotFacts slot = slot_facts(pick, token, columns.removal);
    const std::string keys = pick.lane > 0 ? fmt::format(". {}", SlotButtons::keys(SlotButtons::has_slot(slot, pick.step),
                                                                                   std::ranges::binary_search(pick.values->pinned, token)))
                                           : std::string();
    return fmt::format("{}. {}{}", fmt::join(token_lines(*frame.snapshot, pick, columns, token), ", "),
                       why_words(*frame.snapshot, pick, why_of(pick, token), slot), keys);
  }

  std::string summary(const Frame& frame) const override {
    const HeadPick pick = pick_of(frame);
    if (pick.values == nullptr) return {};
    return fmt::format("{}; filters: {}", facts(frame), filter_.words());
  }

 private:
  /// The cut-off in the hand. Candidates and scale are those of the moment it was taken, so that answers that arrive meanwhile do not move
  /// it.
  struct CutoffDrag {
    bool active = false;
    Cutoff candidates;
    ValueScale scale;
    Rect row;
    double score = kNotAvailable;
    int slots = 0, slots_before = 0;
  };

  /// What the cards say about one token.
  struct Looked {
    std::uint64_t columns = 0;  // version of the columns that it belongs to
    int token = -1;
    SlotFacts slot;
    Lineage lineage;
    Why why;
  };

  const HeadColumns& columns_of(const Frame& frame, const HeadPick& pick) const { return columns_.of(*frame.snapshot, pick); }

  /// What strip and cards need at least.
  struct Room {
    float strip = 0, cards = 0;
  };

  /// Where the cards stand beside each other; without a width: it is not there. Where there is no lineage, the reasons are second.
  struct Cards {
    Rect slot, second, why;
    bool reasons_second = false;
  };

  /// Kept from frame to frame, as the columns are.
  const Looked& look_at(const HeadPick& pick, int token, const HeadColumns& columns) {
    const auto& removal = columns.removal;
    if (looked_.columns != columns_.version() || looked_.token != token)
      looked_ = {columns_.version(), token, slot_facts(pick, token, removal), lineage_of(pick, token, removal), why_of(pick, token)};
    return looked_;
  }

  /// The uncompressed history that was not kept; and, of a long text, what all runs would have to compress anew for: that takes minutes,
  /// and nobody asks for it by looking at a head. What other runs measured since is there.
  void offer_what_lacks(Painter& p, const HeadPick& pick, const StripRows& rows, const TokenAxis& axis, bool history, bool measure) {
    capture_.none();
    measure_.none();
    const float room = axis.x1 - axis.x0;
    float y = rows.attention.y0 - p.px(2);
    const auto attention = [&bars = pick.values->reference_attention](int token) {
      return static_cast<std::size_t>(token) < bars.size() ? static_cast<double>(bars[static_cast<std::size_t>(token)]) : 0.0;
    };
    const auto draw = [&](CaptureOffer& offer, std::string_view what) {
      const float width = offer.plate_width(p, what, room);
      offer.draw_plate(p, {place_over_lowest(axis, width, attention), y}, what, width);
      y += p.px(20);
    };
    if (history && !p.frame().snapshot->history) draw(capture_, "attention that is lost, local error");
    if (measure && pick.values->agreement.empty()) draw(measure_, "agreement of query heads, next merge targets");
  }

  static HeadPick pick_of(const Frame& frame) {
    return frame.snapshot == nullptr ? HeadPick{} : pick_head(*frame.snapshot, frame.selection);
  }

  Cards cards_in(const Painter& p, Rect area, const Lineage& lineage) const {
    const bool three = area.width() >= p.px(1040), two = area.width() >= p.px(560);
    Cards out;
    out.slot = two ? area.cut_left(area.width() >= p.px(1200) ? p.px(270) : p.px(236)) : area;
    if (!two) return out;
    if (three) out.why = area.cut_right(std::clamp(area.width() * 0.56f, p.px(440), p.px(760)));
    out.second = area;
    const bool river = three || (beside_ == 0 ? lineage.merges > 0 && !p.frame().alone : beside_ == 1);  // on paper the reasons
    out.reasons_second = !river && beside_ != 3;
    return out;
  }

  /// On screen the reasons are scrolled; a picture for a file has room for all of them.
  Room room_of(Painter& p, const HeadPick& pick, const SlotFacts& slot, const Lineage& lineage) const {
    if (!p.frame().alone) return {p.px(kStripLeast), p.px(kCardsLeast)};
    const Cards at = cards_in(p, p.canvas(), lineage);
    const float width = at.reasons_second ? at.second.width() : at.why.width();
    return {p.px(kStripOfPicture), std::max(p.px(kCardsLeast), width > 0 ? 1 + WhyCard::height(p, width, pick, looked_.why, slot) : 0)};
  }

  std::vector<LineageHit> draw_cards(Painter& p, Rect area, const HeadPick& pick, const SlotFacts& slot, const Lineage& lineage,
                                     const Focus& focus) {
    const Snapshot& snapshot = *p.frame().snapshot;
    const Theme& t = p.theme();
    p.hline(area.x0, area.x1, area.y0, t.line);
    area.y0 += 1;
    const Why& why = looked_.why;
    const Cards at = cards_in(p, area, lineage);
    for (const Rect& card : {at.second, at.why})
      if (card.width() > 0) p.vline(card.x0, card.y0, card.y1, t.line);
    const int shown = slot.pos >= 0 ? slot.pos : slot.token;
    const bool by_member = slot.pos >= 0 && slot.pos != slot.token;
    draw_slot_card(p,
                   draw_card_head(p, at.slot, slot.pos >= 0 ? fmt::format("Slot {}", shown) : fmt::format("Token {}", shown),
                                  by_member ? fmt::format("has token {} {}", slot.token,
                                                          quoted(token_text(tokens_of(snapshot, pick.lane), slot.token)))
                                            : std::string(focus.why)),
                   snapshot, pick, slot, buttons_);
    if (at.second.width() <= 0) return {};
    if (at.why.width() > 0) why_card_.draw(p, at.why, pick, why, slot);
    if (at.reasons_second) {
      why_card_.draw(p, at.second, pick, why, slot);
      return {};
    }
    if (beside_ == 3) return draw_members(p, draw_card_head(p, at.second, "Members", lineage_headline(lineage)), snapshot, lineage);
    return draw_lineage(p, draw_card_head(p, at.second, "Lineage", lineage_headline(lineage)), snapshot, lineage);
  }

  void select(const Frame& frame, const HeadPick& pick, int token, std::vector<Intent>& intents) const {
    select(frame, pick, token, {token, token}, intents);
  }

  void select(const Frame& frame, const HeadPick& pick, int token, const TokenRange& range, std::vector<Intent>& intents) const {
    Selection next = frame.selection;
    next.layer = pick.values->layer;
    next.kv_head = pick.values->kv_head;
    next.select(range);
    next.slot = token;
    intents.push_back(Select{next});
  }

  static void go_to_head(const Frame& frame, const HeadPick& pick, int by, std::vector<Intent>& intents) {
    const auto& heads = pick.record->heads;
    const int n = static_cast<int>(heads.size()), head = std::clamp(pick.head + by, 0, n - 1);
    Selection next = frame.selection;
    next.layer = heads[static_cast<std::size_t>(head)].layer;
    next.kv_head = heads[static_cast<std::size_t>(head)].kv_head;
    intents.push_back(Select{next});
  }

  bool drag_cutoff(const Pointer& mouse, const HeadPick& pick, const StripRows& rows, const StripHits& hits, std::vector<Intent>& intents) {
    const bool grabbed = hits.cutoff && (hits.cutoff->contains(mouse.at) || hits.cutoff_tag.contains(mouse.at));
    if (!drag_.active && mouse.pressed && grabbed && pick.lane > 0 && pick.values->budget >= 0) {
      drag_ = {true, cutoff_of(*pick.values), hits.score_scale, rows.score, pick.values->cutoff, pick.values->budget, pick.values->budget};
    }
    if (!drag_.active) return grabbed;
    if (mouse.dragging) {
      drag_.score = drag_.scale.value(std::clamp((drag_.row.y1 - mouse.at.y) / drag_.row.height(), 0.0f, 1.0f));
      drag_.slots = drag_.candidates.slots_at(drag_.score);
    }
    if (!mouse.down) {
      if (drag_.slots != drag_.slots_before) intents.push_back(SetBudget{pick.lane, drag_.slots, pick.values->layer, pick.values->kv_head});
      drag_ = {};
    }
    return true;
  }

  void react(Painter& p, const HeadPick& pick, const HeadColumns& columns, const StripRows& rows, const TokenAxis& axis,
             const StripHits& hits, const std::vector<LineageHit>& tree, const Lineage& lineage, std::vector<Intent>& intents) {
    const Frame& frame = p.frame();
    const Pointer& mouse = p.pointer();
    if (drag_cutoff(mouse, pick, rows, hits, intents)) {
      hover_.none(intents);
      return;
    }
    if (brush_.react(p, axis, {axis.x0, rows.axis.y0, axis.x1, rows.text.y1}, columns.size(), intents)) {
      hover_.none(intents);
      return;
    }
    const bool on_strip = mouse.inside && mouse.at.y >= rows.axis.y0 && mouse.at.y < rows.legend.y0;
    if (why_card_.react(mouse)) return;
    if (on_strip && mouse.wheel != 0) zoom_.at(p, axis, mouse.at.x);
    if (mouse.dragging && !mouse.ctrl && rows.all().contains(mouse.pressed_at)) zoom_.pan(axis, mouse.moved.x);
    if (mouse.clicked && hits.previous.contains(mouse.at)) go_to_head(frame, pick, -1, intents);
    if (mouse.clicked && hits.next.contains(mouse.at)) go_to_head(frame, pick, 1, intents);
    Hover hover;
    hover.lane = pick.lane;
    hover.layer = pick.values->layer;
    hover.kv_head = pick.values->kv_head;
    if (on_strip) {
      const int token = axis.index_at(mouse.at.x);
      if (token >= 0 && token < columns.size()) {
        hover.token = token;
        hover_.at(hover, token_lines(*frame.snapshot, pick, columns, token), intents);
        if (mouse.clicked) select(frame, pick, token, intents);
        return;
      }
    }
    if (const auto edit = buttons_.at(mouse)) {
      hover_.at(hover, {buttons_.help(mouse, frame.edit_scope)}, intents);
      if (buttons_.clicked(mouse)) {
        // The one looked at need not be selected.
        if (!SlotButtons::means_selection(frame.selection, looked_.token)) select(frame, pick, looked_.token, intents);
        intents.push_back(*edit);
      }
      return;
    }
    if (const std::vector<std::string>& help = why_card_.help(mouse); !help.empty()) return hover_.at(hover, help, intents);
    for (const LineageHit& hit : tree) {
      if (!mouse.inside || !hit.rect.contains(mouse.at)) continue;
      hover.token = hit.token;
      hover_.at(hover, lineage_lines(tokens_of(*frame.snapshot, frame.selection.lane), lineage, hit.token), intents);
      if (mouse.clicked) select(frame, pick, hit.token, intents);
      return;
    }
    hover_.none(intents);
  }

  StripZoom zoom_;
  TokenBrush brush_;
  int beside_ = 0;                // 0: lineage where there is one, else why; 1: lineage; 2: why; 3: the lineage as a list
  bool agreement_first_ = false;  // where there is room for one of statistic and agreement
  bool cards_first_ = false;      // where there is no room for the strip and the cards
  CutoffDrag drag_;
  FilterBar filter_;
  mutable HeadColumnsCache columns_;
  Looked looked_;
  float lacking_ = 0;  // of the last picture for a file
  SlotButtons buttons_;
  std::vector<Mark> marks_;
  HoverPublisher hover_;
  CaptureOffer capture_, measure_{WantMeasure::What::of_one_head};
  RoomHint hint_;
  WhyCard why_card_;
};

}  // namespace

std::unique_ptr<View> make_inspector() { return std::make_unique<Inspector>(); }

}  // namespace kvscope::viz
