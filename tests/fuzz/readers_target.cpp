// SPDX-License-Identifier: Apache-2.0
#include "fuzz/readers_target.h"

#include <filesystem>

#include "arch/head_characters_file.h"
#include "arch/model_files.h"
#include "io/files.h"
#include "io/head_table_file.h"
#include "io/kept_file_reader.h"
#include "io/temp_folder.h"
#include "paths.h"
#include "policy/catalog.h"
#include "tokenizer/chat_template.h"

namespace kvscope::testing {
namespace {

/// Readers take paths.
std::string file_of(const char* name, const std::string& bytes) {
  static const test::TempFolder folder;
  return folder.write(name, bytes);
}

std::string tiny(const char* name) { return read_text(in_checkout("tests/golden/tiny-gqa/") + name); }

/// A folder of the tiny model in which one file is another one.
void open_with(const char* name, const std::string& bytes, const char* weights) {
  const test::TempFolder folder;
  std::filesystem::create_symlink(in_checkout("tests/golden/tiny-gqa/model.safetensors"), folder / weights);
  std::filesystem::create_symlink(in_checkout("tests/golden/tiny-gqa/config.json"), folder / "config.json");
  std::filesystem::remove(folder / name);
  folder.write(name, bytes);
  check_model(folder.path());
}

std::string index_of_tiny() {
  const TensorFile file = TensorFile::open(in_checkout("tests/golden/tiny-gqa/model.safetensors"));
  std::string map;
  for (const auto& [name, tensor] : file.tensors()) map += (map.empty() ? "\"" : ",\"") + name + "\":\"a.safetensors\"";
  return "{\"metadata\":{\"total_size\":1},\"weight_map\":{" + map + "}}";
}

const char* const kKept = R"({"schema":"kvscope.kept/1","model":{"name":"m","n_layers":1,"n_kv_heads":2},"tokens":[1,5,2,9],"n_prompt":3,
  "runs":[{"name":"mine","ratio":0.5,"steps":[{"step":0,"kept":[[[2,0],[1]]],"scores":[[[0.25,null],[3]]],"merged":[[[[1,2]],[]]]},
  {"step":1,"kept":[[[0,2,3],[]]]}]}]})";

}  // namespace

const std::vector<Reader>& readers() {
  using Texts = std::vector<std::string>;
  static const std::vector<Reader> all = {
      {"config.json", [] { return Texts{tiny("config.json")}; },
       [](const std::string& bytes) { open_with("config.json", bytes, "model.safetensors"); }},
      {"model.safetensors.index.json", [] { return Texts{index_of_tiny()}; },
       [](const std::string& bytes) { open_with("model.safetensors.index.json", bytes, "a.safetensors"); }},
      {"heads.json", [] { return Texts{read_text(in_checkout("assets/models/kvmini/heads.json"))}; },
       [](const std::string& bytes) {
         static const ModelConfig config = check_model(in_checkout("assets/models/kvmini")).config;
         read_head_characters(file_of("heads.json", bytes), config);
       }},
      {"head table",
       [] {
         return Texts{tiny("duo.json"), tiny("headkv.json"), read_text(in_checkout("assets/models/kvmini/retrieval_heads.json"))};
       },
       [](const std::string& bytes) { read_head_table(file_of("table.json", bytes)); }},
      {"kept tokens", [] { return Texts{kKept}; }, [](const std::string& bytes) { read_kept_file(file_of("kept.json", bytes)); }},
      {"run",
       [] {
         return Texts{"h2o:slots=4", "keepkv:ratio=0.5@evict=3,step=2", "streaming:slots=12,sinks=2@slots=20,layers=0-1",
                      "custom:score=sum / age,slots=8"};
       },
       [](const std::string& bytes) { parse_lane_specs({bytes}); }},
      {"chat template",
       [] {
         return Texts{"{% for m in messages %}{{ m['role'] }}: {{ m['content'] | trim }}{% endfor %}",
                      "{%- if messages[0]['role'] == 'system' %}{{ messages[0].content }}{% endif %}{{ bos_token }}"};
       },
       [](const std::string& bytes) {
         (void)ChatTemplate(bytes, "input", "<s>", "</s>").render({{"user", "hello"}}, true);
       }}};
  return all;
}

}  // namespace kvscope::testing
