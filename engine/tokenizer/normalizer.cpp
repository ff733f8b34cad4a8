// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/normalizer.h"

#include <fmt/format.h>

#include <memory>

#include "core/error.h"
#include "tokenizer/regex.h"

namespace kvscope {
namespace {

// Of a text, in bytes: published ones write three for a blank, NFKC at most eleven for one.
constexpr std::size_t kMostTimes = 16, kMostBeside = 1 << 16;

/// Stops once more than `most` bytes were put in.
MappedText replaced(const MappedText& text, const Finder& find, const std::string& by, std::size_t most) {
  auto match = find(text.text, 0);
  if (!match) return text;
  Rewriter out(text);
  std::size_t kept = 0, put = 0;
  for (std::size_t at = 0; match && put <= most; put += by.size()) {
    out.keep({kept, match->begin});
    out.put(by, *match);
    kept = match->end;
    at = match->end;
    if (match->begin == match->end) {
      if (at == text.text.size()) break;
      at += character_bytes(text.text[at]);
    }
    match = find(text.text, at);
  }
  out.keep({kept, text.text.size()});
  return out.finish();
}

struct StepOf {
  const std::string& where;

  NormalizerStep operator()(const Normalize& n) const {
    return [form = n.form](MappedText text, std::size_t) { return normalized(std::move(text), form); };
  }
  NormalizerStep operator()(const Prepend& p) const {
    return [before = p.text](MappedText text, std::size_t) {
      if (text.text.empty()) return text;
      Rewriter out(text);
      out.put(before, {0, 0});
      out.keep({0, text.text.size()});
      return out.finish();
    };
  }
  NormalizerStep operator()(const Replace& r) const {
    return [find = finder_of(r.pattern, where), by = r.text](MappedText text, std::size_t most) { return replaced(text, find, by, most); };
  }
};

}  // namespace

Finder finder_of(const Pattern& pattern, const std::string& where) {
  if (pattern.regex) {
    const auto regex = std::make_shared<const Regex>(pattern.text, where);
    return [regex](std::string_view text, std::size_t from) { return regex->find(text, from); };
  }
  return [text = pattern.text](std::string_view in, std::size_t from) -> std::optional<Span> {
    const std::size_t at = text.empty() ? in.npos : in.find(text, from);
    if (at == in.npos) return std::nullopt;
    return Span{at, at + text.size()};
  };
}

NormalizerChain::NormalizerChain(const std::vector<Normalizer>& steps, const std::string& where) : where_(where) {
  for (const Normalizer& step : steps) steps_.push_back(std::visit(StepOf{where}, step));
}

MappedText NormalizerChain::apply(MappedText text) const {
  const std::size_t n = text.text.size(), most = kMostTimes * n + kMostBeside;
  for (const auto& step : steps_) {
    text = step(std::move(text), most);
    if (text.text.size() > most)
      throw Error(fmt::format("{}: normalizer: expected steps that make at most {} bytes of a text of {}, got more", where_, most, n));
  }
  return text;
}

}  // namespace kvscope
