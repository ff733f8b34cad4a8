// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/kept_opening.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "arch/model_files.h"
#include "core/assets.h"
#include "core/error.h"
#include "found/model_walk.h"
#include "found/usual_places.h"
#include "io/kept_file_reader.h"
#include "io/quote_name.h"
#include "policy/catalog.h"
#include "runtime/session/kept_request.h"

namespace kvscope {

namespace {

namespace fs = std::filesystem;

/// What is left of "org/name", "a/b/name/" or "name.gguf".
std::string last_name(const std::string& name) {
  const fs::path path = fs::path(name).lexically_normal();
  return path.has_filename() ? path.stem().string() : path.parent_path().stem().string();
}

/// Finds a model for a file.
class Search {
 public:
  Search(const KeptFile& kept, const CancelToken& cancel) : kept_(kept), cancel_(cancel) {}

  const std::optional<ModelFiles>& model() const { return model_; }
  /// Why the first of those that were looked into does not fit; empty: none was.
  const std::string& why_not() const { return why_not_; }

  /// True: it fits, and is model() now.
  bool take(const std::string& folder) {
    cancel_.check();
    std::error_code error;
    if (folder.empty() || !fs::exists(folder, error) || !seen_.insert(folder).second) return false;
    std::string why;
    try {
      ModelFiles files = check_model(folder);
      const int largest = *std::ranges::max_element(kept_.tokens);
      if (files.config.n_layers != kept_.n_layers || files.config.n_kv_heads != kept_.n_kv_heads)
        why = fmt::format("{} has {} layers of {} KV heads", folder, files.config.n_layers, files.config.n_kv_heads);
      else if (largest >= files.config.vocab_size)
        why = fmt::format("{} has {} tokens, and the file the token id {}", folder, files.config.vocab_size, largest);
      else
        model_ = std::move(files);
    } catch (const Error& e) {
      why = e.what();
    }
    if (why_not_.empty()) why_not_ = why;
    return model_.has_value();
  }

  /// Those that are called as the file says.
  bool by_name(const std::string& present, const std::string& built_in) {
    if (kept_.model.empty()) return false;
    const std::string name = last_name(kept_.model);
    const fs::path beside = fs::path(kept_.path).parent_path();
    for (const std::string& folder : {present, built_in})
      if (last_name(folder) == name && take(folder)) return true;
    std::error_code error;
    for (const fs::path& folder : {fs::path(kept_.model), beside / kept_.model})
      if (fs::exists(folder, error) && take(folder.string())) return true;
    if (fs::exists(beside / "config.json", error) && take(beside.string())) return true;
    ModelWalk walk({}, &cancel_);
    for (const ModelPlace& place : usual_places()) walk.look_in(place);
    for (const FoundModel& found : walk.take())
      if ((found.name == kept_.model || last_name(found.name) == name) && found.opens() && take(found.path)) return true;
    return false;
  }

 private:
  const KeptFile& kept_;
  const CancelToken& cancel_;
  std::optional<ModelFiles> model_;
  std::set<std::string> seen_;
  std::string why_not_;
};

/// As text; alone, if that is read as the same tokens, else beside them, to be read by people.
void set_text(RunRequest& request, const ModelFiles& model) {
  if (!model.has_tokenizer) return;
  std::vector<int> ids = request.prompt_ids;
  request.prompt = model.tokenizer->decode(ids);
  if (model.config.bos_id >= 0) {
    if (ids.front() != model.config.bos_id) return;
    ids.erase(ids.begin());
  }
  const std::string text = model.tokenizer->decode(ids);
  if (model.tokenizer->encode(text) != ids) return;
  request.prompt = text;
  request.prompt_ids.clear();
}

}  // namespace

KeptOpening openKeptFile(const QString& path, const QString& present, const CancelToken& cancel) {
  KeptOpening out{.path = path};
  const KeptFile kept = read_kept_file(path.toStdString());
  const std::string built_in = asset("models/kvmini"), here = present.toStdString();
  Search search(kept, cancel);
  const std::string about =
      fmt::format("{}: it is about {}, {} layers of {} KV heads", path.toStdString(),
                  kept.model.empty() ? "a model without a name" : quote_name(kept.model), kept.n_layers, kept.n_kv_heads);
  if (!search.by_name(here, built_in)) {
    const std::string why_not = search.why_not();
    if (!search.take(here) && !search.take(built_in)) {
      out.why = QString::fromStdString(
          fmt::format("{}, and {}; open its model (Ctrl+O), then the file again", about, why_not.empty() ? search.why_not() : why_not));
      return out;
    }
    out.asked = !kept.model.empty();
    if (out.asked)
      out.why = QString::fromStdString(fmt::format("{}{}; it was not found here, and {} has the same shape", about,
                                                   why_not.empty() ? "" : ", and " + why_not, last_name(search.model()->folder)));
  }
  out.model = QString::fromStdString(search.model()->folder);
  out.request.lanes = {parse_lane_spec(reference_policy())};
  take_kept(out.request, kept, search.model()->config.vocab_size);
  if (!out.request.follow_ids.empty()) {
    out.request.follow = Follow::file;
    out.request.n_generate = static_cast<int>(out.request.follow_ids.size());
  }
  set_text(out.request, *search.model());
  return out;
}

}  // namespace kvscope
