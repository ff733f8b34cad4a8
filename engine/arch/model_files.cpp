// SPDX-License-Identifier: Apache-2.0
#include "arch/model_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <functional>

#include "arch/chat_files.h"
#include "arch/family.h"
#include "arch/gguf_source.h"
#include "arch/gguf_tokenizer.h"
#include "arch/head_characters_file.h"
#include "arch/model_parts.h"
#include "arch/weights.h"
#include "core/error.h"
#include "core/from_chars.h"
#include "io/files.h"
#include "io/json_cursor.h"
#include "io/json_document.h"

namespace kvscope {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxConfigBytes = 4u << 20;
constexpr std::size_t kMaxTokensBytes = 16u << 20, kMaxTokenBytes = 4096;
constexpr int kMaxTokenId = (1 << 20) - 1;

std::size_t bytes_of_weights(const ModelFiles& model) {
  std::size_t bytes = model.embedding.bytes.size() + model.final_norm.bytes.size();
  if (!model.config.tied_embeddings) bytes += model.lm_head.bytes.size();
  for (const LayerTensors& layer : model.layers) layer.for_each([&](const TensorView& t) { bytes += t.bytes.size(); });
  return bytes;
}

void take_tokenizer(ModelFiles& model, const TokenizerFile& file) {
  model.has_tokenizer = file.tokenizer != nullptr;
  if (!model.has_tokenizer) {
    model.tokenizer = ids_only_tokenizer(model.config.vocab_size);
    return;
  }
  model.tokenizer = file.tokenizer;
  model.tokenizer_file = fs::path(file.path).filename().string();
  if (model.tokenizer->vocab_size() > model.config.vocab_size) {
    throw Error(fmt::format("{}: expected at most vocab_size = {} pieces, got {}; is this tokenizer for another model?", file.path,
                            model.config.vocab_size, model.tokenizer->vocab_size()));
  }
  model.config.bos_id = model.tokenizer->first_id().value_or(model.config.bos_id);
}

/// One id or a list of them under eos_token_id; without the key nothing.
std::vector<int> read_end_ids(const JsonCursor& json, int vocab_size) {
  if (!json.is_object() || !json.given("eos_token_id")) return {};
  const JsonCursor ids = json.at("eos_token_id");
  return ids.is_array() ? ids.wholes(0, vocab_size - 1) : std::vector<int>{ids.whole(0, vocab_size - 1)};
}

void read_ends(ModelFiles& model, const JsonDocument& config) {
  const std::string path = in_folder(model.folder, "generation_config.json");
  std::error_code ignored;
  if (fs::exists(path, ignored)) {
    const JsonDocument generation = JsonDocument::read(path, {.bytes = kMaxConfigBytes, .values = kJsonLimits.values});
    model.end_ids = read_end_ids(JsonCursor(generation), model.config.vocab_size);
  }
  const JsonCursor whole(config);
  if (model.end_ids.empty()) model.end_ids = read_end_ids(whole, model.config.vocab_size);
  if (model.end_ids.empty() && whole.given("text_config"))  // of a multimodal model
    model.end_ids = read_end_ids(whole.at("text_config"), model.config.vocab_size);
}

void open_characters(ModelFiles& model) {
  const std::string path = in_folder(model.folder, "heads.json");
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return;
  try {
    model.characters = std::make_shared<const HeadCharacters>(read_head_characters(path, model.config));
  } catch (const Error& error) {
    model.characters_problem = error.what();
  }
}

/// What a config.json says, with the weights and the tokenizer that are opened when it is known what they must be.
ModelFiles model_of(const std::string& path, const JsonDocument& json, const std::function<Weights()>& open_weights,
                    const std::function<TokenizerFile()>& open_tokenizer, const std::function<ModelChat()>& open_chat) {
  const ConfigReader whole(json);
  // of a multimodal model the text part
  const std::optional<ConfigReader> text =
      whole.has("model_type") && is_known(whole.text("model_type")) ? std::nullopt : whole.object("text_config");
  const ConfigReader& config = text && text->has("model_type") ? *text : whole;
  if (!config.has("model_type")) throw Error(fmt::format("{}: model_type: is missing, so it is no model's; {}", json.name(), kWhatOpens));
  const Family& family = find_family(config.text("model_type"), json.name());
  ModelFiles model;
  model.folder = path;
  model.config = family.read_config(config);
  model.config.name = whole.text_or("name", name_of_model(path));
  model.config.arch = family.model_type;
  Weights weights = open_weights();
  family.bind(weights, model);
  model.files = weights.take_files();
  model.weight_bytes = bytes_of_weights(model);
  read_ends(model, json);
  take_tokenizer(model, open_tokenizer());
  open_characters(model);
  ModelChat chat = open_chat();
  model.chat = std::move(chat.chat);
  model.chat_problem = std::move(chat.problem);
  return model;
}

ModelFiles open_files(const std::string& folder, ReadWeights read) {
  if (GgufFile::is_one(folder)) {
    GgufSource source = open_gguf_source(folder, read);
    return model_of(
        folder, source.config, [&] { return std::move(source.weights); },
        [&] {
          return TokenizerFile{source.tokenizer, folder};
        },
        [&] { return std::move(source.chat); });
  }
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    const bool something = fs::exists(folder, error);
    throw Error(fmt::format("{}: expected a model folder with config.json, got {}; {}", folder,
                            something ? "something that is neither a folder nor a GGUF file" : "nothing there", kWhatOpens));
  }
  const std::string config_path = in_folder(folder, "config.json");
  if (!fs::exists(config_path, error)) {
    if (fs::is_symlink(config_path, error))
      throw Error(fmt::format(
          "{}: expected the configuration of a model, got a link that leads nowhere; copy the folder with what its links lead to",
          config_path));
    throw Error(fmt::format("{}: expected a model folder with config.json, got a folder without it; {}", folder, kWhatOpens));
  }
  const JsonDocument json = JsonDocument::read(config_path, {.bytes = kMaxConfigBytes, .values = kJsonLimits.values});
  return model_of(
      folder, json, [&] { return Weights::open(folder); }, [&] { return open_tokenizer_file(folder); },
      [&] { return read == ReadWeights::nothing ? ModelChat{} : model_chat([&] { return open_chat_template(folder); }); });
}

