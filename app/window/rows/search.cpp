// SPDX-License-Identifier: Apache-2.0
#include "app/window/rows/search.h"

#include <algorithm>

#include <QElapsedTimer>
#include <QRegularExpression>
#include <QStringList>

#include "viz/draw/format.h"
#include "viz/reduce/range.h"

namespace kvscope {

namespace {

constexpr std::int64_t kEventsRead = 500000;  // enough for hours of reading; more would stop the window for too long
constexpr qint64 kLongestNs = 1'000'000'000;  // the same for a regular expression that tries much in every line

QString quotedToken(std::span<const TokenInfo> read, int token) {
  if (token < 0 || token >= static_cast<int>(read.size())) return {};
  return QString::fromStdString(viz::quoted(viz::token_text(read, token)));
}

void giveUp(SearchResult& out) {
  out.given_up = true;
  out.note = "too much to search, given up";
}

/// Decides whether a line of text is meant.
class Matcher {
 public:
  explicit Matcher(const SearchQuery& query) {
    if (query.regex) {
      m_regex.setPattern(query.text);
      m_regex.setPatternOptions(QRegularExpression::UseUnicodePropertiesOption |
                                (query.match_case ? QRegularExpression::NoPatternOption : QRegularExpression::CaseInsensitiveOption));
      m_by_regex = true;
    } else {
      m_words = query.text.split(' ', Qt::SkipEmptyParts);
      m_case = query.match_case ? Qt::CaseSensitive : Qt::CaseInsensitive;
    }
  }
  const QRegularExpression& regex() const { return m_regex; }
  /// What the regular expression finds; its time counts.
  template <class Find>
  auto timed(const Find& find) {
    QElapsedTimer clock;
    clock.start();
    auto found = find();
    m_spent_ns += clock.nsecsElapsed();
    return found;
  }
  /// It needed more tries than PCRE allows, which found nothing and do not say that nothing is there, or took too long in all.
  template <class Found>
  bool gaveUp(const Found& found) const {
    return !found.isValid() || m_spent_ns > kLongestNs;
  }
  bool operator()(const QString& line, SearchResult& out) {
    if (m_by_regex) {
      const QRegularExpressionMatch match = timed([&] { return m_regex.match(line); });
      if (gaveUp(match)) giveUp(out);
      return match.hasMatch();
    }
    return std::all_of(m_words.begin(), m_words.end(), [&](const QString& word) { return contains(line, word); });
  }

 private:
  /// "H1" is not found in "H12", nor "7" in "17": a number ends where it ends.
  bool contains(const QString& line, const QString& word) const {
    for (qsizetype at = line.indexOf(word, 0, m_case); at >= 0; at = line.indexOf(word, at + 1, m_case)) {
      const qsizetype end = at + word.size();
      const bool cut_before = word.front().isDigit() && at > 0 && line[at - 1].isDigit();
      const bool cut_after = word.back().isDigit() && end < line.size() && line[end].isDigit();
      if (!cut_before && !cut_after) return true;
    }
    return false;
  }

