// SPDX-License-Identifier: Apache-2.0
#include "found/model_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/error.h"
#include "io/files.h"
#include "io/json_cursor.h"
#include "io/quote_name.h"

namespace kvscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGguf = ".gguf", kRepository = "models--";
constexpr std::string_view kModelLayer = "application/vnd.ollama.image.model";
constexpr std::size_t kMaxRevision = 256;                                                // bytes of refs/main
constexpr JsonLimits kManifestLimits{.bytes = std::size_t(1) << 20, .values = 1 << 14};  // theirs have some 500 bytes
constexpr int kManifestDepth = 6;                                                        // HOST/NAMESPACE/NAME/TAG

/// Whatever a file is called, its name is one line.
std::string on_one_line(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return name;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

std::string joined(const std::string& folder, const std::string& name) { return folder.empty() ? name : folder + "/" + name; }

bool holds_weights(const std::string& name) {
  return name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json") || name.ends_with(".bin.index.json") ||
         (name.starts_with("pytorch_model") && name.ends_with(".bin")) || name.ends_with(".pth");
}

/// The projector of a model that sees pictures lies beside it and is not a model itself.
bool is_projector(const std::string& name) { return lower(name).find("mmproj") != std::string::npos; }

/// NAME-00002-of-00003.gguf
struct Part {
  std::string name, total;
};

std::optional<Part> part_of(const std::string& file) {
  constexpr std::size_t kDigits = 5;
  constexpr std::string_view kOf = "-of-";
  constexpr std::size_t kEnding = 1 + kDigits + kOf.size() + kDigits;
  const std::string stem = file.substr(0, file.size() - kGguf.size());
  if (stem.size() <= kEnding) return std::nullopt;
  const std::string ending = stem.substr(stem.size() - kEnding);
  const auto digits = [](std::string_view text) { return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }); };
  const std::string number = ending.substr(1, kDigits), total = ending.substr(kEnding - kDigits);
  if (ending[0] != '-' || ending.substr(1 + kDigits, kOf.size()) != kOf || !digits(number) || !digits(total)) return std::nullopt;
  return Part{stem.substr(0, stem.size() - kEnding), total};
}

double bytes_of_file(const fs::path& path) {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  return error ? 0 : static_cast<double>(bytes);
}

/// A name of one folder or file, not a way to somewhere else.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

/// registry.ollama.ai/library/llama3/8b -> llama3:8b; what comes from elsewhere keeps its names.
std::string ollama_name(std::string name) {
  for (const std::string_view prefix : {"registry.ollama.ai/", "library/"})
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  if (const std::size_t slash = name.rfind('/'); slash != std::string::npos) name[slash] = ':';
  return name;
}

}  // namespace

std::vector<ModelWalk::Entry> ModelWalk::entries_of(const Path& folder, const std::string& name) {
  std::vector<Entry> out;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    if (cancel_) cancel_->check();
    if (--entries_left_ < 0) {
      if (!std::exchange(said_limit_, true))
        add(name, folder, 0,
            fmt::format("{}: not looked through to the end: expected at most {} files and folders in all places, got more", folder.string(),
                        limits_.entries));
      break;
    }
    Entry entry{it->path().filename().string(), it->path()};
    std::error_code ignored;
    const fs::file_status status = it->status(ignored);  // of what a link leads to
    entry.is_folder = fs::is_directory(status);
    entry.is_file = fs::is_regular_file(status);
    if (entry.is_file) entry.bytes = bytes_of_file(entry.path);
    out.push_back(std::move(entry));
  }
  if (error) add(name, folder, 0, fmt::format("{}: cannot be read: {}", folder.string(), error.message()));
  std::ranges::sort(out, {}, &Entry::name);
  return out;
}

bool ModelWalk::is_new(const Path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return !error && folders_.insert(real.string()).second;
}

