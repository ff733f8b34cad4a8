// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "core/error.h"
#include "io/files.h"
#include "io/quote_name.h"
#include "tokenizer/json_document.h"
#include "tokenizer/parts.h"
#include "tokenizer/tokenizer.h"

namespace kvscope {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxFileBytes = 256u << 20;
constexpr int kMaxTokens = 1 << 20;
constexpr std::size_t kMaxAdded = 1 << 18, kMaxNameBytes = 4096, kMaxSteps = 64;

/// A part of the file, and how it is called in messages.
struct Node {
  const Json& json;
  std::string where;

  [[noreturn]] void fail(const std::string& what) const { throw Error(fmt::format("{}: {}", where, what)); }
  bool has(const char* key) const { return json.is_object() && json.contains(key) && !json[key].is_null(); }
  Node at(const char* key) const {
    if (!has(key)) fail(fmt::format("expected {}, which is missing", key));
    return {json[key], fmt::format("{}.{}", where, key)};
  }
  std::vector<Node> list(const char* key) const {
    const Node node = at(key);
    if (!node.json.is_array() || node.json.size() > kMaxAdded) node.fail("expected a list");
    std::vector<Node> out;
    for (std::size_t i = 0; i < node.json.size(); ++i) out.push_back({node.json[i], fmt::format("{}[{}]", node.where, i)});
    return out;
  }
  std::string text(const char* key) const {
    const Node node = at(key);
    if (!node.json.is_string()) node.fail("expected a text");
    return node.json.get<std::string>();
  }
  std::string text_or(const char* key, const char* otherwise) const { return has(key) ? text(key) : otherwise; }
  bool flag_or(const char* key, bool otherwise) const {
    if (!has(key)) return otherwise;
    const Node node = at(key);
    if (!node.json.is_boolean()) node.fail("expected true or false");
    return node.json.get<bool>();
  }
  int whole_or(const char* key, int otherwise) const {
    if (!has(key)) return otherwise;
    const Node node = at(key);
    if (!node.json.is_number_integer() || node.json < -1 || node.json >= kMaxTokens)
      node.fail(fmt::format("expected a whole number below {}", kMaxTokens));
    return node.json.get<int>();
  }
  std::string type() const {
    if (!json.is_object()) fail("expected an object");
    return text("type");
  }
  [[noreturn]] void refuse(const std::string& type, const char* known) const {
    fail(fmt::format("{} is not supported (known: {})", quote_name(type), known));
  }
};

Pattern read_pattern(const Node& node) {
  if (node.has("Regex")) return {node.text("Regex"), true};
  if (node.has("String")) return {node.text("String"), false};
  node.fail("expected a Regex or a String");
}

/// The steps of a part that may be one step or a Sequence of them.
template <typename Read>
void read_steps(const Node& node, const char* list, Read&& read, int depth = 0) {
  if (node.type() != "Sequence") return read(node);
  if (depth > 8) node.fail("expected fewer sequences in each other");
  const std::vector<Node> steps = node.list(list);
  if (steps.size() > kMaxSteps) node.fail(fmt::format("expected at most {} steps, got {}", kMaxSteps, steps.size()));
  for (const Node& step : steps) read_steps(step, list, read, depth + 1);
}

Normalizer read_normalizer(const Node& node) {
  const std::string type = node.type();
  if (type == "NFC") return Normalize{NormalForm::nfc};
  if (type == "NFD") return Normalize{NormalForm::nfd};
  if (type == "NFKC") return Normalize{NormalForm::nfkc};
  if (type == "NFKD") return Normalize{NormalForm::nfkd};
  if (type == "Prepend") return Prepend{node.text("prepend")};
  if (type == "Replace") return Replace{read_pattern(node.at("pattern")), node.text("content")};
  node.refuse(type, "NFC, NFD, NFKC, NFKD, Prepend, Replace, Sequence");
}

SplitBehavior read_behavior(const Node& node) {
  const std::string name = node.text_or("behavior", "Isolated");
  constexpr std::array<std::pair<const char*, SplitBehavior>, 5> known = {{{"Removed", SplitBehavior::removed},
                                                                           {"Isolated", SplitBehavior::isolated},
                                                                           {"MergedWithPrevious", SplitBehavior::merged_with_previous},
                                                                           {"MergedWithNext", SplitBehavior::merged_with_next},
                                                                           {"Contiguous", SplitBehavior::contiguous}}};
  for (const auto& [word, behavior] : known)
    if (name == word) return behavior;
  node.fail(fmt::format("behavior {} is not supported", quote_name(name)));
}

Metaspace read_metaspace(const Node& node) {
  Metaspace out{.mark = node.text_or("replacement", "\xe2\x96\x81"), .split = node.flag_or("split", true)};
  const std::string scheme = node.text_or("prepend_scheme", node.flag_or("add_prefix_space", true) ? "always" : "never");
  if (scheme != "always" && scheme != "first" && scheme != "never")
    node.fail(fmt::format("prepend_scheme {} is not supported", quote_name(scheme)));
  out.prepend = scheme == "always" ? Metaspace::Scheme::always : scheme == "first" ? Metaspace::Scheme::first : Metaspace::Scheme::never;
  if (out.mark.empty()) node.fail("replacement: expected a character, got nothing");
  return out;
}

PreTokenizer read_pre_tokenizer(const Node& node) {
  const std::string type = node.type();
  if (type == "Split") return SplitBy{read_pattern(node.at("pattern")), read_behavior(node), node.flag_or("invert", false)};
  if (type == "ByteLevel") return ByteLevel{node.flag_or("add_prefix_space", true), node.flag_or("use_regex", true)};
  if (type == "Digits") return SplitDigits{node.flag_or("individual_digits", false)};
  if (type == "Punctuation") return SplitPunctuation{read_behavior(node)};
  if (type == "Metaspace") return read_metaspace(node);
  if (type == "WhitespaceSplit") return SplitWhiteSpace{};
  if (type == "Whitespace") {  // its words are of another library than those of Split: with joiners
    const std::string word = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d})";
    return SplitBy{{"[" + word + "]+|[^" + word + "\\s]+", true}, SplitBehavior::removed, true};
  }
  node.refuse(type, "Split, ByteLevel, Digits, Punctuation, Metaspace, Whitespace, WhitespaceSplit, Sequence");
}

