// SPDX-License-Identifier: Apache-2.0
#include "io/kept_file_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "core/most_runs.h"
#include "core/not_available.h"
#include "io/files.h"
#include "io/json_cursor.h"
#include "io/quote_name.h"
#include "io/tensor_file.h"

namespace kvscope {
namespace {

constexpr const char* kSchema = "kvscope.kept/1";
constexpr int kMaxLayers = 4096, kMaxHeads = 4096, kMaxTokens = 1 << 20;
constexpr std::string_view kPositions[] = {"original", "cache", "ceiling"};
constexpr std::size_t kMaxNameBytes = 4096, kMaxSafetensors = 64;

class Reader {
 public:
  explicit Reader(const std::string& path) : document_(JsonDocument::read(path)) { out_.path = path; }

  KeptFile read() {
    const JsonCursor root(document_);
    if (!root.is_object() || !root.has("schema") || root.at("schema").view() != kSchema)
      throw Error(fmt::format("{}: expected an object with \"schema\": \"{}\"", out_.path, kSchema));
    const JsonCursor model = root.at("model");
    out_.model = model.text_or("name", "");
    out_.n_layers = model.at("n_layers").whole(1, kMaxLayers);
    out_.n_kv_heads = model.at("n_kv_heads").whole(1, kMaxHeads);
    read_tokens(root);
    const JsonCursor runs = root.at("runs");
    const std::size_t n_runs = runs.size(kMostRuns + 1);
    if (n_runs == 0) runs.fail("at least one run");
    for (std::size_t r = 0; r < n_runs; ++r) read_run(runs.at(r));
    find_prompt(root);
    for (std::size_t r = 0; r < n_runs; ++r) check_positions(runs.at(r), out_.runs[r]);
    return std::move(out_);
  }

 private:
  std::size_t n_heads() const { return static_cast<std::size_t>(out_.n_layers) * static_cast<std::size_t>(out_.n_kv_heads); }

  void read_tokens(const JsonCursor& root) {
    const JsonCursor tokens = root.at("tokens");
    const std::size_t n = tokens.size(kMaxTokens);
    if (n == 0) tokens.fail("at least one token");
    constexpr int kMaxId = std::numeric_limits<int>::max();
    for (std::size_t i = 0; i < n; ++i) {
      const JsonCursor token = tokens.at(i);
      out_.tokens.push_back((token.is_object() ? token.at("id") : token).whole(0, kMaxId));
    }
  }

  /// Its length is given, or the tokens after it were read one in each step, to the last of them.
  void find_prompt(const JsonCursor& root) {
    int last = 0;
    for (const KeptFile::Run& run : out_.runs) last = std::max(last, run.steps.back().step);
    const int n = static_cast<int>(out_.tokens.size());
    if (last >= n) root.at("tokens").fail(fmt::format("the tokens of all steps, more than {}", last));
    out_.n_prompt = root.whole_or("n_prompt", 1, n - last, n - last);
  }

