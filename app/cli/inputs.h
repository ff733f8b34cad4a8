// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/cli/arguments.h"
#include "app/cli/session_input.h"
#include "arch/model_files.h"
#include "runtime/session/run_request.h"

namespace kvscope::cli {

/// Folder of the embedded model: beside the installed program (../share/kvscope/models/kvmini) or in the source tree.
std::string embedded_model();

inline constexpr int kDefaultGenerate = 32;  // tokens after the prompt of `run` and `sweep`
inline constexpr std::size_t kMaxProseBytes = std::size_t(64) << 20;
inline constexpr std::size_t kMaxTokensBytes = std::size_t(16) << 20;  // of a text whose tokens are listed, as of a prompt in the window
inline constexpr std::size_t kMaxWholeBytes = std::size_t(4) << 20;    // the same where the tokenizer takes it as a whole
/// File with a page of prose that the embedded model was not trained on, and one with the beginning of a novel.
std::string embedded_prose();
std::string embedded_novel();

/// Throws Error where a file's text is none in UTF-8, or has a zero: which byte, where. What a tokenizer would make of it is another text.
void expect_utf8(std::string_view text, const std::string& path);
/// The same of a text that was given on the command line. Throws UsageError.
void expect_utf8_given(std::string_view text, const std::string& option);
/// A text in UTF-8 of a file or a pipe. Throws Error.
std::string read_text_in_utf8(const std::string& path, std::size_t max_bytes);

/// Token ids of a text as a prompt has them, BOS first where the model has one.
std::vector<int> encode(const ModelFiles& model, const std::string& text);

/// So many ids are those of the beginning: where a text goes on, a token may reach over the border.
std::size_t common_prefix(const std::vector<int>& whole, const std::vector<int>& beginning);

/// What a user says as the chat template of a model folder writes it.
struct ChatInput {
  std::string text;
  std::vector<TextRange> typed;  // what a person wrote of it; none where names of special tokens are tokens everywhere
  std::string arguments;         // that the template was given, an object of JSON
};
/// Throws UsageError where there is no template, or an argument cannot be read.
ChatInput as_chat(const Arguments& arguments, const std::string& folder, const std::string& text);

/// Folder or file of the model that --model names, else of the session's, else of the embedded one. `session`: what --session holds.
std::string named_model(const Arguments& arguments, const SessionInput& session);
/// The same, read from the session. Throws Error: also where it holds results of another model (check_same_model).
std::string model_of(const Arguments& arguments);
/// The same, opened. Throws Error.
ModelFiles open_model_of(const Arguments& arguments);

/// Token ids of "1,300,17". Throws UsageError naming the first part that is no id in [0, vocab_size).
std::vector<int> parse_ids(const std::string& text, int vocab_size);

/// Token ids of a JSON file: a list, or an object with the list under "tokens". Throws UsageError, or Error if it cannot be read.
std::vector<int> read_ids(const std::string& path, int vocab_size);

/// A line on stderr where runs of a file of kept tokens merged some.
void say_merges_are_not_repeated(const std::string& path, const std::vector<std::string>& merging);

/// What the session is asked for. n_question: tokens of --question at the end of the prompt. Throws Error or UsageError.
RunRequest make_request(const Arguments& arguments, const ModelFiles& model, int* n_question = nullptr);

}  // namespace kvscope::cli
