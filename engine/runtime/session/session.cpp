// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/session_impl.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <mutex>
#include <utility>

#include "core/byte_size.h"
#include "core/machine_memory.h"
#include "measure/distribution.h"
#include "measure/perturbation.h"
#include "policy/catalog.h"
#include "policy/text/lane_edits.h"
#include "runtime/lane/query_clouds.h"
#include "runtime/restart_points.h"
#include "runtime/session/prompt_tokens.h"
#include "runtime/session/run_memory.h"
#include "runtime/session/sampler.h"
#include "runtime/session/step_batch.h"
#include "runtime/stopwatch.h"
#include "snapshot/figures.h"
#include "snapshot/held_bytes.h"

namespace kvscope {

namespace {

constexpr int kAll = 1 << 30;  // steps

int common_prefix(std::span<const int> a, std::span<const int> b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<int>(end.first - a.begin());
}

RecordOptions record_options(const RunRequest& request) {
  MeasureSet measures = request.measures;
  measures.queries = false;  // of the prompt alone: what the lanes have stays right (add_clouds)
  return {.captures = request.detail == Detail::why,
          .measures = measures,
          .slots = request.detail >= Detail::slots,
          .history = request.history};
}

/// What decides the tokens after the prompt.
bool same_continuation(const RunRequest& a, const RunRequest& b) {
  return a.follow == b.follow && a.temperature == b.temperature && a.seed == b.seed &&
         (a.follow == Follow::file ? a.follow_ids == b.follow_ids : a.given_ids == b.given_ids);
}

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

constexpr int kTopTokens = 10;
constexpr int kCheckpointEvery = 64;   // steps, at least
constexpr double kReadingShare = 0.5;  // of what the prompt costs; the rest is its compression, which no one knows before
constexpr double kPublishEveryMs = 60;
constexpr double kWorthSaying = 1 << 30;  // bytes of records that fit
constexpr double kLongReadingMs = 2000;   // after it nobody notices that memory is given back

/// Damaged weights or an overflow show as numbers that are not finite; says where they begin.
void check_finite(const Lane& lane, const StepRecord& record) {
  if (std::all_of(lane.logits.begin(), lane.logits.end(), [](double x) { return std::isfinite(x); })) return;
  std::string where = "after the last layer's attention";
  for (const HeadRecord& head : record.heads) {
    if (std::any_of(head.attention.begin(), head.attention.end(), [](float x) { return !std::isfinite(x); })) {
      where = fmt::format("from layer {} on", head.layer);
      break;
    }
  }
  throw Error(fmt::format(
      "run {}, position {}: the model computes numbers that are not finite, {}; expected finite logits: the weights are damaged or "
      "overflow, try another checkpoint or --precision f64",
      lane.setup().spec.text, record.position, where));
}

std::string records_notice(double needed, double limit) {
  if (needed <= limit)
    return fmt::format("recorded results of this run take about {} of memory, and the program in all about twice as much",
                       size_text(needed));
  return fmt::format("recorded results of this run would take about {}, the limit is {}: older steps will keep only figures",
                     size_text(needed), size_text(limit));
}

/// LaneSnapshot::text_end of the first n_steps tokens that were fed.
int end_of_text(std::span<const int> fed, int n_steps, int n_prompt_steps, const std::vector<int>& ends) {
  for (int s = n_prompt_steps - 1; s < std::min(n_steps, static_cast<int>(fed.size())); ++s)
    if (std::ranges::find(ends, fed[static_cast<std::size_t>(s)]) != ends.end()) return s - n_prompt_steps + 2;
  return -1;
}

}  // namespace

Session::Impl::Impl(ChosenBackend chosen, Model loaded)
    : backend(std::move(chosen.backend)),
      device_notice(std::move(chosen.notice)),
      model(std::move(loaded)),
      policy_cache(model.config(), model.files.folder, *backend),
      forward(*backend, model),
      prompt(*backend, model),
      probes(*backend, model),
      tape(*backend, model.config()),
      vocabulary(make_vocabulary(*model.files.tokenizer)),
      reference(*backend, forward, model.config()) {}

Session::Session(ModelFiles files, const SessionOptions& options) {
  ChosenBackend chosen = choose_backend(options, files);
  Model model = load_model(std::move(files), *chosen.backend);
  impl_ = std::make_unique<Impl>(std::move(chosen), std::move(model));
  set_record_limit(options.record_limit);
}
Session::Session(std::unique_ptr<Backend> backend, Model model, std::string notice)
    : impl_(std::make_unique<Impl>(ChosenBackend{std::move(backend), std::move(notice)}, std::move(model))) {}
Session::~Session() = default;

std::size_t default_record_limit() {
  return static_cast<std::size_t>(std::max(machine_memory() / 4, static_cast<double>(std::size_t{1} << 30)));
}

void Session::set_record_limit(std::size_t bytes) { impl_->record_limit = static_cast<double>(bytes > 0 ? bytes : default_record_limit()); }

const ModelConfig& Session::config() const { return impl_->model.config(); }
const Tokenizer& Session::tokenizer() const { return *impl_->model.files.tokenizer; }
std::string Session::device_name() const { return impl_->backend->name(); }

Snapshot Session::run(const RunRequest& request, const CancelToken& cancel, const Progress& progress, const Publish& publish,
                      RecordSink* sink) {
  return impl_->run(request, cancel, progress, publish, sink);
}

std::vector<Session::Impl::WantedLane> Session::Impl::wanted_lanes(const RunRequest& request, std::span<const int> text) {
  std::vector<WantedLane> out;
  const auto add = [&](const LaneSpec& spec) {
    out.push_back({spec, policy_cache.of(spec, {.prompt = text, .mode = request.mode, .seed = request.seed})});
  };
  if (request.lanes.empty() || request.lanes.front().text != reference_policy()) add(parse_lane_spec(reference_policy()));
  for (const LaneSpec& spec : request.lanes) add(spec);
  policy_cache.forget_unused();
  return out;
}

std::unique_ptr<Lane> Session::Impl::forked(const WantedLane& wanted) {
  for (const auto& lane : lanes) {
    const auto saved = lane ? checkpoints.find(lane.get()) : checkpoints.end();
    if (saved == checkpoints.end()) continue;
    const auto after = saved->second.upper_bound(common_steps(lane->setup().spec, wanted.spec));
    if (after == saved->second.begin()) continue;
    if (auto fork = lane->fork(*std::prev(after)->second, wanted.spec)) {
      fork->set_prompt(static_cast<int>(ids.size()), wanted.policy);
      return fork;
    }
  }
  return nullptr;
}

Session::Impl::Change Session::Impl::change_to(const RunRequest& request, const std::vector<int>& new_ids, int n_decode) const {
  Change out;
  out.n_prompt = static_cast<int>(new_ids.size());
  out.same_prompt = new_ids == ids && request.mode == mode;
  out.stream = request.mode == PromptMode::stream;
  out.first_position = out.stream ? 0 : out.n_prompt - 1;
  out.n_tokens = out.n_prompt + n_decode;
  // steps that stay right for every lane: all of them, those before the continuation, or (stream) those before the edit
  if (out.same_prompt) {
    out.keep_steps = same_continuation(request, last) ? kAll : out.stream ? out.n_prompt - 1 : 1;
  } else if (request.mode == mode && out.stream) {
    out.keep_steps = std::max(0, common_prefix(ids, new_ids) - 1);  // the step of the last common token is followed by another one now
  }
  return out;
}

int Session::Impl::steps_kept(const Policy& policy, const Change& change) const {
  // of a lane that looks ahead: those whose coming queries are as many, and the same
  const int ahead = policy.needs().coming_queries;
  if (ahead == 0) return change.keep_steps;
  int n = change.keep_steps < kAll ? change.keep_steps - ahead : kAll;
  if (change.n_tokens != tape.n_tokens()) n = std::min(n, std::min(change.n_tokens, tape.n_tokens()) - ahead - change.first_position);
  return std::max(0, n);
}

std::unique_ptr<Lane> Session::Impl::taken_over(const WantedLane& wanted, const RunRequest& request, const Change& change,
                                                Checkpoints& saved) {
  const auto answers = [&](const std::unique_ptr<Lane>& lane) {
    return lane && lane->setup().spec == wanted.spec && lane->setup().seed == request.seed &&
           lane->setup().record.covers(record_options(request));
  };
  const auto found = std::ranges::find_if(lanes, answers);
  if (found == lanes.end()) return nullptr;
  std::unique_ptr<Lane> old = std::move(*found);
  if (const auto its = checkpoints.find(old.get()); its != checkpoints.end()) saved = std::move(checkpoints.extract(its).mapped());
  if (change.same_prompt ? old->setup().decides_by != wanted.policy  // a file that it names has changed
                         : !change.stream || !old->policy().decides_like(*wanted.policy))
    return nullptr;
  const int keep = steps_kept(old->policy(), change);
  saved.erase(saved.upper_bound(keep), saved.end());
  if (old->broken || static_cast<int>(old->steps.size()) > keep) {
    if (saved.empty()) return nullptr;
    old = old->restored(*std::prev(saved.end())->second);
  }
  if (!change.same_prompt) old->set_prompt(change.n_prompt, wanted.policy);
  return old;
}

void Session::Impl::reuse(const RunRequest& request, const std::vector<int>& new_ids, const std::vector<WantedLane>& wanted, int n_decode) {
  const Change change = change_to(request, new_ids, n_decode);
  std::vector<std::unique_ptr<Lane>> kept;
  std::map<const Lane*, Checkpoints> kept_checkpoints;
  horizon = 0;
  for (const WantedLane& w : wanted) {
    Checkpoints saved;
    kept.push_back(taken_over(w, request, change, saved));
    if (kept.back()) kept_checkpoints[kept.back().get()] = std::move(saved);
    horizon = std::max(horizon, w.policy->needs().coming_queries);
  }
  const int n_done = kept[0] ? static_cast<int>(kept[0]->steps.size()) : 0;
  if (horizon > 0 && !tape.knows(change.stream ? 0 : change.n_prompt, change.first_position + n_done - 1))
    kept[0].reset();  // nobody wrote its queries down
  tape.forget_from(horizon > 0 && kept[0] ? change.first_position + n_done : 0);
  tape.set_text(change.n_prompt, change.n_tokens);
  // every lane is measured against lane 0: without its distributions nothing can stay
  if (kept[0]) reference.cut(static_cast<int>(kept[0]->steps.size()));
  if (!kept[0]) {
    reference.cut(0);
    for (auto& lane : kept) lane.reset();
    kept_checkpoints.clear();
  }
  lanes = std::move(kept);
  checkpoints = std::move(kept_checkpoints);
  ids = new_ids;
  mode = request.mode;
  last = request;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (!lanes[i]) lanes[i] = forked(wanted[i]);
    if (lanes[i]) continue;
    const Lane::Setup setup{.spec = wanted[i].spec,
                            .mode = mode,
                            .n_prompt = change.n_prompt,
                            .seed = request.seed,
                            .record = record_options(request),
                            .decides_by = wanted[i].policy};
    lanes[i] = std::make_unique<Lane>(*backend, model, setup, wanted[i].policy->clone());
  }
  for (auto& lane : lanes) lane->set_tape(horizon > 0 ? &tape : nullptr, /*writes=*/lane == lanes.front());
}

