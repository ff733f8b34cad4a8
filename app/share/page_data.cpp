// SPDX-License-Identifier: Apache-2.0
#include "app/share/page_data.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "app/share/page_run.h"
#include "core/error.h"
#include "core/whole_characters.h"
#include "io/sha256.h"
#include "policy/catalog.h"
#include "snapshot/number_text.h"
#include "viz/draw/draw.h"
#include "viz/draw/format.h"
#include "viz/reduce/finding.h"
#include "viz/reduce/generated.h"
#include "viz/reduce/metrics.h"
#include "viz/reduce/text.h"

namespace kvscope::share {

namespace {

constexpr std::int64_t kMostCells = std::int64_t(1) << 25;   // runs x heads x steps x tokens, some 20 bytes each while a page is made
constexpr std::int64_t kCoarseFrom = std::int64_t(2) << 20;  // cells from which attention has tenths of a percent
constexpr std::int64_t kMostReasons = 40'000;                // some 60 bytes each in the page
constexpr std::size_t kLongestToken = 120;                   // bytes of a token's text or a name; what is longer is cut
constexpr std::size_t kLongestText = 2000;                   // bytes of a specification, a note
constexpr int kAnswerTokens = 12;                            // of the figures' answer

std::int64_t n_cells(const Snapshot& s) {
  std::int64_t n = 0;
  for (const LaneSnapshot& lane : s.lanes) n += static_cast<std::int64_t>(lane.steps.size());
  return n * s.model.n_layers * s.model.n_kv_heads * static_cast<std::int64_t>(s.tokens.size());
}

void check(const Snapshot& s) {
  if (s.lanes.empty() || s.tokens.empty() || s.lanes.front().steps.empty())
    throw Error("page: expected runs with steps, got none; compute a prompt first");
  const auto has_heads = [](const LaneSnapshot& lane) {
    return std::ranges::any_of(lane.steps, [](const StepPtr& step) { return !step->heads.empty() && !step->heads.front().pos.empty(); });
  };
  if (!std::ranges::any_of(s.lanes, has_heads))
    throw Error("page: expected the slots of every head, got figures only; write the trace with --detail slots or why");
  if (const std::int64_t n = n_cells(s); n > kMostCells)
    throw Error(
        fmt::format("page: expected at most {} numbers (runs x steps x heads x tokens), got {}; share fewer runs or steps, or a "
                    "shorter prompt",
                    kMostCells, n));
}

/// At most so many bytes, whole characters.
void cut(std::string& text, std::size_t most) {
  if (text.size() <= most) return;
  text = fmt::format("{}… ({} bytes)", whole_characters(text, most), format_count(static_cast<std::int64_t>(text.size())));
}

void cut_token(TokenInfo& token) {
  cut(token.bytes, kLongestToken);
  cut(token.piece, kLongestToken);
}

/// A text of a file in a form that hides nothing and turns nothing around, as tokens are shown.
void make_plain(std::string& text, std::size_t most) {
  cut(text, most);
  if (!text.empty()) text = viz::token_text(TokenInfo{.bytes = text});
}

/// A copy in which no token has a text longer than people read (one of megabytes would stand in every sentence about it), and in which
/// names are what they look like.
Snapshot with_plain_texts(const Snapshot& snapshot) {
  const auto is_long = [](const TokenInfo& token) { return token.bytes.size() > kLongestToken || token.piece.size() > kLongestToken; };
  Snapshot out = snapshot;
  std::ranges::for_each(out.tokens, cut_token);
  if (out.vocabulary && std::ranges::any_of(*out.vocabulary, is_long)) {
    auto known = std::make_shared<std::vector<TokenInfo>>(*out.vocabulary);
    std::ranges::for_each(*known, cut_token);
    out.vocabulary = std::move(known);
  }
  for (std::string* name : {&out.model.name, &out.device, &out.precision, &out.follow}) make_plain(*name, kLongestToken);
  make_plain(out.notice, kLongestText);
  for (LaneSnapshot& lane : out.lanes) {
    std::ranges::for_each(lane.tokens, cut_token);
    make_plain(lane.title, kLongestToken);
    make_plain(lane.spec, kLongestText);
    make_plain(lane.statistic, kLongestToken);
    for (ParamText& param : lane.params) make_plain(param.key, kLongestToken), make_plain(param.value, kLongestToken);
  }
  return out;
}

PageFacts with_plain_texts(PageFacts facts) {
  for (auto& [name, value] : facts.files) make_plain(name, kLongestToken), make_plain(value, kLongestText);
  for (std::string& note : facts.notes) make_plain(note, kLongestText);
  return facts;
}

void write_ramp(JsonText& json, const char* name, std::span<const viz::Rgb> colours) {
  json.key(name).begin_array();
  for (const viz::Rgb c : colours) json.value(fmt::format("#{:06x}", c.value));
  json.end_array();
}

void write_theme(JsonText& json, const char* name, const viz::Theme& theme) {
  json.key(name).begin_object();
  std::array<viz::Rgb, kCategories> cells;
  for (int c = 0; c < kCategories; ++c) cells[static_cast<std::size_t>(c)] = viz::cell_fill(theme, static_cast<Category>(c));
  write_ramp(json, "category", theme.category);
  write_ramp(json, "cell", cells);
  write_ramp(json, "sequential", theme.sequential);
  write_ramp(json, "damage", theme.damage);
  write_ramp(json, "runs", theme.runs);
  json.member("tint", theme.text_tint).end_object();
}

void write_tokens(JsonText& json, const Snapshot& s) {
  json.key("tokens").begin_array();
  for (const TokenInfo& token : s.tokens) json.value(viz::token_text(token));
  json.end_array();
}

/// Ids of a run that was fed a text of its own, as texts from the first that differs on; nothing where it read the common one.
void write_own_tokens(JsonText& json, const Snapshot& s, const LaneSnapshot& lane) {
  json.key("own").begin_array();
  for (std::size_t i = 0; i < std::min(lane.tokens.size(), s.tokens.size()); ++i)
    if (lane.tokens[i].id != s.tokens[i].id)
      json.begin_array().value(static_cast<int>(i)).value(viz::token_text(lane.tokens[i])).end_array();
  json.end_array();
}

/// What the policy does, in the words of its card.
void write_policy(JsonText& json, const Snapshot& s, const LaneSnapshot& lane) {
  json.key("policy").begin_array();
  const auto row = [&json](const char* name, const std::string& value) {
    if (!value.empty()) json.begin_array().value(name).value(value).end_array();
  };
  const std::optional<PolicyInfo> info = info_of_result(lane.policy, lane.spec);
  if (info) {
    row("idea", info->idea);
    row("ranking", info->ranking);
    row("merging", info->merging);
    row("paper", info->paper);
  }
  row("looks at", lane.looks_at);
  row("question", viz::question_text(s, lane, info && info->sees_question_in_prefill));
  row("budget",
      lane.slots_asked < 0
          ? std::string("unlimited")
          : fmt::format("{} slots a head of {} tokens of the prompt ({})", format_count(lane.slots_asked), format_count(s.n_prompt),
                        format_percent(s.n_prompt > 0 ? static_cast<double>(lane.slots_asked) / s.n_prompt : kNotAvailable)));
  row("keys", fmt::format("{}", fmt::join(viz::lane_params(lane), " · ")));
  row("specification", lane.spec);
  json.end_array();
  json.key("warnings").begin_array();
  for (const LaneWarning& warning : lane.warnings) json.value(text_of(warning));
  json.end_array();
}

/// The table of the comparison at every step: columns with their units, a row a run.
void write_figures(JsonText& json, const Snapshot& s) {
  std::size_t n_steps = 0;
  for (const LaneSnapshot& lane : s.lanes) n_steps = std::max(n_steps, lane.steps.size());
  json.key("figures").begin_array(true);
  for (std::size_t step = 0; step < n_steps; ++step) {
    std::vector<viz::LaneMetrics> metrics;
    for (std::size_t i = 0; i < s.lanes.size(); ++i) {
      metrics.push_back(viz::lane_metrics(s, s.lanes[i], static_cast<int>(step), kAnswerTokens + 1));
      metrics.back().split = viz::first_text_difference(s, static_cast<int>(i));
    }
    viz::fit_answers(metrics, s, kAnswerTokens);
    std::vector<viz::MetricColumn> columns = viz::metric_columns(s, metrics, 1e9f, 1);
    std::erase_if(columns,
                  [](const viz::MetricColumn& c) { return c.kind == viz::MetricColumn::Kind::policy; });  // a clock's, of one machine
    json.begin_object().key("columns").begin_array();
    for (const viz::MetricColumn& c : columns) json.begin_array().value(c.title).value(c.unit).end_array();
    json.end_array().key("rows").begin_array();
    for (const viz::LaneMetrics& lane : metrics) {
      json.begin_array();
      for (const viz::MetricColumn& c : columns) json.value(viz::metric_text(s, lane, c.kind));
      json.end_array();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

void write_open(JsonText& json, const Snapshot& s, const PageFacts& facts) {
  const viz::Selection at = facts.opens_at ? *facts.opens_at : opening_of(s);
  const int run = std::clamp(at.lane, 0, std::max(0, static_cast<int>(s.lanes.size()) - 1));
  const int last = std::max(0, static_cast<int>(s.lanes[static_cast<std::size_t>(run)].steps.size()) - 1);
  json.key("open").begin_object().member("run", run).member("step", std::min(at.step.value_or(last), last));
  json.member("head", at.layer && at.kv_head ? *at.layer * s.model.n_kv_heads + *at.kv_head : -1);
  json.member("token", at.tokens ? at.tokens->first : -1).end_object();
}

void write_made(JsonText& json, const Snapshot& s, const PageFacts& facts) {
  Rows rows = settings(s, facts.asked);
  rows.emplace_back("computed on", fmt::format("{}, {}", s.device, s.precision));
  rows.emplace_back("kvscope", KVSCOPE_VERSION);
  rows.insert(rows.end(), facts.files.begin(), facts.files.end());
  if (facts.files.empty()) rows.emplace_back("hash of the model", "n/a: the results do not say it");
  rows.emplace_back("hash of the prompt",
                    s.prompt.empty() ? "n/a: the results do not have its text" : "SHA-256 " + hexadecimal(sha256(s.prompt)));
  rows.emplace_back("computed again by", command_line(s, facts.asked, "share") + " --out run.html");
  json.key("made").begin_array();
  for (const auto& [name, value] : rows) json.begin_array().value(name).value(value).end_array();
  json.end_array();
}

void write_heads(JsonText& json, const RunColumns& run) {
  const std::pair<const char*, const std::vector<std::uint32_t>*> columns[] = {{"loss", &run.loss},     {"local_error", &run.local},
                                                                               {"error", &run.error},   {"compression", &run.compression},
                                                                               {"budget", &run.budget}, {"slots", &run.slots}};
  json.key("heads").begin_object();
  for (const auto& [name, values] : columns) {
    json.key(name).begin_array();
    for (const std::uint32_t v : *values) json.value(static_cast<int>(v));
    json.end_array();
  }
  json.end_object();
}

void write_numbers(JsonText& json, const NumberTable& numbers) {
  json.key("numbers").begin_array();
  for (const std::string& text : numbers.texts()) json.value(text);
  json.end_array().key("values").begin_array();
  for (const double v : numbers.values()) std::isfinite(v) ? json.value(static_cast<float>(v)) : json.null();
  json.end_array();
}

void write_model(JsonText& json, const Snapshot& s) {
  json.key("model").begin_object().member("name", s.model.name).member("n_layers", s.model.n_layers);
  json.member("n_kv_heads", s.model.n_kv_heads).end_object();
  json.member("prefill", s.prefill_mode)
      .member("follow", s.follow)
      .member("goes_on_from", viz::goes_on_from(s))
      .member("n_prompt", s.n_prompt);
  json.key("categories").begin_array();
  for (int c = 0; c < kCategories; ++c) json.value(viz::category_name(static_cast<Category>(c)));
  json.end_array().key("themes").begin_object();
  write_theme(json, "light", viz::light_theme());
  write_theme(json, "dark", viz::dark_theme());
  json.end_object();
}

}  // namespace

viz::Selection opening_of(const Snapshot& s) {
  viz::Selection at;
  at.lane = s.lanes.size() > 1 ? 1 : 0;
  int step = -1;
  for (std::size_t i = 1; i < s.lanes.size() && step < 0; ++i) {
    step = viz::next_changed_step(s, s.lanes[i], -1);
    if (step >= 0) at.lane = static_cast<int>(i);
  }
  const LaneSnapshot& lane = s.lanes[static_cast<std::size_t>(at.lane)];
  at.step = step >= 0 ? step : std::max(0, static_cast<int>(lane.steps.size()) - 1);
  if (const viz::Finding finding = viz::finding_of(s, lane, step); finding.loss.step >= 0) {
    at.layer = finding.loss.layer;
    at.kv_head = finding.loss.kv_head;
    at.select({finding.loss.token, finding.loss.token});
  }
  return at;
}

std::string page_data(const Snapshot& snapshot, const PageFacts& told) {
  check(snapshot);
  const Snapshot s = with_plain_texts(snapshot);
  const PageFacts facts = with_plain_texts(told);
  NumberTable numbers;
  FateTable fates;
  std::vector<RunColumns> runs;
  const bool coarse = n_cells(s) > kCoarseFrom;
  for (std::size_t i = 0; i < s.lanes.size(); ++i) runs.push_back(run_columns(s, static_cast<int>(i), coarse, numbers, fates));
  const std::vector<std::uint32_t> places = numbers.sort();
  for (RunColumns& run : runs) run.move(places);
  const std::int64_t n_heads = std::int64_t(s.model.n_layers) * s.model.n_kv_heads;
  const auto most = static_cast<int>(std::max<std::int64_t>(1, kMostReasons / (n_heads * std::max<std::int64_t>(1, std::ssize(runs) - 1))));

  JsonText json;
  ColumnBytes bytes;
  bool reasons_left_out = false;
  json.begin_object().member("schema", "kvscope.page/1");
  write_model(json, s);
  write_tokens(json, s);
  write_open(json, s, facts);
  write_made(json, s, facts);
  write_figures(json, s);
  write_numbers(json, numbers);
  json.key("fates").begin_array();
  for (const FateWords& fate : fates.all()) json.begin_array().value(static_cast<int>(fate.category)).value(fate.text).end_array();
  json.end_array().key("runs").begin_array(true);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const int lane = static_cast<int>(i);
    json.begin_object().member("letter", viz::lane_letter(lane)).member("title", s.lanes[i].title).member("colour", viz::run_of_lane(lane));
    write_policy(json, s, s.lanes[i]);
    write_own_tokens(json, s, s.lanes[i]);
    write_steps(json, s, lane);
    write_heads(json, runs[i]);
    reasons_left_out |= write_reasons(json, s, lane, runs[i].missed, most);
    json.key("columns").begin_object();
    bytes.write(json, "fate", runs[i].fate);
    bytes.write(json, "attention", runs[i].attention);
    bytes.write(json, "score", runs[i].score);
    bytes.write(json, "votes", runs[i].votes);
    bytes.write(json, "slot", runs[i].slot);
    json.end_object().end_object();
  }
  json.end_array().key("notes").begin_array();
  for (const std::string& note : facts.notes) json.value(note);
  if (coarse) json.value("Of so many tokens the page holds attention in tenths of a percent");
  if (reasons_left_out) json.value(fmt::format("The page holds why tokens left for the {} of every head that are missed most", most));
  json.end_array().end_object();

  const std::string header = json.take();
  std::string out;
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(header.size() >> shift & 255);
  return out + header + bytes.bytes();
}

}  // namespace kvscope::share
