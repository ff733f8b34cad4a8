// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/normalizer.h"

#include <memory>

#include "tokenizer/regex.h"

namespace kvscope {
namespace {

MappedText replaced(const MappedText& text, const Finder& find, const std::string& by) {
  auto match = find(text.text, 0);
  if (!match) return text;
  Rewriter out(text);
  std::size_t kept = 0;
  for (std::size_t at = 0; match;) {
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

struct Ready {
  const std::string& where;

  std::function<MappedText(MappedText)> operator()(const Normalize& n) const {
    return [form = n.form](MappedText text) { return normalized(std::move(text), form); };
  }
  std::function<MappedText(MappedText)> operator()(const Prepend& p) const {
    return [before = p.text](MappedText text) {
      if (text.text.empty()) return text;
      Rewriter out(text);
      out.put(before, {0, 0});
      out.keep({0, text.text.size()});
      return out.finish();
    };
  }
  std::function<MappedText(MappedText)> operator()(const Replace& r) const {
    return [find = finder_of(r.pattern, where), by = r.text](MappedText text) { return replaced(text, find, by); };
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

NormalizerChain::NormalizerChain(const std::vector<Normalizer>& steps, const std::string& where) {
  for (const Normalizer& step : steps) steps_.push_back(std::visit(Ready{where}, step));
}

MappedText NormalizerChain::apply(MappedText text) const {
  for (const auto& step : steps_) text = step(std::move(text));
  return text;
}

}  // namespace kvscope