Snapshot Session::Impl::run(const RunRequest& request, const CancelToken& cancel, const Progress& progress, const Publish& publish,
                            RecordSink* sink) {
  started = published = Clock::now();
  n_logits = request.n_logits;
  progress_ = progress;
  told_share = 0;
  publish_ = publish;
  notice = device_notice;
  decode_ms = decode_rows = 0;
  PromptTokens asked = prompt_tokens(request, model.files);
  const std::vector<int> new_ids = ids_of(asked.tokens);
  const int n_prompt = static_cast<int>(new_ids.size());
  const std::vector<WantedLane> wanted = wanted_lanes(request, new_ids);
  const auto [n_decode, cut] = decode_length(request, n_prompt, model.config());
  if (!cut.empty()) add_notice(cut);
  cancel.check();
  tape.set_cancel(cancel);
  if (handed_out || sink != nullptr || !model.config().rotates_alike(ids.size(), n_prompt)) {  // nothing that is here is of use again
    lanes.clear();
    checkpoints.clear();
  }
  sink_ = sink;
  handed_out = sink != nullptr;
  reuse(request, new_ids, wanted, n_decode);
  spelled = std::move(asked);
  const bool prefill = request.mode == PromptMode::prefill;
  check_memory(lanes, model, backend->dtype(), n_prompt + n_decode,
               prefill ? prompt_needs(request).bytes_of_rows(model.config(), backend->dtype(), n_prompt) : 0, machine_memory());
  if (const double needed = record_estimate(lanes, model.config(), request, n_prompt, n_decode);
      !sink_ && needed > std::min(record_limit, kWorthSaying))
    report(add_notice(records_notice(needed, record_limit)), 0);
  int n_steps = (prefill ? 1 : n_prompt) + n_decode;
  // a token costs about a sixteenth in the prompt's batch of what it costs as a step
  prompt_share = prefill ? n_prompt / (n_prompt + 16.0 * n_decode) : 0;
  if (prefill) {
    run_prompt(n_steps, request, cancel);
    publish_partial(request, n_steps, /*now=*/true);
  }
  const int n_asked = n_steps;
  try {
    n_steps = step_until(n_steps, request, cancel);
  } catch (const Cancelled&) {
    publish_partial(request, n_steps, /*now=*/true);  // what was finished stays to be seen
    throw;
  }
  for (auto& lane : lanes)
    if (lane->steps[static_cast<std::size_t>(n_steps - 1)]->next_token < 0) deliver(*lane, n_steps - 1);  // else it is out already
  return snapshot(request, n_steps, /*ended=*/n_steps < n_asked);
}

