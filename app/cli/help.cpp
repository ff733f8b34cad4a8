// SPDX-License-Identifier: Apache-2.0
#include "app/cli/help.h"

#include <algorithm>

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
  const auto add = [&](const PolicyInfo& p) { text += fmt::format("  {:<15} {}\n", p.name, p.idea); };
  std::ranges::for_each(policies(), add);
  add(given_policy());
  return text;
}

}  // namespace

std::string main_help() {
  const std::string lane = example_policy();
  return fmt::format(
      "Examples:\n"
      "  kvscope-cli info\n"
      "  kvscope-cli models\n"
      "  kvscope-cli run --prompt \"Once upon a time\" --generate 40 --lane {0}:ratio=0.25\n"
      "  kvscope-cli trace --prompt \"Once upon a time\" --lane {0}:slots=8 --out trace.json\n"
      "\nPolicies (kvscope-cli info --policies has their keys):\n{1}"
      "\nExit status: 0 done, 1 failed, 2 unusable arguments, 130 stopped with Ctrl+C.",
      lane, policy_list());
}

std::string run_help(const std::string& command) {
  const std::string lane = example_policy();
  const std::string out = command == "trace" ? " --out trace.json" : command == "share" ? " --out run.html" : "";
  return fmt::format(
      "A run is given as NAME[:key=value[,key=value]...]; slots=N, ratio=R (of the prompt's tokens) or bytes=R (of their keys' and values') is its budget per head, the other keys are "
      "the\n"
      "policy's own (kvscope-cli info --policies). A value with a decimal point where a count is meant is a fraction of the budget.\n"
      "Keys that only the merge of one head reads may be given for a head or a layer: threshold[L2H1]=0.6, threshold[L2]=0.6.\n"
      "\nEdits by hand follow the run in its own text, each after an '@', or come as options: --budget changes a run, --what-if adds a "
      "fork of\n"
      "it beside it. An edit has one of pin=, evict=, merge= (with into=), restore= (token positions, 17,20-23) and step=N, after whose own\n"
      "compression it is done (pin: it holds from then on; without step from the start); or slots=N or factor=X of the allocated budget.\n"
      "layers= and heads= (KV heads) choose where; without them everywhere. Pins and restored tokens may exceed the budget.\n"
      "  --lane {1}:slots=12@slots=20,layers=0@evict=7,step=1     the run with both edits\n"
      "  --lane {1}:slots=12 --what-if evict=7,step=1             the run, and beside it the same with the token evicted\n"
      "\nExamples:\n"
      "  kvscope-cli {0} --prompt \"Once upon a time\" --generate 40 --lane {1}:ratio=0.25 --lane {1}:slots=12{2}\n"
      "  kvscope-cli {0} --prompt-ids 1,300,17,5 --generate 4 --precision f64 --lane {1}:slots=3{2}\n"
      "  kvscope-cli {0} --prompt-file question.txt --follow answer.txt --prompt-mode stream --lane {1}:ratio=0.5{2}",
      command, lane, out);
}

