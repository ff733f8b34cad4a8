// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace kvscope::cli {

/// Text under the options of `kvscope-cli --help`: examples, policies of this build, exit status.
std::string main_help();
/// Text under the options of `kvscope-cli run|trace --help`: how a lane is written, examples.
std::string run_help(const std::string& command);
/// Text under the options of `kvscope-cli sweep|needle|ppl --help`: what is measured, examples.
std::string evaluation_help(const std::string& command);
/// Text under the options of `kvscope-cli heads --help`: what is measured, examples.
std::string heads_help();
/// Text under the options of `kvscope-cli bench --help`: what is measured, examples.
std::string bench_help();
std::string models_help();
/// Text under the options of `kvscope-cli serve --help`: who starts it.
std::string serve_help();

}  // namespace kvscope::cli
