// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/config.h"
#include "core/head_characters.h"
#include "io/tensor_file.h"
#include "tokenizer/tokenizer.h"

namespace kvscope {

/// What the forward pass calls the weights of one layer. Matrices are [out, in], row-major.
struct LayerTensors {
  TensorView attn_norm;  // [dim]
  TensorView wq;         // [n_heads * head_dim, dim], half-split rotary layout (Hugging Face)
  TensorView wk;         // [n_kv_heads * head_dim, dim]
  TensorView wv;         // [n_kv_heads * head_dim, dim]
  TensorView wo;         // [dim, n_heads * head_dim]
  TensorView ffn_norm;   // [dim]
  TensorView w_gate;     // [hidden_dim, dim]
  TensorView w_up;       // [hidden_dim, dim]
  TensorView w_down;     // [dim, hidden_dim]
};

/// A model folder, opened and checked: views into mapped files, nothing copied.
struct ModelFiles {
  ModelConfig config;
  TensorView embedding;   // [vocab_size, dim]
  TensorView final_norm;  // [dim]
  TensorView lm_head;     // [vocab_size, dim]; the embedding when tied
  std::vector<LayerTensors> layers;
  std::shared_ptr<const Tokenizer> tokenizer;
  bool has_tokenizer = false;
  std::string tokenizer_file;  // name of the file that it was read from; empty: none
  std::vector<int> end_ids;    // tokens that end a text, of generation_config.json or else config.json; empty: neither says
  std::string folder;
  std::size_t weight_bytes = 0;
  std::shared_ptr<const HeadCharacters> characters;  // of heads.json; null: there is none, or it is of no use
  std::string characters_problem;                    // why not, one sentence; a model runs without it
  std::vector<TensorFile> files;                     // keeps the maps alive
};

/// The tokenizer of a folder.
struct TokenizerFile {
  std::shared_ptr<const Tokenizer> tokenizer;  // null: the folder has none
  std::string path;
};

/// Opens tokenizer.json, or tokenizer.model where there is none, and nothing else of a folder. Throws Error.
TokenizerFile open_tokenizer_file(const std::string& folder);

/// Reads config.json, model.safetensors or the sharded model.safetensors.index.json, the tokenizer (tokenizer.json, or tokenizer.model
/// where there is none) and heads.json (both optional; a bad heads.json is said in characters_problem). The start token is the one that a
/// tokenizer.json puts before a text, if it puts one; with a tokenizer.model it is config.json's. Throws Error naming the missing or
/// misshapen file, key or tensor, what was expected and what is there.
ModelFiles open_model(const std::string& folder);

/// Model families this build knows (model_type of config.json), for messages and help.
std::vector<std::string> known_architectures();

}  // namespace kvscope