void ModelWalk::add(const std::string& name, const Path& path, double bytes, const std::string& problem) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);  // another name of the same file is no other model
  if (!models_.insert(error ? path.string() : real.string()).second) return;
  if (rows_.size() > limits_.models) return;
  FoundModel row;
  row.place = place_;
  row.path = path.string();
  row.name = on_one_line(name.empty() ? row.path : name);
  row.disk_bytes = bytes;
  row.problem = problem;
  if (rows_.size() == limits_.models) {
    entries_left_ = 0;
    said_limit_ = true;
    row.problem = fmt::format("{}: this and what follows was not looked into: expected at most {} models in all places, got more", row.path,
                              limits_.models);
  }
  rows_.push_back(std::move(row));
}

void ModelWalk::look_in(const ModelPlace& place) {
  place_ = place.label;
  Path path = Path(place.path).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();  // a slash at the end
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return;
  if (fs::is_directory(status)) return look_into_folder(path, {}, 0, Expected::maybe);
  if (fs::is_regular_file(status)) return add(path.stem().string(), path, bytes_of_file(path));
  add({}, path, 0, fmt::format("{}: {}", path.string(), error ? "cannot be read: " + error.message() : "expected a folder or a GGUF file"));
}

void ModelWalk::look_into_folder(const Path& folder, const std::string& name, int depth, Expected expected) {
  if (!is_new(folder)) return;
  const std::string shown = name.empty() ? folder.filename().string() : name;
  const std::vector<Entry> entries = entries_of(folder, shown);
  const auto has = [&](const char* what, bool Entry::*kind) {
    return std::ranges::any_of(entries, [&](const Entry& e) { return e.*kind && e.name == what; });
  };
  if (has("manifests", &Entry::is_folder) && has("blobs", &Entry::is_folder))
    return look_into_manifests(folder / "manifests", folder / "blobs", {}, 0);

  const bool weights = std::ranges::any_of(entries, [](const Entry& e) { return !e.is_folder && holds_weights(e.name); });
  const bool ggufs = std::ranges::any_of(entries, [](const Entry& e) { return !e.is_folder && lower(e.name).ends_with(kGguf); });
  const bool meant = depth == 0 || expected == Expected::model;
  const bool is_model = has("config.json", &Entry::is_file) && (weights || (meant && !ggufs));
  if (is_model) {
    double bytes = 0;
    for (const Entry& e : entries) bytes += e.bytes;
    add(shown, folder, bytes);
  }
  add_ggufs(entries, name);
  if (is_model || depth >= limits_.depth) return;
  for (const Entry& e : entries) {
    if (!e.is_folder || e.name.starts_with('.')) continue;
    if (e.name.starts_with(kRepository))
      look_into_hub(e.path);
    else
      look_into_folder(e.path, joined(name, e.name), depth + 1, Expected::maybe);
  }
}

void ModelWalk::add_ggufs(const std::vector<Entry>& entries, const std::string& folder_name) {
  std::map<std::string, FoundModel> models;  // by name and number of parts
  for (const Entry& e : entries) {
    if (e.is_folder || !lower(e.name).ends_with(kGguf) || is_projector(e.name)) continue;
    const auto part = part_of(e.name);
    const std::string name = part ? part->name : e.name.substr(0, e.name.size() - kGguf.size());
    FoundModel& model = models[part ? name + "/" + part->total : name];
    if (model.path.empty()) {  // sorted by name: the first part that is there
      model.name = joined(folder_name, name);
      model.path = e.path.string();
    }
    model.disk_bytes += e.bytes;
  }
  for (const auto& [key, model] : models) add(model.name, model.path, model.disk_bytes);
}

