// SPDX-License-Identifier: Apache-2.0
#include "remote/bytes.h"

#include <fmt/core.h>

#include "core/error.h"

namespace kvscope::remote {

void Writer::whole(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
  bytes_ += static_cast<char>(value);
}

void Writer::put(const std::string& text) {
  whole(text.size());
  bytes_ += text;
}

void Reader::refuse(const char* expected, std::uint64_t got) {
  throw Error(fmt::format("a message of the engine elsewhere is damaged: expected {}, got {}", expected, got));
}

void Reader::raw(void* data, std::size_t n) {
  if (n > rest_.size()) refuse("more bytes than are left of it", rest_.size());
  if (n > 0) std::memcpy(data, rest_.data(), n);
  rest_.remove_prefix(n);
}

std::uint64_t Reader::whole() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) refuse("more bytes than are left of it", 0);
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  refuse("a number of at most 10 bytes", 11);
}

int Reader::index(int end) {
  const std::uint64_t got = whole();
  if (got >= static_cast<std::uint64_t>(end)) refuse("a smaller number", got);
  return static_cast<int>(got);
}

std::size_t Reader::length(std::size_t size_of_one) {
  const std::uint64_t n = whole();
  if (n > rest_.size()) refuse("a list that fits into it", n);
  fill(n, size_of_one);
  return static_cast<std::size_t>(n);
}

void Reader::get(std::string& text) {
  text.resize(length(1));
  raw(text.data(), text.size());
}

void Reader::fill(std::uint64_t n, std::size_t size_of_one) {
  if (n > (most_ - filled_) / size_of_one)
    throw Error(
        fmt::format("a message of the engine elsewhere would fill more memory than recorded results may: expected at most {}; "
                    "--memory gives them more",
                    most_));
  filled_ += static_cast<std::size_t>(n) * size_of_one;
}

}  // namespace kvscope::remote