std::string evaluation_help(const std::string& command) {
  const std::string lane = example_policy();
  if (command == "sweep")
    return fmt::format(
        "Every policy runs at every ratio, alone beside the full cache, which comes first. Figures are means over the steps after the\n"
        "prompt (over all steps with --prompt-mode stream); tokens_per_s is the run's own speed, bytes are allocated, kv_bytes used.\n"
        "slots is the mean at the end: a policy that compresses once has the generated tokens beside its budget, one that compresses in\n"
        "every step has not, so rows of one ratio need not be of one memory.\n"
        "With --texts or --seeds a row is a band: mean, lowest and highest over texts and seeds; better and worse count the items in which the\n"
        "run is ahead of, or behind, the first policy at the same ratio: by its score, else by its KL;\n"
        "where all seeds of both gave the same, each text counts once. score is the share of the answers that\n"
        "stand in what the run wrote, in upper or lower case; of tasks that begin with qa, 1 where one does. The context is compressed before\n"
        "question and prefix are read. kept in heads (answer_heads with --json): of the KV heads and texts those in which every token of the\n"
        "answer still had a slot of its own after that, where each answer stands once in its context.\n"
        "With --store every finished run is kept, so that a sweep which was killed goes on. Several programs may fill one store: --shard in the\n"
        "jobs of an array, --mpi in the ranks of one job; once everything is there, the same command prints the result.\n"
        "With --hidden-numbers the texts are those of kvscope-cli needle, asked after their prompt was compressed; the seeds of the texts go up\n"
        "from --seed.\n"
        "\nExamples:\n"
        "  kvscope-cli sweep --prompt \"Once upon a time there was a king\" --policies {0} --ratios 0.3,0.6\n"
        "  kvscope-cli sweep --prompt-file text.txt --policies {0},{0}:sinks=8 --ratios 0.1,0.2,0.4 --out sweep.csv\n"
        "  kvscope-cli sweep --texts ruler.jsonl --policies {0} --ratios 0.1,0.2 --store sweep --shard 3/8 --table\n"
        "  kvscope-cli sweep --hidden-numbers --context 256 --depths 0,0.5,1 --samples 8 --policies {0} --ratios 0.1,0.2 --table",
        lane);
  if (command == "needle")
    return fmt::format(
        "A house number is hidden in prose at a relative depth, and asked for. A sample counts if every token of the answer is the run's most\n"
        "likely one. --question after is the honest setting: the context is compressed first, question and answer are fed token by token.\n"
        "With in-prompt the selection sees the question, and the first token of the answer comes from the uncompressed prefill.\n"
        "\nExamples:\n"
        "  kvscope-cli needle --context 128 --depths 0.5 --samples 1 --lane {0}:ratio=0.5\n"
        "  kvscope-cli needle --question in-prompt --samples 20 --context 512,1024 --lane {0}:ratio=0.2 --json",
        lane);
  return fmt::format(
      "The text is read in windows. Of each, all but the last --stride tokens are the prompt, which is compressed; then the rest is fed token by\n"
      "token, whatever the run would have said. nll is the mean -ln p of these tokens in nats, ppl its exponential.\n"
      "Every window begins with the model's start token. The first token that counts is said by the prompt's own, uncompressed step; what\n"
      "is left of the text after the last whole window is not read.\n"
      "\nExamples:\n"
      "  kvscope-cli ppl --tokens 300 --window 128 --stride 64 --lane {0}:ratio=0.5\n"
      "  kvscope-cli ppl --text novel.txt --window 1024 --stride 512 --lane {0}:ratio=0.2 --json",
      lane);
}

std::string heads_help() {
  return "A number is hidden in prose and asked for at the end. retrieval: how much attention the query before each token of the answer pays to\n"
         "that token in the hidden fact, per query head. distant: how much attention falls outside the first and the newest tokens, mean over all\n"
         "queries and the query heads of a KV head. Both with the full cache, means over all texts.\n"
         "\nExamples:\n"
         "  kvscope-cli heads\n"
         "  kvscope-cli heads --model FOLDER --out-retrieval FOLDER/retrieval_heads.json --out-distant FOLDER/distant_heads.json\n"
         "  kvscope-cli heads --depths 0.5 --samples 20 --context 500 --text novel.txt --json";
}

std::string models_help() {
  return "Looks where other programs keep models: the cache of Hugging Face (HF_HUB_CACHE, HF_HOME), Ollama (OLLAMA_MODELS), LM Studio, llama.cpp\n"
         "(LLAMA_CACHE), and in every --dir. Nothing is loaded: configuration, tokenizer and headers of the weights decide whether a model opens,\n"
         "and what does not says why. The path below a model is what --model takes.\n"
         "\nExamples:\n"
         "  kvscope-cli models\n"
         "  kvscope-cli models --dir ~/models --dir /data/checkpoints --json";
}

std::string serve_help() {
  return "The window starts this itself, through ssh or beside it, and both must be of the same version. It opens no port and ends with its\n"
         "input. Models are folders of the machine on which it runs.\n"
         "\nExamples:\n"
         "  kvscope --engine ssh:gpu-box --model /data/models/MODEL\n"
         "  kvscope --engine ssh:me@gpu-box:~/kvscope/bin/kvscope-cli\n"
         "  kvscope --engine exec:/opt/kvscope/bin/kvscope-cli";
}

std::string bench_help() {
  const std::string lane = example_policy();
  return fmt::format(
      "decode is a step of the full cache alone, held against the bytes per second of a copy inside the same memory; reading is the\n"
      "prompt without runs, then with every kind of sum over its attention; prefill and run go the way of kvscope-cli run, first with the\n"
      "full cache, then with all runs. Reading and prefill are held against the rate of large matrix products.\n"
      "Both limits are measured in the same run. Weights of a shape are made in place, in bf16 (f16 with --precision f16)\n"
      "or as --weights says. Weights of files are named as the backend has them: types that a CUDA device does not keep are decoded there.\n"
      "The CPU computes in f32 (default) or f64 with weights of any type; f16 and bf16 as --precision are for cuda.\n"
      "\nExamples:\n"
      "  kvscope-cli bench --shape kvmini --context 128\n"
      "  kvscope-cli bench --shape llama2-7b --device cuda --precision bf16 --lane {0}:ratio=0.2\n"
      "  kvscope-cli bench --shape llama2-7b --device cuda --precision bf16 --weights Q4_K\n"
      "  kvscope-cli bench --model FOLDER --context 1024 --batch 8 --json",
      lane);
}

}  // namespace kvscope::cli
