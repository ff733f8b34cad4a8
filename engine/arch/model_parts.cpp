// SPDX-License-Identifier: Apache-2.0
#include "arch/model_parts.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "io/file_hash.h"
#include "io/files.h"
#include "io/sha256.h"

namespace kvscope {

namespace {

bool decides_numbers(std::string_view name) {
  return name.ends_with(".safetensors") || name == "config.json" || name == "tokenizer.model" || name == "tokenizer.json" ||
         name == "tokenizer_config.json" || name == "added_tokens.json" || name.ends_with("_heads.json");
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::vector<std::string> parts_of_model(const std::string& model) {
  if (is_file(model)) return {model};
  std::vector<std::string> out;
  each_name(model, [&](std::string_view name) {
    if (!decides_numbers(name)) return true;
    std::string path = in_folder(model, name);
    if (is_file(path)) out.push_back(std::move(path));
    return true;
  });
  std::ranges::sort(out);
  return out;
}

std::string hash_of_model(const std::string& model) {
  Sha256 all;
  const bool one_file = is_file(model);
  for (const std::string& part : parts_of_model(model)) {
    if (!one_file) all.add(name_of(part) + "\n");  // a file is the same model under another name
    all.add(hash_of_file(part).sha256 + "\n");
  }
  return hexadecimal(all.digest());
}

std::string stamp_of_model(const std::string& model) {
  std::string all;
  for (const std::string& part : parts_of_model(model)) {
    struct stat info {};
    if (::stat(part.c_str(), &info) != 0) continue;  // gone meanwhile: another text than with it
    all += fmt::format("{} {} {} {}.{}\n", name_of(part), info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  }
  return hexadecimal(sha256(all));
}

std::string hash_of_read_model(const std::string& model, const std::string& stamp) {
  if (stamp_of_model(model) != stamp) return kChangedSinceRead;
  const std::string hash = hash_of_model(model);
  return stamp_of_model(model) == stamp ? hash : kChangedSinceRead;  // it may have been changed while it was read
}

}  // namespace kvscope