PromptNeeds Session::Impl::prompt_needs(const RunRequest& request) const {
  PromptNeeds needs;
  for (const auto& lane : lanes) {
    for (const Policy* policy = &lane->policy(); policy; policy = policy->next()) needs.add(policy->needs());
    needs.value_norms |= lane->wants_value_norms();
    if (lane->policy().reload() > 0) needs.queries = static_cast<int>(ids.size());
  }
  if (lacks_clouds(request)) needs.queries = static_cast<int>(ids.size());
  return needs;
}

void Session::Impl::run_prompt(int n_steps, const RunRequest& request, const CancelToken& cancel) {
  const PromptNeeds needs = prompt_needs(request);
  const int n_layers = model.config().n_layers, n_prompt = static_cast<int>(ids.size());
  const auto start = Clock::now();
  const double parts = 1.0 + static_cast<double>(needs.probes.size());  // a probe takes about as long as the prompt
  Reading reading(model.config(), prompt, n_prompt, backend->dtype(), record_options(request));
  const auto picture = [&] {
    screen = Reading::Screen::text;  // it takes the place of what was there
    return partial(request, n_steps);
  };
  reading.show_to(publish_, picture, screen);
  prompt.update(ids, needs, forward, cancel, [&](int layer) {
    reading.layer_done(layer);
    report(reading.words(), kReadingShare * prompt_share * reading.share() / parts);
  });
  double layers_done = 0;
  probes.update(prompt, needs.probes, forward, cancel, [&](int layer) {
    const double all_layers = n_layers * (n_prompt / backend->prompt_rows() + 1.0) * (parts - 1);
    report(fmt::format("prompt, probing, layer {} of {}", layer + 1, n_layers),
           kReadingShare * prompt_share * (1 + (parts - 1) * std::min(1.0, ++layers_done / all_layers)) / parts);
  });
  for (int l = 0; l < n_layers && horizon > 0; ++l)
    for (int p = std::max(0, n_prompt - horizon); p < n_prompt; ++p) tape.put(l, p, prompt.query(l, p));
  std::vector<Lane*> fresh;
  for (auto& lane : lanes)
    if (lane->steps.empty()) fresh.push_back(lane.get());
  cancel.check();
  if (horizon > 0 && !fresh.empty() && fresh.front() == lanes.front().get()) {
    load_prompt({fresh.data(), 1}, reading.read_ms(), cancel);
    fresh.erase(fresh.begin());
  }
  run_ahead(0, n_steps, request, cancel);
  load_prompt(fresh, reading.read_ms(), cancel);
  if (lacks_clouds(request)) add_clouds();
  screen = Reading::Screen::results;
  if (ms_since(start) > kLongReadingMs) give_back_memory();
}

