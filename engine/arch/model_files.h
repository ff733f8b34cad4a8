// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/config.h"
#include "core/head_characters.h"
#include "io/tensor_file.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace kvscope {

/// What the forward pass calls the weights of one layer. Matrices are [out, in], row-major. Those that not every family has are empty
/// where this one has not. Norms multiply by what stands here: a family whose files hold less (the 1 of 1 + w) has it added when it is
/// bound.
struct LayerTensors {
  TensorView attn_norm;  // [dim], before attention; empty: none
  TensorView wq;         // [n_heads * head_dim, dim], half-split rotary layout (Hugging Face)
  TensorView wk;         // [n_kv_heads * head_dim, dim]
  TensorView wv;         // [n_kv_heads * head_dim, dim]
  TensorView wo;         // [dim, n_heads * head_dim]
  TensorView ffn_norm;   // [dim], before the feed-forward part; empty: none
  TensorView w_gate;     // [hidden_dim, dim]
  TensorView w_up;       // [hidden_dim, dim]
  TensorView w_down;     // [dim, hidden_dim]
  TensorView q_norm;     // [head_dim]: every query head is normalised before it is rotated; [n_heads * head_dim]: all of them as one row
  TensorView k_norm;     // the same of keys
  TensorView attn_after_norm, ffn_after_norm;       // [dim], of what attention and the feed-forward part add to the residual stream
  TensorView bq, bk, bv, bo, b_gate, b_up, b_down;  // [out] of the matrix of that letter

  /// body(tensor), of all that are there, in the order of use.
  template <class Body>
  void for_each(const Body& body) const {
    const LayerTensors& l = *this;
    for (auto* t :
         {&l.attn_norm,       &l.wq,       &l.bq,     &l.wk,     &l.bk,   &l.wv,   &l.bv,     &l.q_norm, &l.k_norm,        &l.wo, &l.bo,
          &l.attn_after_norm, &l.ffn_norm, &l.w_gate, &l.b_gate, &l.w_up, &l.b_up, &l.w_down, &l.b_down, &l.ffn_after_norm})
      if (!t->shape.empty()) body(*t);
  }
};

/// A model, opened and checked: views into mapped files, nothing copied but the rows that a GGUF has in another order.
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
  std::string folder;          // or GGUF file
  std::string stamp;           // of its files when they were opened (model_parts.h)
  std::size_t weight_bytes = 0;
  std::shared_ptr<const HeadCharacters> characters;        // of heads.json; null: there is none, or it is of no use
  std::string characters_problem;                          // why not, one sentence; a model runs without it
  std::shared_ptr<const ChatTemplate> chat;                // null: there is none, or it is of no use
  std::string chat_problem;                                // why not, one sentence; a model runs without it
  std::vector<TensorFile> files;                           // keeps the maps alive
  std::vector<std::shared_ptr<std::vector<double>>> made;  // what tensors point to that are not in a file as the forward pass wants them
};

/// The tokenizer of a folder.
struct TokenizerFile {
  std::shared_ptr<const Tokenizer> tokenizer;  // null: the folder has none
  std::string path;
};

/// Opens tokenizer.json, or tokenizer.model where there is none, and nothing else of a folder; of a GGUF file the tokenizer inside. Throws
/// Error.
TokenizerFile open_tokenizer_file(const std::string& folder);

/// What a model is called that does not say it: after its folder or file; in the Hugging Face cache, where folders are revisions, after
/// its repository.
std::string name_of_model(const std::string& folder);

/// Reads config.json, model.safetensors or the sharded model.safetensors.index.json, the tokenizer (tokenizer.json, or tokenizer.model
/// where there is none) and heads.json (both optional; a bad heads.json is said in characters_problem). The start token is the one that a
/// tokenizer.json puts before a text, if it puts one; with a tokenizer.model it is config.json's. Throws Error naming the missing or
/// misshapen file, key or tensor, what was expected and what is there. Of a GGUF file all that is inside it.
ModelFiles open_model(const std::string& folder);

/// The same checks and the same errors without reading the weights: what a model is and whether it opens. Its tensors have shapes and types
/// and must not be computed with.
ModelFiles check_model(const std::string& folder);

/// Model families this build knows (model_type of config.json), for messages and help.
std::vector<std::string> known_architectures();

}  // namespace kvscope
