// SPDX-License-Identifier: Apache-2.0
#include "remote/address.h"

#include <algorithm>
#include <string_view>

#include "core/error.h"
#include "io/shell_line.h"

namespace kvscope::remote {

namespace {

constexpr std::string_view kHere = "exec:", kThere = "ssh:", kServe = "serve", kStdio = "--stdio";

[[noreturn]] void refuse(const std::string& text, const std::string& expected) {
  throw UsageError("--engine: expected " + expected + ", got \"" + text + "\"");
}

/// The shell there knows whose home it is.
std::string path_there(std::string_view path) {
  constexpr std::string_view kHome = "~/";
  return path.starts_with(kHome) ? std::string(kHome) + quoted_for_shell(path.substr(kHome.size())) : quoted_for_shell(path);
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

Address parse_address(const std::string& text) {
  Address out;
  if (std::ranges::any_of(text, is_control)) refuse(text, "no control characters");
  if (text.starts_with(kHere)) {
    out.path = text.substr(kHere.size());
    if (out.path.empty()) refuse(text, "the path of a kvscope-cli after exec:");
    return out;
  }
  if (!text.starts_with(kThere)) refuse(text, "here, exec:PATH or ssh:HOST[:PATH]");
  std::string rest = text.substr(kThere.size());
  // An address of IPv6 stands in brackets, which ssh does not take.
  const bool brackets = rest.starts_with('[') && rest.find(']') != std::string::npos;
  const std::size_t end = brackets ? rest.find(']') + 1 : std::min(rest.find(':'), rest.size());
  out.host = brackets ? rest.substr(1, end - 2) : rest.substr(0, end);
  if (out.host.empty()) refuse(text, "a host after ssh:");
  if (out.host.front() == '-') refuse(text, "a host that does not begin with '-' (ssh would take it for an option)");
  if (out.host.find(' ') != std::string::npos) refuse(text, "a host without spaces");
  if (end == rest.size()) return out;
  if (rest[end] != ':') refuse(text, "ssh:HOST[:PATH]");
  out.path = rest.substr(end + 1);
  if (out.path.empty()) refuse(text, "the path of a kvscope-cli after ssh:HOST:");
  return out;
}

std::string text_of(const Address& a) {
  if (a.host.empty()) return std::string(kHere) + a.path;
  const std::string host = a.host.find(':') == std::string::npos ? a.host : "[" + a.host + "]";
  return std::string(kThere) + host + (a.path == Address().path ? "" : ":" + a.path);
}

std::vector<std::string> command_of(const Address& a) {
  if (a.host.empty()) return {a.path, std::string(kServe), std::string(kStdio)};
  // A line that has gone silent ends within half a minute instead of waiting for the system's own patience.
  return {"ssh",  "-T",
          "-o",   "ServerAliveInterval=10",
          "-o",   "ServerAliveCountMax=2",
          a.host, path_there(a.path) + " " + std::string(kServe) + " " + std::string(kStdio)};
}

}  // namespace kvscope::remote