bool Session::Impl::lacks_clouds(const RunRequest& request) const {
  const Lane& full = *lanes.front();
  return request.measures.queries && full.n_figures_only == 0 && (full.steps.empty() || full.steps.front()->clouds.empty());
}

void Session::Impl::add_clouds() {
  Lane& full = *lanes.front();
  // a published record is never touched
  auto record = std::make_shared<StepRecord>(*full.steps.front());
  record->clouds = query_clouds(*backend, model, prompt);
  full.record_bytes += held_bytes(*record) - held_bytes(*full.steps.front());
  full.steps.front() = std::move(record);
}

void Session::Impl::load_prompt(std::span<Lane* const> fresh, double ms, const CancelToken& cancel) {
  // what took longest the last time comes first, so that the threads end together
  std::vector<Lane*> order(fresh.begin(), fresh.end());
  std::ranges::stable_sort(order, std::greater<>(), [&](const Lane* lane) {
    const auto known = prompt_cost.find(lane->policy().name());
    return known == prompt_cost.end() ? std::numeric_limits<double>::infinity() : known->second;
  });
  std::vector<double> took(order.size(), 0.0);
  std::mutex telling;                                                                   // lanes are loaded by several threads
  const auto reported = [&](const Lane* lane) { return lane != lanes.front().get(); };  // it has nothing to compress
  std::vector<std::string> compressing;
  for (const Lane* lane : order)
    if (reported(lane)) compressing.push_back(lane->policy().name());
  CompressionProgress progress(compressing, model.config().n_layers, prompt_cost);
  const auto layer_done = [&](const Lane* lane) {
    cancel.check();
    if (!reported(lane)) return;
    const std::lock_guard lock(telling);
    progress.layer_done(lane->policy().name());
    report(progress.words(), prompt_share * (kReadingShare + (1 - kReadingShare) * progress.share()));
  };
  for (Lane* lane : order) lane->broken = true;  // until all of them are through
  backend->for_each(static_cast<int>(order.size()), [&](int i) {
    const Stopwatch watch(took[i]);
    order[i]->begin_step(static_cast<int>(ids.size()) - 1);
    order[i]->load_prompt(prompt, probes, [&, i] { layer_done(order[i]); });
  });
  for (Lane* lane : order) lane->broken = false;
  for (std::size_t i = 0; i < order.size(); ++i) prompt_cost[order[i]->policy().name()] = took[i];
  close_steps(fresh, ms, /*last_rows=*/false);
}