/// snapshots/REVISION holds the files as links; refs/main says which revision counts.
void ModelWalk::look_into_hub(const Path& repository) {
  if (!is_new(repository)) return;
  std::string name = repository.filename().string().substr(kRepository.size());
  for (std::size_t at = 0; (at = name.find("--", at)) != std::string::npos;) name.replace(at, 2, 1, '/');
  const Path main = repository / "refs" / "main", snapshots = repository / "snapshots";
  std::error_code error;
  std::string revision;
  if (fs::exists(fs::symlink_status(main, error))) {
    try {
      revision = read_text(main.string(), kMaxRevision);
    } catch (const Error& e) {
      return add(name, repository, 0, e.what());
    }
    while (!revision.empty() && std::string_view(" \t\r\n").find(revision.back()) != std::string_view::npos) revision.pop_back();
    if (!is_plain_name(revision))
      return add(name, repository, 0, fmt::format("{}: expected the name of a revision, got {}", main.string(), quote_name(revision)));
    if (!fs::is_directory(snapshots / revision, error))
      return add(name, repository, 0,
                 fmt::format("{}: names revision {}, which is not in {}; is the download complete?", main.string(), quote_name(revision),
                             snapshots.string()));
  } else {  // downloaded by the name of a revision: the newest
    fs::file_time_type newest = fs::file_time_type::min();
    if (fs::is_directory(snapshots, error)) {
      for (const Entry& e : entries_of(snapshots, name)) {
        const auto written = fs::last_write_time(e.path, error);
        if (!e.is_folder || error || (!revision.empty() && written <= newest)) continue;
        newest = written;
        revision = e.name;
      }
    }
    if (revision.empty())
      return add(name, repository, 0, fmt::format("{}: holds no revision of the model; is the download complete?", snapshots.string()));
  }
  const std::size_t before = rows_.size();
  const Path snapshot = snapshots / revision;
  look_into_folder(snapshot, name, limits_.depth - 1, Expected::model);
  if (rows_.size() == before) add(name, snapshot, 0);  // who opens it says what is missing
}

void ModelWalk::look_into_manifests(const Path& folder, const Path& blobs, const std::string& name, int depth) {
  if (depth > kManifestDepth || !is_new(folder)) return;
  for (const Entry& e : entries_of(folder, name)) {
    if (e.name.starts_with('.')) continue;
    const std::string inside = joined(name, e.name);
    if (e.is_folder)
      look_into_manifests(e.path, blobs, inside, depth + 1);
    else
      read_manifest(e.path, blobs, ollama_name(inside));
  }
}

void ModelWalk::read_manifest(const Path& manifest, const Path& blobs, const std::string& name) {
  try {
    const JsonDocument document = JsonDocument::read(manifest.string(), kManifestLimits);
    const JsonCursor root(document);
    if (root.is_object() && root.has("layers")) {
      const JsonCursor layers = root.at("layers");
      for (std::size_t i = 0; i < layers.size(); ++i) {
        const JsonCursor layer = layers.at(i);
        if (!layer.is_object() || layer.text_or("mediaType", "") != kModelLayer) continue;
        const std::string digest = layer.text_or("digest", "");
        constexpr std::string_view kHash = "sha256:", kHexadecimal = "0123456789abcdef";
        if (!digest.starts_with(kHash) || digest.size() != kHash.size() + 64 ||
            digest.find_first_not_of(kHexadecimal, kHash.size()) != std::string::npos)
          throw Error(fmt::format("{}: layers: expected a digest sha256:... of 64 hexadecimal digits, got {}", manifest.string(),
                                  quote_name(digest)));
        const Path blob = blobs / ("sha256-" + digest.substr(kHash.size()));
        std::error_code error;
        if (!fs::exists(blob, error))
          throw Error(fmt::format("{}: is missing, {} names it; is the download complete?", blob.string(), manifest.string()));
        return add(name, blob, bytes_of_file(blob));
      }
    }
    throw Error(fmt::format("{}: names no layer of the type {}: the model is not here as a GGUF file", manifest.string(), kModelLayer));
  } catch (const Error& e) {
    add(name, manifest, 0, e.what());
  }
}

}  // namespace kvscope
