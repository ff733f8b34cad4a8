// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/keys.h"

namespace kvscope {

using Kind = ParamInfo::Kind;

ParamInfo share_or_count(std::string key, std::string default_text, std::string help, int min, int max) {
  return {.key = std::move(key),
          .kind = Kind::count_or_fraction,
          .default_text = std::move(default_text),
          .min = 1.0 * min,
          .max = 1.0 * max,
          .help = std::move(help)};
}
ParamInfo choice(std::string key, std::vector<std::string> choices, std::string help) {
  std::string first = choices.front();
  return {.key = std::move(key),
          .kind = Kind::choice,
          .default_text = std::move(first),
          .choices = std::move(choices),
          .help = std::move(help)};
}
ParamInfo number(std::string key, std::string default_text, double min, double max, std::string help) {
  return {.key = std::move(key),
          .kind = Kind::number,
          .default_text = std::move(default_text),
          .min = min,
          .max = max,
          .help = std::move(help)};
}
ParamInfo sinks(std::string default_text) {
  return share_or_count("sinks", std::move(default_text),
                        "first tokens of the text that are never removed (slots; 0.1 = a tenth of the budget)");
}
ParamInfo recent(std::string default_text) {
  return share_or_count("recent", std::move(default_text), "newest slots that are never removed (slots; 0.5 = half of the budget)");
}
ParamInfo window(std::string default_text, std::string help, int min) {
  return share_or_count("window", std::move(default_text), std::move(help), min, 65536);
}
ParamInfo safeguard() {
  ParamInfo key = choice("safeguard", {"floor", "blend"}, "what the share that every head is sure of does");
  key.described = {{"floor", "no head falls below it, then the joint ranking cuts once (AdaKV in kvpress)"},
                   {"blend", "it is split evenly, the rest by the joint ranking (the authors' code)"}};
  return key;
}
ParamInfo pyramid_split() {
  ParamInfo key = choice("split", {"beside", "all"}, "what falls with the layer");
  key.described = {{"beside", "the slots beside the observed window, and their sum holds (the authors' code)"},
                   {"all", "all slots, each layer's rounded by itself; equal where a layer would have less than the window (kvpress)"}};
  return key;
}
ParamInfo first_of() {
  ParamInfo key = choice("first_of", {"free", "all"}, "of which slots the first stage chooses its share");
  key.described = {{"free", "of those that are not protected"}, {"all", "of all, the protected ones first (kvpress)"}};
  return key;
}
ParamInfo question() {
  ParamInfo out =
      window("32", "tokens of the question: the last ones of the prompt, which are kept (at most the budget without one slot)", 1);
  out.of_question = true;
  return out;
}
ParamInfo kernel() {
  return {.key = "kernel",
          .kind = Kind::count,
          .default_text = "7",
          .min = 1,
          .max = 4095,
          .odd = true,
          .help = "width of the pooling over neighbouring tokens (odd)"};
}
ParamInfo pool() {
  ParamInfo key = choice("pool", {"max", "avg", "padded"}, "pooling over neighbouring tokens; max makes plateaus of equal scores");
  key.described = {{"padded", "the average as if zeros stood beyond the ends (kvpress)"}};
  return key;
}
ParamInfo whole_window() {
  ParamInfo key =
      choice("whole_window", {"0", "1"}, "whether as many queries are observed as the window says, however few slots there are");
  key.described = {{"0", "at most half as many as there are slots"},
                   {"1", "all of them; of their tokens the newest stay, as many as have room (kvpress)"}};
  return key;
}
ParamInfo spread_width() {
  return {.key = "m",
          .kind = Kind::count,
          .default_text = "32",
          .min = 1,
          .max = 65536,
          .help = "kept tokens after it that share the value (at most)"};
}
ParamInfo gauss_width() {
  return {.key = "sigma",
          .kind = Kind::text,
          .default_text = "mean",
          .min = 0,
          .max = 1e9,
          .choices = {"mean", "eq7"},
          .help = "width of the Gaussian: mean distance to the pivot, the paper's Eq. 7, or a number"};
}
ParamInfo file(std::string key, std::string of_model, std::string without, std::string help) {
  return {.key = std::move(key),
          .kind = Kind::text,
          .default_text = std::string(kOfModel),
          .help = std::move(help),
          .file_of_model = std::move(of_model),
          .file_source = "kvscope-cli heads makes one, or name another file",
          .without_file = std::move(without)};
}
ParamInfo needed_file(std::string key, std::string of_model, std::string help, FileHolds holds, std::string source) {
  ParamInfo out = file(std::move(key), std::move(of_model), "", std::move(help));
  out.file_holds = holds;
  out.file_source = std::move(source);
  return out;
}
ParamInfo refresh() {
  return {.key = "refresh",
          .kind = Kind::count,
          .min = 0,
          .max = 100'000'000,
          .help = "compress again when this many tokens are over the budget (0: only after the prompt; stream mode: 1)"};
}
ParamInfo every() {
  return {.key = "every",
          .kind = Kind::count,
          .default_text = "128",
          .min = 1,
          .max = 100'000'000,
          .help = "tokens from one compression to the next, counted from the prompt; stream mode: from the first token"};
}
ParamInfo reload() {
  return {.key = "reload",
          .kind = Kind::count,
          .default_text = "0",
          .min = 0,
          .max = 100'000'000,
          .help = "every so many steps the cache is rebuilt from the uncompressed history and compressed again (0: never)"};
}
ParamInfo group_of_hits() {
  ParamInfo group = choice("group", {"mean"}, "how the query heads that share a KV head become one attention row: their mean");
  group.why = "a hit is a share of at least 1/n, which only the mean of the query heads can be held against; leave the key out";
  return group;
}
ParamInfo seed() {
  return {.key = "seed", .kind = Kind::count, .min = 0, .max = 2'147'483'647, .help = "seed of the random draws (default: the run's)"};
}

ParamInfo retrieval_file() {
  return file("scores", "retrieval_heads.json", "",
              "importance of the query heads: JSON file [layers][heads] or {\"layer-head\": [numbers]}; model: retrieval_heads.json in the "
              "model's folder");
}
ParamInfo filter_file() {
  return needed_file("file", "q_filters.safetensors",
                     "directions of the KV heads: safetensors with the tensor q_filters [layers, KV heads, head_dim]; model: "
                     "q_filters.safetensors in the model's folder",
                     FileHolds::vectors, "the authors publish them for some models: put it there, or name another file");
}
ParamInfo maps_file() {
  return needed_file("maps", "less_maps.safetensors",
                     "feature maps of the KV heads: safetensors, trained for the model (assets/models/kvmini/train/less.py); model: "
                     "less_maps.safetensors in the model's folder",
                     FileHolds::maps,
                     "its feature maps are trained for one model, and without them it would be another method under its name; "
                     "assets/models/kvmini/train/less.py MODEL TOKENS trains them, or name another file");
}
ParamInfo duo_file() {
  return file(
      "heads", "distant_heads.json", "auto",
      "scores of the KV heads: JSON file [layers][KV heads]; auto: attention of the prompt (prefill); model: distant_heads.json in the "
      "model's folder, else what assets/heads has for it, else auto");
}
ParamInfo fly() {
  return choice(
      "fly", {"0", "1"},
      "1: scores from the mean query and key of every head in the prompt (prefill), whatever file the model has; as kvpress does on "
      "the fly");
}

}  // namespace kvscope