bool Session::Impl::ends_before(int s, const RunRequest& request) {
  const int n_given = n_prompt_steps() + static_cast<int>(request.given_ids.size());
  const std::vector<int>& ends = model.files.end_ids;
  if (request.ignore_end || request.follow == Follow::file || ends.empty() || horizon > 0 || s < n_given) return false;
  const auto token = [&](const Lane& lane) {
    return static_cast<int>(lane.steps.size()) > s ? lane.fed[static_cast<std::size_t>(s - 1)] : token_at(request, lane, s - 1);
  };
  const auto has_ended = [&](const auto& lane) {  // now, or before: with texts of their own they end one after the other
    return std::ranges::find(ends, token(*lane)) != ends.end() || end_of_text(lane->fed, s - 1, n_given, ends) >= 0;
  };
  if (!std::ranges::all_of(lanes, has_ended)) return false;
  for (const auto& lane : lanes) set_next(*lane, s - 1, token(*lane));
  return true;
}

int Session::Impl::step_until(int n_steps, const RunRequest& request, const CancelToken& cancel) {
  int from = n_steps;
  for (const auto& lane : lanes) from = std::min(from, static_cast<int>(lane->steps.size()));
  // Of steps that are there, too, the end may not have been looked for, or another run had not ended.
  for (int s = std::min(from, n_prompt_steps()); s < n_steps; ++s) {
    if (ends_before(s, request)) {
      add_notice(fmt::format("the text ended after {} of {} tokens", s - n_prompt_steps() + 1, n_steps - n_prompt_steps()));
      return s;
    }
    if (s < from) continue;
    run_ahead(s, n_steps, request, cancel);
    std::vector<Lane*> active;
    for (const auto& lane : lanes)
      if (static_cast<int>(lane->steps.size()) == s) active.push_back(lane.get());
    if (active.empty()) continue;
    if (sink_ != nullptr) reference.forget_before(s - 1);
    run_lanes(active, s, request, cancel);
    report(fmt::format("step {} of {}", s + 1, n_steps), prompt_share + (1 - prompt_share) * (s + 1) / n_steps);
    publish_partial(request, n_steps, /*now=*/false);
  }
  return n_steps;
}