  void read_run(const JsonCursor& from) {
    KeptFile::Run& run = out_.runs.emplace_back();
    run.name = from.text_or("name", fmt::format("run {}", out_.runs.size()));
    if (run.name.size() > kMaxNameBytes) from.at("name").fail(fmt::format("a name of at most {} bytes", kMaxNameBytes));
    // the name of a run is written into specifications and shown in one line
    if (std::ranges::any_of(run.name, [](char c) { return c == '"' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
      from.at("name").fail("a name of one line without double quotes");
    if (std::ranges::count(out_.runs, run.name, &KeptFile::Run::name) > 1) from.at("name").fail("another name than the runs before");
    run.ratio = from.real_or("ratio", 0, 1, run.ratio);
    run.positions = from.text_or("positions", run.positions);
    if (std::ranges::find(kPositions, run.positions) == std::end(kPositions))
      from.at("positions").fail(fmt::format("one of {}", fmt::join(kPositions, ", ")));
    const JsonCursor steps = from.at("steps");
    const std::size_t n_steps = steps.size(kMaxTokens);
    if (n_steps == 0) steps.fail("at least one step");
    for (std::size_t i = 0; i < n_steps; ++i) {
      const JsonCursor step = steps.at(i);
      const int least = run.steps.empty() ? 0 : run.steps.back().step + 1;
      run.steps.push_back({.step = step.at("step").whole(least, kMaxTokens), .kept = {}, .scores = {}});
      read_heads(step, run.steps.back());
      if (step.given("merged")) run.n_merges += count_pairs(step.at("merged"));
    }
  }

  /// Calls `each` with the value of every head, layer by layer.
  template <class Each>
  void for_heads(const JsonCursor& layers, Each each) const {
    if (layers.size() != static_cast<std::size_t>(out_.n_layers)) layers.fail(fmt::format("a list for each of {} layers", out_.n_layers));
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const JsonCursor heads = layers.at(l);
      if (heads.size() != static_cast<std::size_t>(out_.n_kv_heads))
        heads.fail(fmt::format("a list for each of {} KV heads", out_.n_kv_heads));
      for (std::size_t h = 0; h < heads.size(); ++h) each(heads.at(h));
    }
  }

  void read_heads(const JsonCursor& from, KeptFile::Step& step) {
    const JsonCursor kept = from.at("kept");
    if (kept.is_object())
      read_mask(kept, step);
    else
      for_heads(kept, [&](const JsonCursor& head) { step.kept.push_back(head.wholes(0, kMaxTokens)); });
    if (!from.given("scores")) return;
    if (from.at("scores").is_object()) return read_score_tensor(from.at("scores"), step);
    for_heads(from.at("scores"), [&](const JsonCursor& head) {
      const std::size_t n = step.kept[step.scores.size()].size();
      if (head.size() != n) head.fail(fmt::format("a score for each of {} kept positions", n));
      step.scores.push_back(head.reals_or_null());
    });
  }

  /// The file beside this one that an object names.
  const TensorFile& file_of(const JsonCursor& from) {
    const std::string file = from.at("file").text(kMaxNameBytes);
    if (file.empty() || file.find('/') != std::string::npos || file == "." || file == "..")
      from.at("file").fail("the name of a file in the same folder");
    if (!tensors_.contains(file) && tensors_.size() == kMaxSafetensors)
      from.at("file").fail(fmt::format("at most {} files", kMaxSafetensors));
    if (!tensors_.contains(file)) tensors_.emplace(file, TensorFile::open(beside(file)));
    return tensors_.at(file);
  }

  std::string beside(const std::string& file) const { return in_folder(folder_of(out_.path), file); }

  std::string where_of(const JsonCursor& from) const {
    return fmt::format("{}: tensor {}", beside(from.at("file").text()), quote_name(from.at("tensor").text(kMaxNameBytes)));
  }

  std::size_t tokens_of(const std::vector<std::int64_t>& shape, const std::string& where) const {
    if (shape.size() != 3 || shape[0] != out_.n_layers || shape[1] != out_.n_kv_heads || shape[2] > kMaxTokens)
      throw Error(fmt::format("{}: expected [{} layers, {} KV heads, tokens], got [{}]", where, out_.n_layers, out_.n_kv_heads,
                              fmt::join(shape, ", ")));
    return static_cast<std::size_t>(shape[2]);
  }

  /// A mask of bytes [n_layers, n_kv_heads, tokens], 0: not kept.
  void read_mask(const JsonCursor& from, KeptFile::Step& step) {
    const TensorFile& tensors = file_of(from);
    const std::string name = from.at("tensor").text(kMaxNameBytes), where = where_of(from);
    const auto found = tensors.others().find(name);
    if (found == tensors.others().end() || (found->second.dtype != "U8" && found->second.dtype != "BOOL"))
      throw Error(fmt::format("{}: expected a mask of U8 or BOOL, got {}", where,
                              found != tensors.others().end()    ? found->second.dtype
                              : tensors.tensors().contains(name) ? "other numbers"
                                                                 : "no such tensor"));
    const auto& [dtype, shape, bytes] = found->second;
    const std::size_t n = tokens_of(shape, where);
    for (std::size_t h = 0; h < n_heads(); ++h) {
      std::vector<int>& kept = step.kept.emplace_back();
      for (std::size_t i = 0; i < n; ++i)
        if (bytes[h * n + i] != std::byte{0}) kept.push_back(static_cast<int>(i));
    }
    tensors.check();
  }

  /// Numbers [n_layers, n_kv_heads, tokens] of F32 or F64, of which those of the kept positions count; what is not finite counts as
  /// missing.
  void read_score_tensor(const JsonCursor& from, KeptFile::Step& step) {
    const TensorFile& tensors = file_of(from);
    const std::string name = from.at("tensor").text(kMaxNameBytes), where = where_of(from);
    const auto found = tensors.tensors().find(name);
    if (found == tensors.tensors().end() || (found->second.dtype != DType::f32 && found->second.dtype != DType::f64))
      throw Error(fmt::format("{}: expected scores of F32 or F64, got {}", where,
                              found != tensors.tensors().end() || tensors.others().contains(name) ? "other numbers" : "no such tensor"));
    const TensorView& view = found->second;
    const std::size_t n = tokens_of(view.shape, where);
    for (std::size_t h = 0; h < n_heads(); ++h) {
      std::vector<double>& scores = step.scores.emplace_back();
      for (const int pos : step.kept[h]) {
        const std::size_t i = h * n + static_cast<std::size_t>(pos);
        const bool there = static_cast<std::size_t>(pos) < n;
        const double score = !there                     ? kNotAvailable
                             : view.dtype == DType::f32 ? static_cast<double>(number_at<float>(view, i))
                                                        : number_at<double>(view, i);
        scores.push_back(std::isfinite(score) ? score : kNotAvailable);
      }
    }
    tensors.check();
  }

  template <class T>
  static T number_at(const TensorView& view, std::size_t i) {
    T value;
    std::memcpy(&value, view.bytes.data() + i * sizeof(T), sizeof(T));
    return value;
  }

  int count_pairs(const JsonCursor& merged) const {
    std::size_t n = 0;
    for_heads(merged, [&](const JsonCursor& head) {
      for (std::size_t i = 0; i < head.size(); ++i)
        if (head.at(i).wholes(0, kMaxTokens).size() != 2) head.at(i).fail("two positions, from and into");
      n += head.size();
    });
    return static_cast<int>(n);
  }

  /// Ascending, each once, each read by then.
  void check_positions(const JsonCursor& from, KeptFile::Run& run) const {
    for (KeptFile::Step& step : run.steps)
      for (std::size_t h = 0; h < n_heads(); ++h) {
        const auto fail = [&](int pos, std::string_view what) {
          throw Error(fmt::format("{}: step {}, layer {}, KV head {}: position {} {}", from.where(), step.step,
                                  h / static_cast<std::size_t>(out_.n_kv_heads), h % static_cast<std::size_t>(out_.n_kv_heads), pos, what));
        };
        sort_with_scores(step, h);
        const std::vector<int>& kept = step.kept[h];
        if (const auto twice = std::ranges::adjacent_find(kept); twice != kept.end()) fail(*twice, "comes twice, expected once");
        const int n_read = out_.n_prompt + step.step;
        if (!kept.empty() && kept.back() >= n_read)
          fail(kept.back(), fmt::format("is kept, expected one of the {} tokens read by then", n_read));
      }
  }

  static void sort_with_scores(KeptFile::Step& step, std::size_t h) {
    std::vector<int>& kept = step.kept[h];
    if (std::ranges::is_sorted(kept)) return;
    if (step.scores.empty()) {
      std::ranges::sort(kept);
      return;
    }
    std::vector<std::pair<int, double>> both;
    for (std::size_t i = 0; i < kept.size(); ++i) both.emplace_back(kept[i], step.scores[h][i]);
    std::ranges::stable_sort(both, {}, &std::pair<int, double>::first);
    for (std::size_t i = 0; i < kept.size(); ++i) std::tie(kept[i], step.scores[h][i]) = both[i];
  }

  JsonDocument document_;
  KeptFile out_;
  std::map<std::string, TensorFile> tensors_;  // by name
};

}  // namespace

KeptFile read_kept_file(const std::string& path) { return Reader(path).read(); }

}  // namespace kvscope
