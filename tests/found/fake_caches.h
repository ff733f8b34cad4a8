// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "io/gguf_builder.h"
#include "io/temp_folder.h"
#include "paths.h"

namespace kvscope::test {

/// Caches as other programs lay them out, in a folder of a test.
class FakeCaches {
 public:
  using Path = std::filesystem::path;

  FakeCaches() : root_(folder_.path()) {}

  Path path(std::string_view name) const { return root_ / name; }
  Path write(const Path& path, std::string_view bytes) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << bytes;
    return root_ / path;
  }
  Path link(const Path& path, const Path& target) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::filesystem::create_symlink(target, root_ / path);
    return root_ / path;
  }

  /// The checkpoint tests/golden/NAME as a folder.
  Path checkpoint(const Path& path, const std::string& name = "tiny-gqa") const {
    std::filesystem::create_directories(root_ / path);
    for (const char* file : {"config.json", "model.safetensors"})
      std::filesystem::copy_file(in_checkout("tests/golden/" + name + "/" + file), root_ / path / file);
    return root_ / path;
  }
  /// hub/models--ORG--NAME as the cache of Hugging Face has it: revision abc is links into blobs.
  Path repository(const std::string& folder) const {
    const Path base = Path("hub") / folder;
    for (const char* file : {"config.json", "model.safetensors"}) {
      std::filesystem::create_directories(root_ / base / "blobs");
      std::filesystem::copy_file(in_checkout(std::string("tests/golden/tiny-gqa/") + file), root_ / base / "blobs" / file);
      link(base / "snapshots" / "abc" / file, Path("../../blobs") / file);
    }
    write(base / "refs" / "main", "abc");
    return root_ / base;
  }
  Path gguf(const Path& path) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::filesystem::copy_file(in_checkout("tests/data/gguf/tiny.gguf"), root_ / path);
    return root_ / path;
  }
  /// ollama/manifests/NAME, whose model has a digest of one repeated digit.
  void manifest(const std::string& name, char digit) const {
    write(Path("ollama/manifests") / name,
          R"({"schemaVersion":2,"layers":[{"mediaType":"application/vnd.ollama.image.license","digest":"sha256:00"},)"
          R"({"mediaType":"application/vnd.ollama.image.model","digest":"sha256:)" +
              std::string(64, digit) + R"(","size":1}]})");
  }
  static std::string blob(char digit) { return "ollama/blobs/sha256-" + std::string(64, digit); }

 private:
  TempFolder folder_;
  Path root_;
};

}  // namespace kvscope::test
