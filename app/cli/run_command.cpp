// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include <unistd.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/compute.h"
#include "app/cli/inputs.h"
#include "app/cli/interrupt.h"
#include "app/cli/json_number.h"
#include "app/cli/table.h"
#include "core/error.h"
#include "io/files.h"
#include "io/result_files.h"
#include "policy/text/named_files.h"
#include "runtime/model/run_files.h"
#include "runtime/session/record_sink.h"
#include "snapshot/figures.h"
#include "snapshot/number_text.h"
#include "trace/kept_writer.h"
#include "trace/trace_writer.h"
#ifdef KVSCOPE_SHARE
#include "app/share/stored_run.h"
#endif

namespace kvscope::cli {

namespace {

using Json = nlohmann::ordered_json;

/// Where the file `path` has its room; empty: it takes no room (a pipe, a device).
std::string folder_of(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) return "";
  const fs::path folder = fs::weakly_canonical(path, error).parent_path();
  return folder.empty() ? "." : folder.string();
}

/// A count is written as one; a mean of counts that is not whole keeps its fraction.
Json count(double value) {
  return std::isfinite(value) && value == std::floor(value) && std::abs(value) < 0x1p53 ? Json(static_cast<std::int64_t>(value))
         : std::isfinite(value)                                                         ? Json(value)
                                                                                        : Json(nullptr);
}

/// Hands every record on to several.
class Sinks final : public RecordSink {
 public:
  void take(int lane, const StepRecord& step) override {
    for (RecordSink* sink : sinks) sink->take(lane, step);
  }
  std::vector<RecordSink*> sinks;
};

/// Ids as text: by the model's tokenizer, or without a model by what a stored run says of its tokens.
class Decoder {
 public:
  Decoder(const Snapshot& snapshot, std::shared_ptr<const Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {
    if (tokenizer_) return;
    begins_with_space_ = snapshot.prompt.empty() || snapshot.prompt.front() == ' ';
    const auto learn = [this](const TokenInfo& token) {
      if (token.id >= 0) known_.try_emplace(token.id, token.special ? "" : token.bytes);
    };
    std::ranges::for_each(snapshot.tokens, learn);
    if (snapshot.vocabulary) std::ranges::for_each(*snapshot.vocabulary, learn);
  }

  std::string operator()(const std::vector<int>& ids) const {
    if (tokenizer_) return tokenizer_->decode(ids);
    std::string text;
    for (const int id : ids) {
      const auto found = known_.find(id);
      text += found == known_.end() ? fmt::format("<{}>", id) : found->second;
    }
    if (!begins_with_space_ && text.starts_with(' ')) text.erase(0, 1);  // of tokenizers that put one before every text
    return text;
  }

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::map<int, std::string> known_;
  bool begins_with_space_ = true;
};

/// What the run says after the prompt, as it stands there: by itself its blank before the first word might be gone.
std::string said_text(const Snapshot& s, const Decoder& decode, const LaneSnapshot& lane) {
  const std::vector<int> ids = said_tokens(s, lane);
  const auto said = ids.begin() + std::min(s.n_prompt, static_cast<int>(ids.size()));
  const std::string prompt = decode({ids.begin(), said}), whole = decode(ids);
  return whole.starts_with(prompt) ? whole.substr(prompt.size()) : decode({said, ids.end()});
}

std::string run_json(const Snapshot& s, const Decoder& decode) {
  Json lanes = Json::array();
  for (const LaneSnapshot& lane : s.lanes) {
    const RunFigures f = run_figures(s, lane);
    const std::vector<int> ids = lane_tokens(s, lane);
    Json warnings = Json::array();
    for (const LaneWarning& w : lane.warnings) warnings.push_back(text_of(w));
    lanes.push_back({{"spec", lane.spec},
                     {"policy", lane.policy},
                     {"says", said_text(s, decode, lane)},
                     {"text", decode(ids)},
                     {"tokens", ids},
                     {"nll", number(f.nll.mean())},
                     {"kl", number(f.kl.mean())},
                     {"top1_same", number(f.top1_share())},
                     {"bytes", count(f.allocated)},
                     {"kv_bytes", count(f.bytes)},
                     {"read_bytes", count(f.read.mean())},
                     {"slots", count(f.slots)},
                     {"tokens_per_s", number(f.tokens_per_s())},
                     {"ended_after", lane.text_end < 0 ? Json(nullptr) : Json(lane.text_end)},
                     {"warnings", std::move(warnings)}});
  }
  Json document{{"schema", "kvscope.run/1"}, {"prompt_tokens", s.n_prompt}, {"follow", s.follow}, {"lanes", std::move(lanes)}};
  if (!s.notice.empty()) document["notice"] = s.notice;  // generation that ended early, say
  return document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string steps_that_count(const Snapshot& snapshot) {
  return snapshot.prefill_mode ? "means over the steps after the prompt" : "means over all steps, those that read the prompt included";
}

std::string summary_table(const Snapshot& snapshot) {
  std::vector<std::vector<std::string>> rows = {{"policy", "run", "slots", "KV bytes", "mean KL", "top-1 same", "nll", "tokens/s"}};
  std::set<std::string> speeds;
  bool parted = false;
  std::string read;
  for (const LaneSnapshot& lane : snapshot.lanes) {
    const RunFigures f = run_figures(snapshot, lane);
    parted = parted || f.compared < f.n_steps;
    if (f.read.n > 0)
      read += fmt::format("{}: a step reads {} of its keys and values, bounds of pages included\n", lane.spec, format_bytes(f.read.mean()));
    rows.push_back({lane.policy, lane.spec, format_mean(f.slots), format_bytes(f.bytes), format_number(f.kl.mean()),
                    format_percent(f.top1_share()), format_number(f.nll.mean()), format_number(f.tokens_per_s())});
    speeds.insert(rows.back().back());
  }
  std::string head;
  if (speeds.size() == 1) {  // the time of a step is that of all runs in it: of the computation, not of a policy
    for (std::vector<std::string>& row : rows) row.pop_back();
    if (*speeds.begin() != kNotAvailableText)
      head = fmt::format("{} tokens/s{}\n", *speeds.begin(),
                         snapshot.lanes.size() > 1 ? " in each run: all of them take a step together" : "");
  }
  std::string warnings;
  for (const LaneSnapshot& lane : snapshot.lanes)
    for (const LaneWarning& w : lane.warnings) warnings += fmt::format("{}: {}\n", lane.spec, text_of(w));
  return head + aligned(rows, 2) + read + warnings +
         fmt::format("{}{}{}\n", steps_that_count(snapshot), parted ? "; " : "", parted ? kComparedUntilTextsPart : "");
}

/// The prompt and what the run says to it; where its text has ended and it was fed more, the rest is marked as such.
std::string shown_text(const Snapshot& s, const Decoder& decode, const LaneSnapshot& lane) {
  const std::vector<int> ids = said_tokens(s, lane);
  const auto n = static_cast<std::size_t>(s.n_prompt + lane.text_end);
  if (lane.text_end < 0 || n >= ids.size()) return decode(ids);
  const auto end = ids.begin() + static_cast<std::ptrdiff_t>(n);
  return fmt::format("{}\n[here the text has ended; it was continued by:]\n{}", decode({ids.begin(), end}), decode({end, ids.end()}));
}

std::string run_text(const Snapshot& s, const Decoder& decode, bool quiet) {
  std::string out;
  for (const LaneSnapshot& lane : s.lanes) out += fmt::format("--- {}\n{}\n\n", lane.spec, shown_text(s, decode, lane));
  if (quiet) return out;
  const std::size_t n_after = s.tokens.size() - static_cast<std::size_t>(s.n_prompt);
  out += fmt::format("{}, {}, {}; {} prompt tokens ({}), {} after it (follow: {})\n", s.model.name, s.device, s.precision, s.n_prompt,
                     s.prefill_mode ? "prefill" : "stream", n_after, s.follow);
  if (!s.notice.empty()) out += s.notice + "\n";
  if (s.follow != "self" && n_after > 0)
    out += fmt::format("after the prompt: what each run itself finds most likely at each place; fed was {} before it\n",
                       s.follow == "reference" ? "the full cache's text" : "the given text");
  return out + summary_table(s);
}

/// Of a file: without a tokenizer.
Result stored_result(const std::string& path) {
#ifdef KVSCOPE_SHARE
  share::StoredRun run = share::read_stored_run(path);
  run.trace.snapshot.notice = std::move(run.notice);
  return {std::move(run.trace.snapshot), nullptr};
#else
  throw UsageError(fmt::format("run {}: expected a kvscope-cli with the views, got one without; build it with -DKVSCOPE_VIZ=ON", path));
#endif
}

}  // namespace

int run(const Arguments& a) {
  const Interrupt interrupt;
  const Result result =
      a.results ? stored_result(*a.results) : compute(a, Detail::summary, /*history=*/false, MeasureSet::none(), interrupt.token());
  const Decoder decode(result.snapshot, result.tokenizer);
  return print(a.json ? run_json(result.snapshot, decode) : run_text(result.snapshot, decode, a.quiet));
}

int trace(const Arguments& a) {
  namespace fs = std::filesystem;
  const bool to_stdout = a.out.empty() || a.out == "-";
  check_targets(a, {{"--out", a.out}, {"--out-kept", a.out_kept}});
  const Interrupt interrupt;
  const std::string folder = to_stdout ? "" : folder_of(a.out);
  std::optional<TraceStream> stream;
  KeptWriter kept;
  Sinks sinks;
  const Result result = compute(a, a.detail, /*history=*/true, MeasureSet::all(), interrupt.token(), [&](const RunRequest& request) {
    const TraceOptions options{.detail = a.detail, .seed = request.seed, .cancel = &interrupt.token()};
    sinks.sinks = {&stream.emplace(options, request.measures, folder.empty() ? std::filesystem::temp_directory_path().string() : folder)};
    if (!a.out_kept.empty()) sinks.sinks.push_back(&kept);
    return &sinks;
  });
  if (!a.out_kept.empty()) {
    const Interrupt::Critical writing;
    write_atomically(a.out_kept, kept.text(result.snapshot));
    say_merges_are_not_repeated(a.out_kept, kept.merging(result.snapshot));
  }
  if (to_stdout) {
    stream->finish(result.snapshot, [](std::string_view piece) { print(piece); });
    return 0;
  }
  interrupt.token().check();
  {
    const Interrupt::Critical writing;
    write_atomically(a.out, [&](const TakesText& take) { stream->finish(result.snapshot, take); });
  }
  std::error_code error;
  const std::string large = fs::is_regular_file(a.out, error) ? too_large_to_read(fs::file_size(a.out, error)) : std::string();
  if (!large.empty()) note(fmt::format("{}: {}", a.out, large));
  if (a.json) return print(run_json(result.snapshot, Decoder(result.snapshot, result.tokenizer)));
  return a.quiet ? 0 : print(summary_table(result.snapshot));
}

static void check_target(const std::string& path, const char* option) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error) && !fs::is_directory(path, error)) return;  // opened as it is
  if (fs::is_symlink(path, error) && !fs::exists(path, error))
    throw UsageError(fmt::format("{} {}: expected a file, got a link that leads nowhere; remove it or choose another name", option, path));
  if (fs::is_directory(path, error)) throw UsageError(fmt::format("{} {}: expected a file, got a folder", option, path));
  fs::path folder = fs::path(path).parent_path();
  if (folder.empty()) folder = ".";
  if (!fs::is_directory(folder, error))
    throw UsageError(fmt::format("{} {}: the folder {} does not exist; make it first", option, path, folder.string()));
  if (access(folder.c_str(), W_OK) != 0)
    throw UsageError(fmt::format("{} {}: the folder {} cannot be written", option, path, folder.string()));
}

