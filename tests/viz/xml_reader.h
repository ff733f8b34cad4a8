// SPDX-License-Identifier: Apache-2.0
#pragma once

// A strict reader of the XML that this project writes: one declaration, elements, attributes in double quotes, text with the five named
// entities. Anything else is an error, so what passes here is well-formed XML 1.0.

#include <cctype>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope::viz::testing {

class XmlReader {
 public:
  explicit XmlReader(std::string_view text) : text_(text) { document(); }

  /// What is wrong, with its place; empty: well-formed.
  const std::string& error() const { return error_; }
  const std::string& root() const { return root_; }
  int count(const std::string& element) const {
    const auto found = counts_.find(element);
    return found == counts_.end() ? 0 : found->second;
  }

 private:
  bool fail(std::string_view what) {
    if (error_.empty()) error_ = std::string(what) + " at byte " + std::to_string(at_) + ": " + std::string(text_.substr(at_, 40));
    return false;
  }
  bool take(std::string_view wanted) {
    if (text_.substr(at_, wanted.size()) != wanted) return false;
    at_ += wanted.size();
    return true;
  }
  void space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  std::string name() {
    const std::size_t from = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == ':' || text_[at_] == '-')) ++at_;
    return std::string(text_.substr(from, at_ - from));
  }
  // Up to `end`, which stays: characters that XML allows, references that it knows.
  bool characters(char end) {
    while (at_ < text_.size() && text_[at_] != end) {
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '<') return fail("a bare <");
      if (c < 0x20 && c != '\t' && c != '\n' && c != '\r') return fail("a control character");
      if (c == '&') {
        bool known = false;
        for (const char* entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"}) known = known || take(entity);
        if (!known) return fail("an unknown reference");
        continue;
      }
      if (take("]]>")) return fail("]]> in text");
      if (!utf8()) return fail("broken UTF-8 or a character that is none");
    }
    return true;
  }
  bool utf8() {
    const auto lead = static_cast<unsigned char>(text_[at_]);
    const int n = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    if (n == 0 || at_ + static_cast<std::size_t>(n) > text_.size()) return false;
    for (int i = 1; i < n; ++i) {
      if ((static_cast<unsigned char>(text_[at_ + static_cast<std::size_t>(i)]) & 0xC0) != 0x80) return false;
    }
    const std::string_view bytes = text_.substr(at_, static_cast<std::size_t>(n));
    if (bytes == "\xEF\xBF\xBE" || bytes == "\xEF\xBF\xBF") return false;
    if (n == 3 && lead == 0xED && static_cast<unsigned char>(bytes[1]) >= 0xA0) return false;  // surrogates
    at_ += static_cast<std::size_t>(n);
    return true;
  }

  void document() {
    if (!take("<?xml version=\"1.0\" encoding=\"UTF-8\"?>")) {
      fail("no declaration");
      return;
    }
    do {
      space();
      if (!node()) return;
    } while (!open_.empty());
    space();
    if (at_ != text_.size()) fail("something after the root");
  }

  bool node() {
    if (take("</")) {
      const std::string closed = name();
      if (open_.empty() || open_.back() != closed || !take(">")) return fail("a tag that closes nothing");
      open_.pop_back();
    } else if (take("<")) {
      if (!element()) return false;
    } else {
      return fail("a tag was expected");
    }
    return open_.empty() || (characters('<') && (at_ < text_.size() || fail("the text ends inside an element")));
  }

  bool element() {
    const std::string element_name = name();
    if (element_name.empty()) return fail("no name");
    ++counts_[element_name];
    if (root_.empty()) root_ = element_name;
    std::set<std::string> attributes;
    for (;;) {
      const std::size_t before = at_;
      space();
      if (take("/>")) return true;
      if (take(">")) {
        open_.push_back(element_name);
        return true;
      }
      if (at_ == before) return fail("no space before an attribute");
      const std::string attribute = name();
      if (attribute.empty() || !attributes.insert(attribute).second) return fail("an attribute without a name or twice");
      if (!take("=\"") || !characters('"') || !take("\"")) return fail("an attribute without a value");
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string error_, root_;
  std::vector<std::string> open_;
  std::map<std::string, int> counts_;
};

}  // namespace kvscope::viz::testing