void read_decoder(const Node& node, Decoding& out) {
  const std::string type = node.type();
  if (type == "ByteLevel") {
    out.byte_letters = true;
  } else if (type == "ByteFallback") {
    out.byte_fallback = true;
  } else if (type == "Replace") {
    const Pattern pattern = read_pattern(node.at("pattern"));
    if (pattern.regex || pattern.text.empty()) node.fail("a regular expression is not supported here");
    out.replacements.emplace_back(pattern.text, node.text("content"));
  } else if (type == "Metaspace") {
    const Metaspace metaspace = read_metaspace(node);
    out.replacements.emplace_back(metaspace.mark, " ");
    out.strip_space = out.strip_space || metaspace.prepend != Metaspace::Scheme::never;
  } else if (type == "Strip") {
    const int start = node.whole_or("start", 0), stop = node.whole_or("stop", 0);
    if (node.text_or("content", " ") != " " || start < 0 || start > 1 || stop != 0) node.fail("expected to strip one space at the start");
    out.strip_space = out.strip_space || start == 1;
  } else if (type != "Fuse") {
    node.refuse(type, "ByteLevel, ByteFallback, Fuse, Metaspace, Replace, Strip, Sequence");
  }
}

void read_post_processor(const Node& node, TokenizerParts& out) {
  const std::string type = node.type();
  if (type == "ByteLevel") return;  // changes offsets only
  if (type != "TemplateProcessing") node.refuse(type, "ByteLevel, TemplateProcessing, Sequence");
  bool after_text = false;
  for (const Node& part : node.list("single")) {
    if (part.has("Sequence")) {
      after_text = true;
      continue;
    }
    const std::string name = part.at("SpecialToken").text("id");
    const Node tokens = node.at("special_tokens");
    if (!tokens.has(name.c_str())) tokens.fail(fmt::format("expected {}, which is missing", quote_name(name)));
    for (const Node& id : tokens.at(name.c_str()).list("ids")) {
      if (!id.json.is_number_integer() || id.json < 0 || id.json >= kMaxTokens) id.fail("expected a token id");
      (after_text ? out.last_ids : out.first_ids).push_back(id.json.get<int>());
    }
  }
}

void place(TokenizerParts& parts, int id, const std::string& name, const std::string& where) {
  if (id < 0 || id >= kMaxTokens) throw Error(fmt::format("{}: expected a token id below {}, got {}", where, kMaxTokens, id));
  if (static_cast<std::size_t>(id) >= parts.tokens.size()) parts.tokens.resize(static_cast<std::size_t>(id) + 1);
  std::string& placed = parts.tokens[static_cast<std::size_t>(id)];
  if (!placed.empty() && placed != name)
    throw Error(fmt::format("{}: expected an id of its own for each token, got {} for {} and {}; which of them it means is not said", where,
                            id, quote_name(placed), quote_name(name)));
  placed = name;
}

using Ids = std::unordered_map<std::string_view, int>;

/// The ids that the library of these files gives: that of the vocabulary, or the next one behind it and all before, whatever the file says.
void number_added_tokens(std::vector<AddedToken>& added, Ids& ids) {
  const auto n_vocabulary = static_cast<int>(ids.size());
  int last = -1;
  for (AddedToken& token : added) {
    token.id = ids.try_emplace(token.content, std::max(last + 1, n_vocabulary)).first->second;
    last = std::max(last, token.id);
  }
}