/// Tokens beside a tokenizer.model, as transformers has them: added_tokens_decoder of tokenizer_config.json, else added_tokens.json, which
/// has names and ids only: all of them are taken for special ones.
std::vector<AddedToken> tokens_beside(const std::string& folder) {
  std::vector<AddedToken> added;
  const auto read = [&folder](const char* name, const std::function<void(const JsonCursor&)>& take) {
    const std::string path = in_folder(folder, name);
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return;
    const JsonDocument document = JsonDocument::read(path, {.bytes = kMaxTokensBytes, .values = kJsonLimits.values});
    take(JsonCursor(document));
  };
  read("tokenizer_config.json", [&added](const JsonCursor& config) {
    if (!config.given("added_tokens_decoder")) return;
    const JsonCursor tokens = config.at("added_tokens_decoder");
    for (std::size_t i = 0; i < tokens.n_members(); ++i) {
      const JsonCursor token = tokens.member(i);
      const int id = number_from<int>(tokens.member_name(i)).value_or(-1);
      if (id < 0 || id > kMaxTokenId) tokens.fail(fmt::format("ids of 0 to {} as names", kMaxTokenId));
      added.push_back({.id = id,
                       .content = token.at("content").text(kMaxTokenBytes),
                       .single_word = token.flag_or("single_word", false),
                       .lstrip = token.flag_or("lstrip", false),
                       .rstrip = token.flag_or("rstrip", false),
                       .special = token.flag_or("special", false)});
    }
  });
  if (!added.empty()) return added;
  read("added_tokens.json", [&added](const JsonCursor& tokens) {
    for (std::size_t i = 0; i < tokens.n_members(); ++i)
      added.push_back({.id = tokens.member(i).whole(0, kMaxTokenId), .content = std::string(tokens.member_name(i)), .special = true});
  });
  return added;
}

}  // namespace

std::string name_of_model(const std::string& folder) {
  fs::path path = fs::absolute(folder).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();  // a slash at the end
  // The Hugging Face cache: models--ORG--NAME/snapshots/REVISION.
  const std::string repository = path.parent_path().parent_path().filename().string();
  const std::size_t name = repository.rfind("--");
  if (path.parent_path().filename() == "snapshots" && repository.starts_with("models--")) return repository.substr(name + 2);
  return path.filename().string();
}

TokenizerFile open_tokenizer_file(const std::string& folder) {
  if (GgufFile::is_one(folder)) return {open_gguf_tokenizer(GgufFile::open(folder)), folder};
  const std::string json = in_folder(folder, "tokenizer.json"), model = in_folder(folder, "tokenizer.model");
  std::error_code ignored;
  if (fs::exists(json, ignored)) return {open_tokenizer_json(json), json};  // as transformers: also beside the other
  if (fs::exists(model, ignored)) return {open_sentencepiece(model, tokens_beside(folder)), model};
  return {};
}

ModelFiles open_model(const std::string& folder) {
  std::string stamp = stamp_of_model(folder);  // before the first of its files is read
  ModelFiles model = open_files(folder, ReadWeights::what_changes);
  model.stamp = std::move(stamp);
  return model;
}

ModelFiles check_model(const std::string& folder) { return open_files(folder, ReadWeights::nothing); }

}  // namespace kvscope