void Session::Impl::run_ahead(int s, int n_steps, const RunRequest& request, const CancelToken& cancel) {
  if (horizon == 0) return;
  Lane* const full = lanes.front().get();
  while (static_cast<int>(full->steps.size()) < std::min(n_steps, s + 1 + horizon))
    run_lanes({&full, 1}, static_cast<int>(full->steps.size()), request, cancel);
}

void Session::Impl::run_lanes(std::span<Lane* const> active, int s, const RunRequest& request, const CancelToken& cancel) {
  std::vector<int> tokens;
  for (Lane* lane : active) {
    const int token = s == 0 ? ids[0] : token_at(request, *lane, s - 1);
    if (s > 0) set_next(*lane, s - 1, token);
    tokens.push_back(token);
  }
  cancel.check();
  const int first_position = mode == PromptMode::prefill ? static_cast<int>(ids.size()) - 1 : 0;
  const auto start = Clock::now();
  run_step(*backend, forward, active, tokens, first_position + s, cancel);
  const double ms = ms_since(start);
  decode_ms += ms;
  decode_rows += static_cast<int>(active.size());
  close_steps(active, ms, /*last_rows=*/true);
  if (sink_ == nullptr) keep_to_limit(lanes, record_limit);
  for (Lane* lane : active) {
    const int done = static_cast<int>(lane->steps.size());
    const bool edit_may_follow = mode == PromptMode::stream && done == static_cast<int>(ids.size()) - 1;
    const bool fork_may_follow =
        done % restart_spacing(done, kCheckpointEvery) == 0 && (mode == PromptMode::stream || lane->policy().compresses());
    if (sink_ == nullptr && lane->setup().record.slots && (edit_may_follow || fork_may_follow))
      save_checkpoint(*lane);  // else nobody looks at what could be edited
  }
}

