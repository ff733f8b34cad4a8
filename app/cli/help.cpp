// SPDX-License-Identifier: Apache-2.0
#include "app/cli/help.h"

#include <fmt/core.h>

#include "policy/catalog.h"

namespace kvscope::cli {

namespace {

/// A policy for the examples: the last of the catalog that has keys of its own.
std::string example_policy() {
  std::string name;
  for (const PolicyInfo& p : policies()) {
    if (!p.params.empty()) name = p.name;
  }
  return name;
}

std::string policy_list() {
  std::string text;
  for (const PolicyInfo& p : policies()) text += fmt::format("  {:<15} {}\n", p.name, p.idea);
  return text;
}

}  // namespace

std::string main_help() {
  const std::string lane = example_policy();
  return fmt::format(
      "Examples:\n"
      "  kvscope-cli info\n"
      "  kvscope-cli run --prompt \"Once upon a time\" --generate 40 --lane {0}:ratio=0.25\n"
      "  kvscope-cli trace --prompt \"Once upon a time\" --lane {0}:slots=8 --out trace.json\n"
      "\nPolicies (kvscope-cli info --policies has their keys):\n{1}"
      "\nExit status: 0 done, 1 failed, 2 unusable arguments, 130 stopped with Ctrl+C.",
      lane, policy_list());
}

std::string run_help(const std::string& command) {
  const std::string lane = example_policy();
  const std::string out = command == "trace" ? " --out trace.json" : "";
  return fmt::format(
      "A lane is NAME[:key=value[,key=value]...]; slots=N or ratio=R (of the prompt's tokens) is its budget per head, the other keys are "
      "the\n"
      "policy's own (kvscope-cli info --policies). A value with a decimal point where a count is meant is a fraction of the budget.\n"
      "\nExamples:\n"
      "  kvscope-cli {0} --prompt \"Once upon a time\" --generate 40 --lane {1}:ratio=0.25 --lane {1}:slots=12{2}\n"
      "  kvscope-cli {0} --prompt-ids 1,300,17,5 --generate 4 --precision f64 --lane {1}:slots=3{2}\n"
      "  kvscope-cli {0} --prompt-file question.txt --follow answer.txt --prompt-mode stream --lane {1}:ratio=0.5{2}",
      command, lane, out);
}

}  // namespace kvscope::cli
