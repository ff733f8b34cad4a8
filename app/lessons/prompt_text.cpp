// SPDX-License-Identifier: Apache-2.0
#include "app/lessons/prompt_text.h"

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "core/error.h"
#include "io/files.h"
#include "trace/json_text.h"

namespace kvscope {

namespace {

/// What people drop most that is no text, by how it begins.
constexpr struct {
  std::string_view begins, is;
} kNoTexts[] = {{"\x89PNG", "a picture (PNG)"},
                {"\xff\xd8\xff", "a picture (JPEG)"},
                {"GIF8", "a picture (GIF)"},
                {"RIFF", "a picture or sound"},
                {"%PDF", "a PDF"},
                {"PK\x03\x04", "a packed file (ZIP)"},
                {"\x1f\x8b", "a packed file"},
                {"\177ELF", "a program"}};

/// In words; empty: it may be a text that was saved otherwise.
std::string_view kind_of(std::string_view bytes) {
  for (const auto& [begins, is] : kNoTexts)
    if (bytes.starts_with(begins)) return is;
  const bool utf16 = bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff");
  return utf16 || bytes.find('\0') == std::string_view::npos ? std::string_view() : std::string_view("a file of another kind");
}

}  // namespace

std::string read_prompt_text(const std::string& path) {
  std::error_code no_file;  // whose reading says so
  if (const std::uintmax_t bytes = std::filesystem::file_size(path, no_file); !no_file && bytes > kMostPromptBytes)
    throw Error(fmt::format("{}: expected at most {} bytes, got {}: open a part of it", path, kMostPromptBytes, bytes));
  std::string text = read_text(path, kMostPromptBytes);
  if (is_utf8(text) && text.find('\0') == std::string::npos) return text;
  if (const std::string_view kind = kind_of(text); !kind.empty())
    throw Error(path + ": expected a text, got " + std::string(kind) +
                ": a text in UTF-8, a model (a folder or GGUF), a session, a trace or a lesson can be opened");
  throw Error(path + ": expected text in UTF-8, got other bytes: save the file as UTF-8 text, or choose another one");
}

}  // namespace kvscope