void read_model(const Node& model, const TokenizerDocument& document, TokenizerParts& out) {
  if (const std::string type = model.text_or("type", "BPE"); type != "BPE") model.refuse(type, "BPE");
  if (!document.has_vocabulary) model.fail("expected vocab, an object of names and ids");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!model.text_or(key, "").empty()) model.fail(fmt::format("{} is not supported", key));
  if (model.has("dropout") && model.at("dropout").json != 0) model.fail("dropout is not supported: expected none");
  out.fuse_unknown = model.flag_or("fuse_unk", false);
  out.byte_fallback = model.flag_or("byte_fallback", false);
  out.ignore_merges = model.flag_or("ignore_merges", false);

  Ids ids(document.vocabulary.size() * 2);
  for (const auto& [name, id] : document.vocabulary) {
    if (name.empty() || name.size() > kMaxNameBytes)
      model.fail(fmt::format("vocab: expected names of 1 to {} bytes, got {}", kMaxNameBytes, name.size()));
    ids[name] = id;
  }
  for (const auto& [name, id] : document.vocabulary)
    if (ids[name] == id) place(out, id, name, model.where + ".vocab");  // of a name that is given twice the last id counts
  if (const std::string unknown = model.text_or("unk_token", ""); !unknown.empty()) {
    const auto found = ids.find(unknown);
    if (found == ids.end()) model.fail(fmt::format("unk_token: expected a token of the vocabulary, got {}", quote_name(unknown)));
    out.unknown = found->second;
  }
  out.merges.reserve(document.merges.size());
  std::string whole;
  for (const auto& [left, right] : document.merges) {
    whole = left + right;
    const auto l = ids.find(left), r = ids.find(right), w = ids.find(whole);
    for (const auto& [found, name] : {std::pair{l, &left}, {r, &right}, {w, &std::as_const(whole)}})
      if (found == ids.end()) model.fail(fmt::format("merges: {} is no token of the vocabulary", quote_name(*name)));
    out.merges.push_back({l->second, r->second, w->second});
  }
  number_added_tokens(out.added, ids);
}

void read_added_tokens(const Node& root, TokenizerParts& out) {
  if (!root.has("added_tokens")) return;
  std::unordered_map<std::string, std::size_t> places;
  for (const Node& node : root.list("added_tokens")) {
    AddedToken token{.id = node.whole_or("id", -1),
                     .content = node.text("content"),
                     .single_word = node.flag_or("single_word", false),
                     .lstrip = node.flag_or("lstrip", false),
                     .rstrip = node.flag_or("rstrip", false),
                     .normalized = node.flag_or("normalized", true),
                     .special = node.flag_or("special", false)};
    if (token.content.size() > kMaxNameBytes) node.fail(fmt::format("content: expected at most {} bytes", kMaxNameBytes));
    if (token.content.empty()) continue;
    if (const auto [place, is_new] = places.try_emplace(token.content, out.added.size()); is_new) {
      out.added.push_back(std::move(token));
    } else {  // what is said last of a token holds
      AddedToken& before = out.added[place->second];
      token.special = token.special || before.special;
      before = std::move(token);
    }
  }
}

}  // namespace

std::unique_ptr<Tokenizer> parse_tokenizer_json(std::string_view text, const std::string& name) {
  const TokenizerDocument document = read_tokenizer_document(text, name);
  const Node root{document.rest, name};
  TokenizerParts parts;
  parts.name = name;
  read_added_tokens(root, parts);
  read_model(root.at("model"), document, parts);
  for (const AddedToken& token : parts.added) place(parts, token.id, token.content, name + ": added_tokens");
  if (root.has("normalizer"))
    read_steps(root.at("normalizer"), "normalizers", [&](const Node& node) { parts.normalizers.push_back(read_normalizer(node)); });
  if (root.has("pre_tokenizer"))
    read_steps(root.at("pre_tokenizer"), "pretokenizers",
               [&](const Node& node) { parts.pre_tokenizers.push_back(read_pre_tokenizer(node)); });
  if (root.has("post_processor"))
    read_steps(root.at("post_processor"), "processors", [&](const Node& node) { read_post_processor(node, parts); });
  if (!root.has("decoder")) root.fail("expected a decoder, got none");
  read_steps(root.at("decoder"), "decoders", [&](const Node& node) { read_decoder(node, parts.decoding); });
  return make_tokenizer(std::move(parts));
}

std::unique_ptr<Tokenizer> open_tokenizer_json(const std::string& path) {
  return parse_tokenizer_json(read_text(path, kMaxFileBytes), path);
}

}  // namespace kvscope
