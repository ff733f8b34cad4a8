// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/report.h"

#include <cmath>
#include <numeric>
#include <utility>

#include <QAbstractTextDocumentLayout>
#include <QBuffer>
#include <QFontMetricsF>
#include <QPageLayout>
#include <QPdfWriter>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextDocument>
#include <QTextLayout>
#include <QTextOption>
#include <QTextTable>
#include <QUrl>

#include "app/share/how_made.h"
#include "app/window/files/export.h"
#include "app/window/shell/panel_paint.h"
#include "snapshot/figures.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"
#include "viz/reduce/generated.h"

namespace kvscope {

namespace {

constexpr int kPromptShown = 6000;  // characters
constexpr int kTextTokens = 40;
constexpr std::size_t kShort = 20;      // characters of a cell in one line
constexpr std::size_t kColumns = 12;    // of numbers beside each other on a page
constexpr double kCellPadding = 8;      // left and right of what a cell says
constexpr double kCellEdge = 4;         // what the layout adds to that: edges, and whole points
constexpr std::size_t kAnswer = 2;      // column of the runs' answers, behind name and specification
constexpr qsizetype kAnswerLine = 22;   // characters of one of its two lines
constexpr int kPageWidth = 1000;        // points of the widest picture
constexpr double kPictureHeight = 600;  // of the highest: title and caption fit on the page too
constexpr double kMargin = 32;          // of the single page
constexpr double kTallestPage = 14400;  // 1/72 inch: what readers of PDF files show

// Also what a text document of Qt understands: no flex, no grid.
const char* const kStyle = R"(
body { font-family: "Noto Sans", "DejaVu Sans", sans-serif; font-size: 13px; color: #1b1f26; background: #ffffff; }
h1 { font-size: 22px; margin: 0; } h2 { font-size: 15px; margin-top: 24px; margin-bottom: 6px; }
p { margin-top: 4px; margin-bottom: 4px; } .note { color: #4a5361; font-size: 11px; }
.prompt { background-color: #f5f7f9; white-space: pre-wrap; }
table { border-collapse: collapse; } th { color: #4a5361; font-size: 10px; font-weight: normal; text-align: right; padding: 3px 8px; vertical-align: bottom; }
td { padding: 3px 8px; text-align: right; border-top: 1px solid #d5dbe2; font-size: 12px; } .left { text-align: left; }
.mono { font-family: "Noto Sans Mono", "DejaVu Sans Mono", monospace; font-size: 11px; }
)";
// A document has its page's margins, and rows that keepTogether() does not part.
const char* const kWebStyle = "body { max-width: 1040px; margin: 24px auto; } tr { break-inside: avoid; }\n";

enum class Target { web, one_page, sheets };

QString esc(const QString& text) { return text.toHtmlEscaped(); }
QString esc(const std::string& text) { return qs(text).toHtmlEscaped(); }

QString cell(const QString& html, bool left, bool head = false, const QString& attributes = {}) {
  const QString tag = head ? "th" : "td";
  return QString("<%1 align=\"%2\"%3%4>%5</%1>").arg(tag, left ? "left" : "right", left ? " class=\"left\"" : "", attributes, html);
}

constexpr qsizetype kLine = 34;  // characters of a line of a specification

/// A long specification in lines, each up to the end of a key, a word or an edit, or as much as a line holds: a word that the page would
/// have to break anywhere pushes all columns.
QStringList linesOf(const std::string& text) {
  const QString whole = qs(text);
  if (whole.contains('\n')) return whole.split('\n');
  if (whole.size() <= kLine) return {whole};
  QStringList lines{QString()};
  for (qsizetype from = 0; from < whole.size();) {
    qsizetype to = from + 1;
    while (to < whole.size() && to - from < kLine && whole[to - 1] != ',' && whole[to - 1] != ' ' && whole[to] != '@') ++to;
    if (!lines.back().isEmpty() && lines.back().size() + to - from > kLine) lines << QString();
    lines.back() += whole.mid(from, to - from);
    from = to;
  }
  return lines;
}

/// `needed`: tokens by which it differs from others; a second line only for these.
QString answerInLines(const QStringList& tokens, qsizetype needed) {
  QStringList lines;
  qsizetype at = 0;
  while (at < tokens.size() && lines.size() < 2 && (lines.empty() || at < needed)) {
    QString line = tokens[at++];
    while (at < tokens.size() && line.size() + 1 + tokens[at].size() <= kAnswerLine) line += ' ' + tokens[at++];
    lines << line;
  }
  return lines.join('\n') + (at < tokens.size() ? " …" : "");
}

/// Answers as far as they tell runs apart, in two lines at most; whole they stand under "Texts".
void shortenAnswers(viz::Table& runs) {
  std::vector<QStringList> answers;
  for (const auto& row : runs.rows) answers.push_back(qs(row[kAnswer]).split(' '));
  qsizetype needed = 0;
  for (const QStringList& tokens : answers)
    for (qsizetype i = 0; i < tokens.size(); ++i)
      if (i >= answers[0].size() || tokens[i] != answers[0][i]) needed = std::max(needed, i + 1);
  for (std::size_t r = 0; r < answers.size(); ++r) runs.rows[r][kAnswer] = answerInLines(answers[r], needed).toStdString();
}

/// Room for the longest text of a column, in per cent of a page: words are not broken where they need not be.
QString roomFor(const viz::Table& table, std::size_t column) {
  qsizetype longest = static_cast<qsizetype>(table.columns[column].size() / 2);  // in two lines
  for (const auto& row : table.rows)
    for (const QString& line : linesOf(row[column])) longest = std::max(longest, line.size());
  return QString(" width=\"%1%\"").arg(std::min<int>(2 + static_cast<int>(longest) * 5 / 8, 24));
}

/// A plain number of a table as a reader wants it; the file of numbers has all its digits.
std::string printed(const std::string& cell) {
  bool ok = false;
  const double v = QString::fromStdString(cell).toDouble(&ok);
  if (!ok || !std::isfinite(v)) return cell;
  return cell.find_first_of(".e") == std::string::npos ? viz::format_count(std::llround(v)) : viz::format_number(v);
}

/// A number in its groups of three, or with its unit, in one line; a line could end behind its point.
QString unbroken(QString html, bool left) {
  return QString("<div align=\"%1\" style=\"white-space: nowrap\">%2</div>").arg(left ? "left" : "right", html.replace(' ', "&nbsp;"));
}

/// "mean KL (steps 1–12)", "mean KL (nats), lowest": what is in brackets, and behind them, in a line of its own.
QString headingHtml(const std::string& column, bool left) {
  const QString whole = esc(column);
  const qsizetype at = whole.indexOf(" ("), close = whole.lastIndexOf(')');
  if (at < 0 || close < at) return whole;
  const QString unit = whole.mid(at + 2, close - at - 2) + whole.mid(close + 1);
  if (!unit.contains(QChar(0x2013))) return whole.left(at) + "<br/>" + unit;
  // a line could end after the dash of "1–12"
  return QString("%1<div align=\"%2\" style=\"white-space: nowrap\">%3</div>").arg(whole.left(at), left ? "left" : "right", unit);
}

/// Of one cell of a part, from its text. Right of the leading columns numbers stand, and few texts.
bool inOneLine(const std::string& text, bool left, std::size_t column) {
  return (left && column == kAnswer) || text.size() <= kShort;  // a number stays with its unit, a letter with its name
}

/// What a column takes at least: the longest of what is not broken in it.
double leastWidth(const viz::Table& table, std::size_t column, bool left) {
  const QFontMetricsF names(uiFont(10)), cells(uiFont(12));
  double least = 0;
  for (const QString& word : qs(table.columns[column]).split(' ')) least = std::max(least, names.horizontalAdvance(word));
  for (const auto& row : table.rows) {
    const std::string text = left ? row[column] : printed(row[column]);
    for (const QString& line : linesOf(text))
      for (const QString& word : inOneLine(text, left, column) ? QStringList{line} : line.split(' '))
        least = std::max(least, cells.horizontalAdvance(word));
  }
  return std::ceil(least) + 2 * kCellPadding + kCellEdge;
}

/// Columns [first, last) behind the leading ones, which every part of a wide table has.
QString tablePart(const viz::Table& table, std::size_t n_left, std::size_t first, std::size_t last) {
  std::vector<std::size_t> shown;
  for (std::size_t c = 0; c < last; ++c)
    if (c < n_left || c >= first) shown.push_back(c);
  QString out = "<table cellspacing=\"0\" cellpadding=\"4\" width=\"100%\"><thead><tr>";
  for (const std::size_t c : shown)
    out += cell(headingHtml(table.columns[c], c < n_left), c < n_left, true, c < n_left ? roomFor(table, c) : QString());
  out += "</tr></thead>";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (const std::size_t c : shown) {
      const bool left = c < n_left;
      const std::string shows = left ? row[c] : printed(row[c]);
      const QString text = esc(linesOf(shows).join('\n')).replace('\n', "<br/>");
      out += cell(inOneLine(shows, left, c) ? unbroken(text, left) : text, left);
    }
    out += "</tr>";
  }
  return out + "</table>";
}

/// How many of the columns behind the leading ones stand beside each other: all parts have the same number, and fit on a page.
std::size_t columnsOfPart(const viz::Table& table, std::size_t n_left) {
  const std::size_t n = table.columns.size();
  std::vector<double> least;
  for (std::size_t c = 0; c < n; ++c) least.push_back(leastWidth(table, c, c < n_left));
  const auto of = [&](std::size_t first, std::size_t last) {
    return std::accumulate(least.begin() + static_cast<std::ptrdiff_t>(first), least.begin() + static_cast<std::ptrdiff_t>(last), 0.0);
  };
  const auto fits = [&](std::size_t each) {
    for (std::size_t first = n_left; first < n; first += each)
      if (of(0, n_left) + of(first, std::min(n, first + each)) > kPageWidth) return false;
    return true;
  };
  std::size_t parts = (n - n_left + kColumns - 1) / kColumns, each = (n - n_left + parts - 1) / parts;
  while (each > 1 && !fits(each)) each = (n - n_left + parts) / (parts + 1), ++parts;
  return each;
}

/// More columns than a page has room for go on in a table below, behind the same leading ones.
QString tableHtml(const viz::Table& table, std::size_t n_left) {
  const std::size_t n = table.columns.size(), each = n <= n_left ? 0 : columnsOfPart(table, n_left);
  const std::size_t parts = n <= n_left ? 1 : (n - n_left + each - 1) / each;
  QString out;
  for (std::size_t part = 0; part < parts; ++part) {
    if (part > 0) out += QString("<p class=\"note\">the same, %1 of %2</p>").arg(part + 1).arg(parts);
    out += tablePart(table, n_left, n_left + part * each, std::min(n, n_left + (part + 1) * each));
  }
  if (!table.note.empty()) out += "<p class=\"note\">" + esc(table.note) + "</p>";
  return out;
}

QString pairsHtml(const std::vector<std::pair<QString, QString>>& pairs, bool mono) {
  QString out = "<table cellspacing=\"0\" cellpadding=\"3\">";
  for (const auto& [name, value] : pairs)
    out +=
        "<tr>" + cell(esc(name), true) + QString("<td align=\"left\" class=\"left%1\">%2</td></tr>").arg(mono ? " mono" : "", esc(value));
  return out + "</table>";
}

std::vector<std::pair<QString, QString>> settings(const Report& r) {
  std::vector<std::pair<QString, QString>> out;
  for (const auto& [name, value] : share::settings(*r.snapshot, r.asked)) out.emplace_back(qs(name), qs(value));
  return out;
}

QString textRow(const QString& name, const std::vector<QString>& tokens) {
  QString text;
  for (std::size_t i = 0; i < std::min(tokens.size(), std::size_t(kTextTokens)); ++i) text += tokens[i];
  if (tokens.size() > kTextTokens) text += QString(" … %1 more").arg(tokens.size() - kTextTokens);
  return "<tr>" + cell(name, true, false, " width=\"20%\"") + "<td align=\"left\" class=\"left mono\">" + text + "</td></tr>";
}

QString texts(const Snapshot& s) {
  QString out = "<table cellspacing=\"0\" cellpadding=\"4\" width=\"100%\">";
  const bool own = s.follow == "self";
  std::vector<QString> read;  // where it is not what the full cache would say
  bool given = false;
  if (!own && !s.lanes.empty())
    for (const viz::GeneratedToken& token : viz::generated_tokens(s, s.lanes.front())) {
      read.push_back(esc(token.reference));
      given |= token.reference != token.choice;
    }
  if (given) out += textRow("the text that was read", read);
  for (std::size_t i = 0; i < s.lanes.size(); ++i) {
    const LaneSnapshot& lane = s.lanes[i];
    const int n_compared = steps_of_one_text(s, lane);
    std::vector<QString> says;
    for (const viz::GeneratedToken& token : viz::generated_tokens(s, lane))
      says.push_back(token.same || token.step >= n_compared ? esc(token.says)
                                                            : "<b><font color=\"#c2410c\">" + esc(token.says) + "</font></b>");
    out += textRow(esc(viz::lane_letter(static_cast<int>(i)) + " " + lane.title), says);
  }
  return out + QString("</table><p class=\"note\">%1</p>")
                   .arg(own ? "What each run went on with after every step; coloured: the full cache goes on with another token."
                            : "Each run's most likely token after every step; coloured: the full cache chooses another one.");
}

QString warnings(const Snapshot& s) {
  QString out;
  for (std::size_t i = 0; i < s.lanes.size(); ++i)
    for (const LaneWarning& w : s.lanes[i].warnings)
      out += "<li>" + esc(viz::lane_letter(static_cast<int>(i))) + ": " + esc(text_of(w)) + "</li>";
  return out.isEmpty() ? QString() : "<h2>Warnings</h2><ul>" + out + "</ul>";
}

/// source: how the page names picture i.
template <class Source>
QString page(const Report& r, Source source, Target target) {
  const Snapshot& s = *r.snapshot;
  const QString prompt = qs(s.prompt);
  QString out = QString("<!DOCTYPE html><html><head><meta charset=\"utf-8\"/><title>kvscope report</title><style>%1</style></head><body>")
                    .arg(QString(kStyle) + (target == Target::web ? kWebStyle : ""));
  out += QString("<h1>KV-cache compression: %1 on one prompt</h1>")
             .arg(s.lanes.size() == 1 ? QString("one run") : QString("%1 runs").arg(s.lanes.size()));
  out += QString("<p class=\"note\">kvscope %1 · %2 · every number was computed by these runs; n/a means not measured</p>")
             .arg(KVSCOPE_VERSION, esc(r.written));
  out +=
      "<h2>Prompt</h2><table width=\"100%\" cellpadding=\"8\" cellspacing=\"0\" bgcolor=\"#f5f7f9\"><tr><td align=\"left\" class=\"left prompt\">" +
      esc(prompt.left(kPromptShown)).replace('\n', "<br/>") + "</td></tr></table>";
  if (prompt.size() > kPromptShown)
    out += QString("<p class=\"note\">first %1 of %2 characters</p>")
               .arg(qs(viz::format_count(kPromptShown)), qs(viz::format_count(prompt.size())));
  out += "<h2>Settings</h2>" + pairsHtml(settings(r), false);
  viz::Table runs = r.runs;
  if (runs.columns.size() > kAnswer) shortenAnswers(runs);
  out += "<h2>Runs</h2>" + tableHtml(runs, kAnswer + 1);
  out += "<h2>Texts</h2>" + texts(s);
  for (std::size_t i = 0; i < r.pictures.size(); ++i) {
    const ReportPicture& p = r.pictures[i];
    const double wide = p.image.width() / p.image.devicePixelRatio(), high = std::max(1.0, p.image.height() / p.image.devicePixelRatio());
    const double scale = std::min({1.0, kPageWidth / std::max(1.0, wide), kPictureHeight / high});
    const int width = static_cast<int>(std::lround(scale * wide));
    // On sheets a picture is not cut in two, nor parted from its title and caption; a page of the web may be printed.
    const bool tall = target != Target::one_page && scale * high > kPictureHeight / 5;
    out += QString("<h2%4>%1</h2><p><img src=\"%2\" width=\"%3\"/></p>")
               .arg(esc(p.title), source(i))
               .arg(width)
               .arg(tall ? " style=\"page-break-before: always\"" : "");
    if (!p.caption.isEmpty()) out += "<p class=\"note\">" + esc(p.caption) + "</p>";
  }
  if (!r.sweep.rows.empty()) out += "<h2>Budget sweep</h2>" + tableHtml(r.sweep, 2);
  out += warnings(s);
  if (!r.bookmarks.empty()) {
    out += "<h2>Bookmarks</h2><ul>";
    for (const Bookmark& b : r.bookmarks) out += "<li>" + esc(b.name) + (b.note.isEmpty() ? QString() : ": " + esc(b.note)) + "</li>";
    out += "</ul>";
  }
  out += "<h2>To compute it again</h2><p class=\"mono\">" + esc(share::command_line(s, r.asked, "run")) + "</p>";
  out += "<h2>Versions</h2>" + pairsHtml(reportVersions(r), true) + "</body></html>";
  return out;
}

/// Of a row's cells: where their first line begins and their last one ends.
std::pair<double, double> extentOf(const QTextTable& table, int row) {
  const auto* layout = table.document()->documentLayout();
  double top = INFINITY, bottom = 0;
  for (int c = 0; c < table.columns(); ++c) {
    const QTextTableCell cell = table.cellAt(row, c);
    top = std::min(top, layout->blockBoundingRect(cell.firstCursorPosition().block()).top());
    bottom = std::max(bottom, layout->blockBoundingRect(cell.lastCursorPosition().block()).bottom());
  }
  return {top, bottom};
}

/// Where that ends by which a reader knows what follows a heading: the first line, of a table the row below its names.
double endOfBeginning(const QTextBlock& first) {
  QTextBlock block = first;
  if (const QTextTable* table = QTextCursor(first).currentTable()) {
    const int row = std::min(1, table->rows() - 1);
    const auto [top, bottom] = extentOf(*table, row);
    if (row > 0 && bottom - top < first.document()->pageSize().height() / 2) return bottom;
    block = table->cellAt(row, 0).firstCursorPosition().block();
  }
  const QRectF all = block.document()->documentLayout()->blockBoundingRect(block);
  const QTextLine line = block.layout()->lineCount() > 0 ? block.layout()->lineAt(0) : QTextLine();
  return line.isValid() ? all.top() + line.y() + line.height() : all.bottom();
}

/// After a change here and there the layout loses blocks and heights of pictures: all is laid out anew.
void layOutAnew(QTextDocument& document) { document.markContentsDirty(0, document.characterCount()); }

bool inTable(const QTextBlock& block) { return QTextCursor(block).currentTable() != nullptr; }
bool isHeading(const QTextBlock& block) { return block.blockFormat().headingLevel() > 0; }

/// A line that says of what is above it what it is: no heading, nor what names the part of a table that follows.
bool isCaption(const QTextBlock& block) {
  return block.isValid() && !block.text().isEmpty() && !inTable(block) && !isHeading(block) &&
         !(block.next().isValid() && inTable(block.next()));
}

/// A heading, and what names the next part of a table, stand on the page of what they head; of a picture, with its caption.
void keepHeading(QTextDocument& document, const QTextBlock& block) {
  const QTextBlock next = block.next();
  if (!next.isValid() || inTable(block) || !(isHeading(block) || (inTable(next) && !block.text().isEmpty()))) return;
  const double height = document.pageSize().height();
  const bool picture = next.text().contains(QChar::ObjectReplacementCharacter);
  const double top = document.documentLayout()->blockBoundingRect(block).top();
  const double end = endOfBeginning(picture && isCaption(next.next()) ? next.next() : next);
  if (std::floor((end - 1) / height) <= std::floor(top / height)) return;
  QTextBlockFormat format = block.blockFormat();
  format.setPageBreakPolicy(QTextFormat::PageBreak_AlwaysBefore);
  QTextCursor(block).setBlockFormat(format);
  layOutAnew(document);
}

/// The row reaches down to `foot`, that of its page.
void reachDown(QTextDocument& document, const QTextTable& table, int row, double foot) {
  const double room = foot - extentOf(table, row).second - 1;
  for (int c = 0; c < table.columns(); ++c) {
    QTextTableCell cell = table.cellAt(row, c);
    QTextTableCellFormat format = cell.format().toTableCellFormat();
    format.setBottomPadding(std::max(format.bottomPadding(), room));
    cell.setFormat(format);
  }
  layOutAnew(document);
}

/// A row is on one page: where it would be split, the row above it reaches down to the foot of its page.
void keepRows(QTextDocument& document, const QTextTable& table) {
  const double height = document.pageSize().height();
  for (int row = 2; row < table.rows(); ++row) {
    const auto [top, bottom] = extentOf(table, row);
    const double foot = (std::floor(top / height) + 1) * height;
    if (bottom <= foot || bottom - top > height / 2) continue;
    reachDown(document, table, row - 1, foot);
  }
}

/// What is said of a table stands on the page of its last row, which goes to the next page with it.
void keepCaption(QTextDocument& document, const QTextTable& table, const QTextBlock& caption) {
  const int last = table.rows() - 1;
  if (!isCaption(caption) || last < 1) return;
  const double height = document.pageSize().height();
  const double foot = (std::floor(extentOf(table, last).first / height) + 1) * height;
  if (endOfBeginning(caption) <= foot) return;
  reachDown(document, table, last - 1, foot);
}

/// From the first block on: what goes to the next page moves all that follows.
void keepTogether(QTextDocument& document) {
  const QTextTable* last = nullptr;
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
    keepHeading(document, block);
    const QTextTable* table = QTextCursor(block).currentTable();
    if (table && table != last) keepRows(document, *table);
    if (!table && last && !block.text().isEmpty()) keepCaption(document, *std::exchange(last, nullptr), block);
    if (table) last = table;
  }
}

}  // namespace

QString reportHtml(const Report& report) {
  return page(
      report,
      [&](std::size_t i) {
        QByteArray bytes;
        QBuffer buffer(&bytes);
        buffer.open(QIODevice::WriteOnly);
        report.pictures[i].image.save(&buffer, "PNG");
        return QString("data:image/png;base64,") + bytes.toBase64();
      },
      Target::web);
}

namespace {

std::unique_ptr<QTextDocument> documentOf(const Report& report, double margin, Target target) {
  auto document = std::make_unique<QTextDocument>();
  document->setDefaultFont(uiFont(12));
  document->setDocumentMargin(margin);
  QTextOption whole_words;
  whole_words.setWrapMode(QTextOption::WordWrap);
  document->setDefaultTextOption(whole_words);
  document->setDefaultStyleSheet(kStyle);
  for (std::size_t i = 0; i < report.pictures.size(); ++i)
    document->addResource(QTextDocument::ImageResource, QUrl(QString("picture%1").arg(i)), report.pictures[i].image);
  document->setHtml(page(
      report, [](std::size_t i) { return QString("picture%1").arg(i); }, target));
  return document;
}

}  // namespace

std::unique_ptr<QTextDocument> reportOnOnePage(const Report& report) {
  auto document = documentOf(report, kMargin, Target::one_page);
  document->setTextWidth(kPageWidth + 2 * kMargin);
  // The layout of pages needs a little more than that without: lines and rows do not cross its lower margin.
  for (double height = std::ceil(document->size().height()) + 1;; height += kMargin) {
    document->setPageSize({kPageWidth + 2 * kMargin, height});
    if (document->pageCount() == 1) return document;
  }
}

std::unique_ptr<QTextDocument> reportOnPaper(const Report& report, const QSizeF& paper) {
  auto document = documentOf(report, 0, Target::sheets);
  document->setPageSize(paper);
  keepTogether(*document);
  return document;
}

bool writeReport(const Report& report, const QString& path, ReportPaper paper, QString* error) {
  if (!path.endsWith(".pdf", Qt::CaseInsensitive)) return writeFile(path, reportHtml(report).toStdString(), error);
  const auto draw = [&](QPdfWriter& pdf) {
    pdf.setResolution(96);  // the points of the style sheet; text and lines stay vectors
    if (paper == ReportPaper::one_page) {
      const auto document = reportOnOnePage(report);
      const double scale = std::min(72.0 / 96, kTallestPage / document->pageSize().height());
      pdf.setPageLayout(QPageLayout(QPageSize(scale * document->pageSize(), QPageSize::Point, "report", QPageSize::ExactMatch),
                                    QPageLayout::Portrait, QMarginsF()));
      document->print(&pdf);
    } else {
      pdf.setPageLayout(QPageLayout(QPageSize(QPageSize::A4), QPageLayout::Landscape, QMarginsF(12, 12, 12, 12), QPageLayout::Millimeter));
      reportOnPaper(report, QSizeF(pdf.width(), pdf.height()))->print(&pdf);
    }
  };
  return writePdf(path, "kvscope report", draw, error);
}

}  // namespace kvscope
