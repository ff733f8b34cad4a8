// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "core/from_chars.h"

namespace kvscope::cli {

/// Says what is wrong with a value; empty: nothing.
using Check = std::function<std::string(std::string&)>;

inline std::string expected_got(const std::string& expected, const std::string& got) {
  return fmt::format("expected {}, got '{}'", expected, got);
}

inline Check one_of(std::vector<std::string> choices) {
  return [choices](std::string& got) -> std::string {
    if (std::find(choices.begin(), choices.end(), got) != choices.end()) return "";
    return expected_got(fmt::format("{}", fmt::join(choices, " or ")), got);
  };
}

template <class T>
Check number_in(T min, T max, std::string words) {
  return [=](std::string& got) -> std::string {
    T value{};
    const char* end = got.data() + got.size();
    const auto [stop, error] = from_chars(got.data(), end, value);
    if (error == std::errc() && stop == end && value >= min && value <= max) return "";
    const bool too_large = error == std::errc::result_out_of_range || (error == std::errc() && stop == end && value > max);
    return expected_got(too_large && words.find("..") == std::string::npos ? fmt::format("{} to {}", words, max) : words, got);
  };
}

/// `type` stands beside the option in the help; the check has no name of its own there.
template <class Option>
Option* checked(Option* option, const char* type, Check check) {
  return option->check(CLI::Validator(std::move(check), ""))->type_name(type);
}

}  // namespace kvscope::cli
