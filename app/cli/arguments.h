// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "runtime/session/run_request.h"

namespace kvscope::cli {

enum class Command { nothing, info, run, trace, sweep, needle, ppl, heads, bench, tokens, models, share, serve };

/// What the command line says, checked as far as that is possible without files.
struct Arguments {
  Command command = Command::nothing;
  std::string message;             // nothing: what was asked for (help, version)
  std::vector<std::string> words;  // as they were given, the program's name before them
  std::vector<std::string> given;  // names of the options among them

  std::string model;            // folder; empty: the embedded model
  std::string device = "auto";  // auto | cpu | cuda
  DType precision = DType::f32;
  int threads = 0;          // 0: one per core
  bool ignore_eos = false;  // run, trace: go on after a token that ends the text
  int logits = 5;           // trace: so many of the highest of every step
  std::size_t memory = 0;   // run, trace: bytes of recorded results; 0: a quarter of the machine's
  bool json = false;
  bool quiet = false;

  bool list_policies = false;  // info
  bool stdio = false;          // serve

  std::vector<std::string> folders;  // models: where to look besides the usual places

  // run, trace; exactly one of the six
  std::optional<std::string> prompt, prompt_file, prompt_ids, tokens_file;
  bool trust_files = false;            // with a session: files that its runs name may lie anywhere
  std::optional<std::string> session;  // file of the window: prompt, lanes, modes, seed; --model and --generate come before what it says
  std::optional<std::string> kept;     // file of kept tokens: its prompt, what it read then, and its runs beside those of --lane
  std::string question;                // behind the prompt
  bool no_start = false;               // no start token is put before the prompt
  bool special_names = false;          // in the text of the prompt are the tokens, not text; tokens too
  bool chat = false;                   // the prompt is what the user says, written as the model's chat template wants
  std::optional<std::string> system;   // with it: the system's message
  std::vector<std::string> chat_args;  // with it: NAME=VALUE, what else the template asks for
  std::optional<int> generate;
  std::vector<std::string> lane_texts;  // as --lane gives them
  std::vector<LaneSpec> lanes;          // with what --budget and --what-if add
  PromptMode prompt_mode = PromptMode::prefill;
  Follow follow = Follow::reference;
  std::string follow_file;  // follow == file; empty: what the file of kept tokens has after its prompt
  double temperature = 0;
  std::uint64_t seed = 0;
  Detail detail = Detail::slots;       // trace
  std::string out;                     // trace; empty or "-": stdout
  std::string out_kept;                // trace: which tokens the runs kept; empty: nowhere
  std::string scenes;                  // share: a lesson that leads through the page; empty: none
  std::optional<std::string> results;  // run, share: a trace or a session with results, instead of a prompt; out as above

  // sweep; prompt, follow, generate, seed and out as above
  std::vector<std::string> policies;
  std::vector<double> ratios, bytes;                // one of them
  std::string texts;                                // file of texts with questions, instead of a prompt
  bool hidden_numbers = false;                      // texts in which a number is hidden, instead: contexts, depths, samples, text as below
  int seeds = 1;                                    // so many, from `seed` on
  std::string store;                                // folder of finished items; empty: none
  std::pair<std::size_t, std::size_t> shard{1, 1};  // which part of how many
  bool mpi = false;                                 // this is a process of an MPI job
  bool table = false;

  // needle; lanes, prompt_mode, text, depths, samples, seed as above and below
  std::vector<int> contexts = {256, 512, 1024};  // tokens of the prompt
  bool question_in_prompt = false;

  // ppl; lanes, prompt_mode, text, seed as above and below
  int window = 0, stride = 0;  // 0: as the model allows
  int tokens = 0;              // of the text at most; 0: all

  // bench; lanes as above
  std::string out_texts;         // needle, heads: where the texts go that were asked; empty: nowhere
  std::string shape;             // of a published model, with synthetic weights; empty: --model
  std::optional<DType> weights;  // of the shape; nothing: bf16, or f16 where that is computed in
  std::vector<int> cache_sizes;  // tokens; empty: 128, 4096 and 32768 as far as the model goes
  int batch = 1;

  // heads; seed as above
  std::string out_retrieval, out_distant, out_characters;  // files to write; empty: none
  std::string text;                                        // file with prose; empty: the embedded one
  int context = 256;                                       // tokens of prose around the fact
  std::vector<double> depths = {0, 0.25, 0.5, 0.75, 1};
  int samples = 4;  // per depth
  int sinks = 4, recent = 64;
};

/// Throws UsageError (what, where, expected, got).
Arguments parse_arguments(int argc, const char* const* argv);

}  // namespace kvscope::cli