int Session::Impl::token_at(const RunRequest& request, const Lane& lane, int s) {
  const int place = s - (n_prompt_steps() - 1);
  if (place < 0) return ids[s + 1];
  if (request.follow == Follow::file) return request.follow_ids[place];
  if (place < static_cast<int>(request.given_ids.size())) return request.given_ids[place];
  const std::vector<double>& logits = request.follow == Follow::self ? lane.logits : reference.at(s).logits;
  return pick_token(logits, request.temperature, request.seed, s);
}

void Session::Impl::set_next(Lane& lane, int s, int token) {
  StepPtr& step = lane.steps[s];
  if (step->next_token == token) return;
  // a published record is never touched: it is copied first
  auto record = step.use_count() == 1 ? std::const_pointer_cast<StepRecord>(step) : std::make_shared<StepRecord>(*step);
  record->next_token = token;
  record->nll = -lane.log_p[token];
  step = std::move(record);
  lane.fed.resize(s + 1);
  lane.fed[s] = token;
  deliver(lane, s);
}

void Session::Impl::deliver(Lane& lane, int s) {
  if (sink_ == nullptr) return;
  const auto place = std::ranges::find(lanes, &lane, &std::unique_ptr<Lane>::get) - lanes.begin();
  StepPtr& step = lane.steps[s];
  sink_->take(static_cast<int>(place), *step);
  StepRecord rest = *step;
  rest.heads.clear();
  rest.top_tokens.clear();
  step = std::make_shared<StepRecord>(std::move(rest));
}

void Session::Impl::close_steps(std::span<Lane* const> done, double ms, bool last_rows) {
  if (done.empty()) return;
  const int s = done.front()->record().step;
  for (std::size_t i = 0; i < done.size(); ++i) {
    if (done[i] != lanes[0].get()) continue;
    reference.cut(s);
    reference.add(done[i]->logits, last_rows ? forward.residual(static_cast<int>(i)) : nullptr, done[i]->hidden);
  }
  const ReferenceSteps::Distribution& expected = reference.at(s);
  backend->for_each(static_cast<int>(done.size()), [&](int i) { close_step(*done[i], expected, ms); });
}

void Session::Impl::close_step(Lane& lane, const ReferenceSteps::Distribution& expected, double ms) {
  StepRecord& record = lane.record();
  check_finite(lane, record);
  const int s = record.step;
  if (&lane == lanes[0].get()) {
    lane.log_p = expected.log_p;
  } else {
    lane.log_p = lane.logits;
    log_softmax(lane.log_p);
  }
  if (lane.setup().record.measures.hidden) record.hidden_rel_l2 = hidden_error(lane, s);
  record.kl = kl_divergence(expected.p, expected.log_p, lane.log_p);
  record.logits_top = top(lane.logits, n_logits);
  record.top1 = record.logits_top.front().first;
  record.top1_reference = expected.top1;
  record.top1_same = record.top1 == record.top1_reference;
  if (lane.setup().record.captures) {
    record.top_tokens = top_tokens(lane.log_p, lane.logits, expected.log_p, expected.logits, kTopTokens);
  }
  record.ms = ms;
  record.policy_ms = lane.compress_ms - lane.compress_ms_before;
  lane.steps.push_back(lane.take_record());
  lane.record_bytes += held_bytes(*lane.steps.back());
  // at once: the record may not stay whole
  if (lane.warning_watch.n_steps() + 1 == static_cast<int>(lane.steps.size())) lane.warning_watch.add(*lane.steps.back());
}

