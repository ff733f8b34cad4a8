// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace kvscope::remote {

/// Where an engine runs that is not in this process.
struct Address {
  std::string host;                  // as ssh takes it; empty: this machine
  std::string path = "kvscope-cli";  // the program there
  bool operator==(const Address&) const = default;
};

/// "exec:PATH" or "ssh:HOST[:PATH]". Throws UsageError (what was expected): another word, a host that ssh would take for an option, an
/// empty path.
Address parse_address(const std::string& text);
/// The same as text.
std::string text_of(const Address& address);
/// The program to start and its arguments. What a shell there would read otherwise is quoted; "~/" stays what it means.
std::vector<std::string> command_of(const Address& address);

}  // namespace kvscope::remote