  QRegularExpression m_regex;
  qint64 m_spent_ns = 0;
  QStringList m_words;
  Qt::CaseSensitivity m_case = Qt::CaseInsensitive;
  bool m_by_regex = false;
};

bool full(SearchResult& out) {
  if (static_cast<int>(out.hits.size()) < kSearchHits) return false;
  out.note = QString("first %1").arg(QString::fromStdString(viz::format_count(kSearchHits)));
  return true;
}

void searchTokens(const SearchQuery& query, Matcher& matcher, std::span<const TokenInfo> read, SearchResult& out) {
  // The text as one string, and for each of its UTF-8 bytes the token that it came from.
  std::string bytes;
  std::vector<int> token_of;
  for (int t = 0; t < static_cast<int>(read.size()); ++t) {
    const TokenInfo& token = read[static_cast<std::size_t>(t)];
    const std::string& text = token.special ? token.piece : token.bytes;
    bytes += text;
    token_of.insert(token_of.end(), text.size(), t);
  }
  const QString text = QString::fromStdString(bytes);
  const auto add = [&](qsizetype from, qsizetype length) {
    // UTF-16 places to bytes; searched text is rarely longer than a screen, so this is done for hits only.
    const auto first = static_cast<std::size_t>(QStringView(text).left(from).toUtf8().size());
    const auto n = static_cast<std::size_t>(QStringView(text).mid(from, length).toUtf8().size());
    if (first >= token_of.size() || n == 0) return;
    const viz::TokenRange tokens{token_of[first], token_of[std::min(first + n, token_of.size()) - 1]};
    if (!out.hits.empty() && out.hits.back().tokens == tokens) return;  // twice in one token
    SearchHit hit;
    hit.tokens = tokens;
    hit.what = QString("%1 «%2»").arg(tokens.first).arg(text.mid(from, length));
    out.hits.push_back(hit);
  };
  if (query.regex) {
    auto it = matcher.timed([&] { return matcher.regex().globalMatch(text); });
    while (it.hasNext() && !full(out)) {
      const QRegularExpressionMatch match = matcher.timed([&] { return it.next(); });
      add(match.capturedStart(), match.capturedLength());
      if (matcher.gaveUp(it)) return giveUp(out);
    }
    if (!it.isValid()) giveUp(out);
    return;
  }
  const Qt::CaseSensitivity sensitivity = query.match_case ? Qt::CaseSensitive : Qt::CaseInsensitive;
  for (qsizetype at = text.indexOf(query.text, 0, sensitivity); at >= 0 && !full(out);
       at = text.indexOf(query.text, at + query.text.size(), sensitivity))
    add(at, query.text.size());
}

void searchHeads(const SearchQuery& query, Matcher& matcher, const Snapshot& snapshot, SearchResult& out) {
  static const QRegularExpression syntax("^\\s*(?:L\\s*(\\d+))?[\\s·.,]*(?:H\\s*(\\d+))?\\s*$", QRegularExpression::CaseInsensitiveOption);
  const QRegularExpressionMatch parts = syntax.match(query.text);
  if (!query.regex && !parts.hasMatch()) {
    out.error = "heads are named L2, H5 or L2 H5";
    return;
  }
  const auto is = [](const QString& wanted, int number) {
    bool fits = true;
    return wanted.isEmpty() || (wanted.toInt(&fits) == number && fits);
  };
  for (int l = 0; l < snapshot.model.n_layers; ++l) {
    for (int h = 0; h < snapshot.model.n_kv_heads; ++h) {
      const QString name = QString("L%1 H%2").arg(l).arg(h);
      const bool meant = query.regex ? matcher(name, out) : is(parts.captured(1), l) && is(parts.captured(2), h);
      if (out.given_up) return;
      if (!meant) continue;
      if (full(out)) return;
      SearchHit hit;
      hit.layer = l;
      hit.kv_head = h;
      hit.what = name;
      out.hits.push_back(hit);
    }
  }
  if (out.hits.empty() && !query.regex)
    out.note = QString("the model has L0–L%1, H0–H%2").arg(snapshot.model.n_layers - 1).arg(snapshot.model.n_kv_heads - 1);
}

QString eventLine(std::span<const TokenInfo> read, const HeadRecord& head, const Event& event, int step) {
  QString line = QString(event.kind == Event::Kind::evict ? "evict token %1 %2" : "merge token %1 %2")
                     .arg(event.pos)
                     .arg(quotedToken(read, event.pos));
  if (event.kind == Event::Kind::merge) line += QString(" into %1 %2").arg(event.into).arg(quotedToken(read, event.into));
  return line + QString(" L%1 H%2 step %3").arg(head.layer).arg(head.kv_head).arg(step);
}

void searchEvents(Matcher& matcher, const Snapshot& snapshot, const viz::Selection& selection, SearchResult& out) {
  if (selection.lane < 0 || selection.lane >= static_cast<int>(snapshot.lanes.size())) return;
  const LaneSnapshot& lane = snapshot.lanes[static_cast<std::size_t>(selection.lane)];
  const std::optional<viz::StepRange> steps = viz::steps_within(lane, selection.steps);
  std::int64_t read = 0;
  for (int s = steps ? steps->first : 0; steps && s <= steps->last; ++s) {
    const StepRecord* record = lane.steps[static_cast<std::size_t>(s)].get();
    if (!record) continue;
    for (const HeadRecord& head : record->heads) {
      for (const Event& event : head.events) {
        if (++read > kEventsRead) {
          out.note = QString("first %1 events searched").arg(QString::fromStdString(viz::format_count(kEventsRead)));
          return;
        }
        const QString line = eventLine(tokens_of(snapshot, lane), head, event, s);
        const bool meant = matcher(line, out);
        if (out.given_up) return;
        if (!meant) continue;
        if (full(out)) return;
        SearchHit hit;
        hit.layer = head.layer;
        hit.kv_head = head.kv_head;
        hit.step = s;
        hit.tokens = viz::TokenRange{event.pos, event.pos};
        hit.slot = event.pos;
        hit.what = line;
        out.hits.push_back(hit);
      }
    }
  }
}

}  // namespace

viz::Selection SearchHit::applied(viz::Selection selection) const {
  if (tokens) selection.select(*tokens);
  if (layer) selection.layer = layer;
  if (kv_head) selection.kv_head = kv_head;
  if (slot) selection.slot = slot;
  if (step) selection.step = step;
  return selection;
}

SearchResult searchFor(const SearchQuery& query, const Snapshot& snapshot, const viz::Selection& selection) {
  SearchResult out;
  if (query.text.trimmed().isEmpty()) return out;
  Matcher matcher(query);
  if (query.regex && !matcher.regex().isValid()) {
    out.error_at = static_cast<int>(matcher.regex().patternErrorOffset());
    out.error = QString("no regular expression: %1 at character %2").arg(matcher.regex().errorString()).arg(out.error_at + 1);
    return out;
  }
  switch (query.in) {
    case SearchIn::tokens:
      searchTokens(query, matcher, tokens_of(snapshot, selection.lane), out);
      break;
    case SearchIn::heads:
      searchHeads(query, matcher, snapshot, out);
      break;
    case SearchIn::events:
      searchEvents(matcher, snapshot, selection, out);
      break;
  }
  return out;
}

}  // namespace kvscope
