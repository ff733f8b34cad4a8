// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/policy_row.h"

namespace kvscope {

// Keys as the parser checks them, which the rows of several families have.

ParamInfo share_or_count(std::string key, std::string default_text, std::string help, int min = 0, int max = 100'000'000);
/// The first choice is the default.
ParamInfo choice(std::string key, std::vector<std::string> choices, std::string help);
ParamInfo number(std::string key, std::string default_text, double min, double max, std::string help);
ParamInfo sinks(std::string default_text);
ParamInfo recent(std::string default_text);
ParamInfo window(std::string default_text, std::string help, int min);
/// How a share of the budget is every head's where heads compete for it.
ParamInfo safeguard();
ParamInfo pyramid_split();
/// What the share that the first of two stages chooses is taken of.
ParamInfo first_of();
/// The last tokens of the prompt, which are its question.
ParamInfo question();
/// Width and kind of a pooling over neighbouring tokens.
ParamInfo kernel();
ParamInfo pool();
/// Whether a small budget observes fewer queries.
ParamInfo whole_window();
/// Over how many slots a value is spread.
ParamInfo spread_width();
/// Of Gaussian weights.
ParamInfo gauss_width();
/// Name of a file.
/// of_model: in the model's folder, the default. without: the value that needs no file, where there is one.
ParamInfo file(std::string key, std::string of_model, std::string without, std::string help);
/// Of one without which there is no run: what it holds, and where it comes from.
ParamInfo needed_file(std::string key, std::string of_model, std::string help, FileHolds holds, std::string source);
/// The files that say which heads look back: scores of HeadKV, heads of DuoAttention.
ParamInfo retrieval_file();
ParamInfo duo_file();
/// The feature maps of the KV heads.
ParamInfo maps_file();
/// Scores of DuoAttention that are measured instead.
ParamInfo fly();
/// The directions of Q-Filters.
ParamInfo filter_file();
/// Seed of drawn numbers; without a default: the run's.
ParamInfo seed();
/// Of policies that compress whenever so many tokens have come.
ParamInfo every();
/// Of policies that rebuild their cache from the uncompressed history.
ParamInfo reload();
/// Key group of rows that count hits (POLICIES.md section 8).
ParamInfo group_of_hits();
/// Of policies that compress once, after the prompt.
ParamInfo refresh();

inline constexpr std::string_view kEvicted = "none: removed tokens are evicted";

}  // namespace kvscope
