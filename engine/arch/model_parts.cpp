// SPDX-License-Identifier: Apache-2.0
#include "arch/model_parts.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <sys/stat.h>

#include "io/file_hash.h"
#include "io/sha256.h"

namespace kvscope {

namespace fs = std::filesystem;

namespace {

bool decides_numbers(const std::string& name) {
  return name.ends_with(".safetensors") || name == "config.json" || name == "tokenizer.model" || name == "tokenizer.json" ||
         name.ends_with("_heads.json");
}

}  // namespace

std::vector<std::string> parts_of_model(const std::string& model) {
  std::error_code error;
  if (fs::is_regular_file(model, error)) return {model};
  std::vector<std::string> out;
  for (fs::directory_iterator entry(model, error), last; !error && entry != last; entry.increment(error))
    if (decides_numbers(entry->path().filename().string()) && entry->is_regular_file()) out.push_back(entry->path().string());
  std::ranges::sort(out);
  return out;
}

std::string hash_of_model(const std::string& model) {
  Sha256 all;
  const bool is_file = fs::is_regular_file(model);
  for (const std::string& part : parts_of_model(model)) {
    if (!is_file) all.add(fs::path(part).filename().string() + "\n");  // a file is the same model under another name
    all.add(hash_of_file(part).sha256 + "\n");
  }
  return hexadecimal(all.digest());
}

std::string stamp_of_model(const std::string& model) {
  std::string all;
  for (const std::string& part : parts_of_model(model)) {
    struct stat info {};
    if (::stat(part.c_str(), &info) != 0) continue;  // gone meanwhile: another text than with it
    all += fmt::format("{} {} {} {}.{}\n", fs::path(part).filename().string(), info.st_ino, info.st_size, info.st_mtim.tv_sec,
                       info.st_mtim.tv_nsec);
  }
  return hexadecimal(sha256(all));
}

std::string hash_of_read_model(const std::string& model, const std::string& stamp) {
  const std::string hash = hash_of_model(model);
  return stamp_of_model(model) == stamp ? hash : stamp;
}

}  // namespace kvscope