static void check_nothing_read(const Arguments& a, const std::string& path, const char* option) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::exists(path, error)) return;
  const auto same = [&](const std::string& read) { check_not_read(option, path, read); };
  for (const auto* read : {&a.session, &a.prompt_file, &a.tokens_file, &a.kept, &a.results})
    if (*read) same(**read);
  for (const auto* read : {&a.texts, &a.scenes, &a.text, &a.follow_file}) same(*read);
  const SessionInput session = a.session ? read_session_input(*a.session) : SessionInput();
  std::string folder = named_model(a, session);
  for (const auto* lanes : {&a.lanes, &session.request.lanes})
    for (const LaneSpec& lane : *lanes)
      for (const NamedFile& file : files_named_by(lane)) same(RunFiles(folder).path_of(lane, file));
  if (fs::is_regular_file(folder, error)) {
    same(folder);  // a GGUF
    folder = fs::path(folder).parent_path().string();
    if (folder.empty()) folder = ".";
  }
  each_name(folder, [&](std::string_view name) {
    if (is_name_of_model_file(name)) same(in_folder(folder, name));
    return true;
  });
}

void check_targets(const Arguments& a, std::initializer_list<Target> targets) {
  std::map<std::filesystem::path, const char*> taken;
  for (const auto& [option, path] : targets) {
    const bool to_stdout = path == "-";
    if (to_stdout && std::string_view(option) != "--out")
      throw UsageError(
          fmt::format("{}: expected a file, got -: standard output holds the command's result; ./- is a file of this name", option));
    if (path.empty() || to_stdout) continue;
    check_target(path, option);
    check_nothing_read(a, path, option);
    check_no_model_file(path);
    std::error_code error;
    if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) continue;  // /dev/null takes all of them
    const auto [other, is_new] =
        taken.try_emplace(std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error), option);
    if (!is_new)
      throw UsageError(fmt::format("{} {}: {} writes this file, too; choose another name for one of both", option, path, other->second));
  }
}

}  // namespace kvscope::cli