std::vector<double> Session::Impl::hidden_error(const Lane& lane, int step) const {
  const int n_layers = model.config().n_layers;
  const std::size_t dim = model.config().dim;
  // the prompt ran once for all lanes
  std::vector<double> out(n_layers, 0.0);
  if (lane.hidden.empty()) return out;
  const bool same_tokens = std::ranges::equal(std::span(lane.fed).first(std::min<std::size_t>(lane.fed.size(), step)),
                                              std::span(lanes[0]->fed).first(std::min<std::size_t>(lanes[0]->fed.size(), step)));
  const std::vector<double> expected = same_tokens ? reference.hidden(step) : std::vector<double>{};
  for (int l = 0; l < n_layers; ++l) {
    const auto layer = [&](const std::vector<double>& hidden) { return std::span(hidden).subspan(dim * l, dim); };
    out[l] = same_tokens ? rel_l2(layer(lane.hidden), layer(expected)) : kNotAvailable;
  }
  return out;
}

void Session::Impl::save_checkpoint(Lane& lane) {
  auto& saved = checkpoints[&lane];
  saved[static_cast<int>(lane.steps.size())] = lane.checkpoint();
  thin_restart_points(saved, kCheckpointEvery);
}

Snapshot Session::Impl::snapshot(const RunRequest& request, int n_steps, bool ended) {
  for (const TensorFile& file : model.files.files) file.check();  // what is told was computed from what was opened
  Snapshot out;
  out.phase = RunPhase::idle;
  out.progress = 1;
  out.notice = notice;
  out.model = model.config();
  out.characters = model.files.characters;
  out.characters_problem = model.files.characters_problem;
  out.chat = model.files.chat;
  out.chat_problem = model.files.chat_problem;
  out.device = backend->name();
  out.precision = name_of(backend->dtype());
  out.weight_bytes = static_cast<double>(model.files.weight_bytes);
  out.n_prompt = static_cast<int>(ids.size());
  out.prefill_mode = mode == PromptMode::prefill;
  if (out.prefill_mode) out.attention_bytes = prompt.needs().bytes_of_rows(model.config(), backend->dtype(), out.n_prompt);
  out.model_stamp = model.files.stamp;
  out.follow = name_of(request.follow);
  out.temperature = request.temperature;
  out.history = request.history;
  out.measures = request.measures;
  out.vocabulary = vocabulary;
  std::vector<int> all = ids;
  for (auto& lane : lanes) {
    LaneSnapshot& described = out.lanes.emplace_back(describe_lane(*lane, model.config(), n_steps, ended));
    described.text_end = end_of_text(described.fed, n_steps, n_prompt_steps(), model.files.end_ids);
    if (const int cut = std::min(lane->n_figures_only, n_steps); cut > 0)
      described.warnings.push_back({.kind = LaneWarning::Kind::figures_only, .count = static_cast<double>(cut), .got = record_limit});
  }
  name_forks(out.lanes);
  const int n_fed = lanes.empty() ? 0 : std::min(n_steps - 1, static_cast<int>(lanes[0]->fed.size()));
  for (int s = n_prompt_steps() - 1; s < n_fed; ++s) all.push_back(lanes[0]->fed[s]);
  out.prompt = spelled.text;
  out.tokens = describe_tokens(all, spelled.tokens, *vocabulary);
  tell_own_texts(out);
  out.total_ms = ms_since(started);
  out.tokens_per_s = decode_ms > 0 ? decode_rows * 1000 / decode_ms : 0;
  return out;
}

Snapshot Session::Impl::partial(const RunRequest& request, int n_steps) {
  Snapshot out = snapshot(request, n_steps, /*ended=*/false);
  out.phase = RunPhase::computing;
  out.progress = told_share;
  for (LaneSnapshot& lane : out.lanes)  // their steps are still to come
    std::erase_if(lane.warnings, [](const LaneWarning& w) { return w.kind == LaneWarning::Kind::edits_idle; });
  return out;
}

void Session::Impl::report(const std::string& activity, double fraction) {
  told_share = fraction;
  if (progress_) progress_(activity, fraction);
}

void Session::Impl::publish_partial(const RunRequest& request, int n_steps, bool now) {
  if (!publish_ || (!now && ms_since(published) < kPublishEveryMs)) return;
  publish_(partial(request, n_steps));
  published = Clock::now();
}

}  // namespace kvscope
