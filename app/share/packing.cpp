// SPDX-License-Identifier: Apache-2.0
#include "app/share/packing.h"

#include <algorithm>
#include <cstdint>

#include <fmt/core.h>
#include <zlib.h>

#include "core/error.h"

namespace kvscope::share {

namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr int kLevel = 6;                 // above it eight times the time for some percent less
constexpr std::size_t kMostRatio = 1032;  // deflate cannot do better: some hundred bytes must not become a gigabyte

}  // namespace

std::string deflated(std::string_view bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), kLevel) != Z_OK)
    throw Error(fmt::format("page: too little memory to compress {} bytes", bytes.size()));
  out.resize(size);
  return out;
}

std::string inflated(std::string_view packed, std::size_t n_bytes, const std::string& name) {
  const auto refuse = [&] {
    return Error(fmt::format("{}: expected {} compressed bytes to become {}, got something else; the file is damaged, copy it again", name,
                             packed.size(), n_bytes));
  };
  if (n_bytes / kMostRatio > packed.size()) throw refuse();
  std::string out(n_bytes, '\0');
  uLongf size = out.size();
  const int status = uncompress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(packed.data()), packed.size());
  if (status != Z_OK || size != n_bytes) throw refuse();
  return out;
}

std::string base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k) three = three << 8 | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += k <= n ? kDigits[three >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::string from_base64(std::string_view text, const std::string& name) {
  const auto refuse = [&name] {
    return Error(fmt::format("{}: expected base64, got something else; the file is damaged, copy it again", name));
  };
  if (text.size() % 4 != 0) throw refuse();
  std::size_t n_filled = 0;
  while (n_filled < 2 && n_filled < text.size() && text[text.size() - 1 - n_filled] == '=') ++n_filled;
  text.remove_suffix(n_filled);
  std::string out;
  out.reserve(text.size() / 4 * 3 + 3);
  std::uint32_t bits = 0;
  int n_bits = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) throw refuse();
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    n_bits += 6;
    if (n_bits < 8) continue;
    n_bits -= 8;
    out += static_cast<char>(bits >> n_bits & 255);
  }
  return out;
}

}  // namespace kvscope::share
