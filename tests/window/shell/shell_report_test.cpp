// SPDX-License-Identifier: Apache-2.0
// A report on paper.
#include <set>

#include <QAbstractTextDocumentLayout>
#include <QFile>
#include <QTemporaryDir>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextDocument>
#include <QTextLayout>
#include <QTextTable>

#include "app/window/files/report.h"
#include "viz/draw/format.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

class ReportOnPaperTest : public WindowTest {
 protected:
  /// The report with a prompt of so many lines, which pushes all that follows down.
  Report withLines(int n) {
    Report report = window->exports().report();
    Snapshot s = *report.snapshot;
    s.prompt.clear();
    for (int i = 0; i < n; ++i) s.prompt += "line " + std::to_string(i) + "\n";
    report.snapshot = std::make_shared<const Snapshot>(std::move(s));
    return report;
  }
  static constexpr double kWidth = 1032, kHeight = 703;  // A4 across, less the margins
};

TEST_F(ReportOnPaperTest, CountsTheRunsThatItShows) {
  const Report report = window->exports().report();
  EXPECT_EQ(report.runs.rows.size(), report.snapshot->lanes.size());
  EXPECT_TRUE(reportHtml(report).contains(QString("<h1>KV-cache compression: %1 runs on one prompt</h1>").arg(report.runs.rows.size())));
}

TEST_F(ReportOnPaperTest, APromptOfIdsIsComputedAgainFromThem) {
  RunRequest request = window->controller().request();
  request.prompt_ids = {1, 300, 17, 299, 5};
  window->controller().openRequest(request);
  ASSERT_TRUE(settle());
  EXPECT_TRUE(reportHtml(window->exports().report()).contains("--prompt-ids 1,300,17,299,5 ")) << "their text may be other tokens";
}

TEST_F(ReportOnPaperTest, NumbersHaveTheDigitsOfAReader) {
  Report report = window->exports().report();
  report.runs.columns = {"run", "specification", "answer", "mean KL, nats (steps 1–4)", "KV bytes (step 4)"};
  report.runs.rows = {{"B", "h2o", "0.12345", "0.15233808755874634", "153600"}};
  const QString html = reportHtml(report);
  EXPECT_TRUE(html.contains(">0.152<"));
  EXPECT_FALSE(html.contains("0.15233808755874634"));
  EXPECT_TRUE(html.contains("nowrap\">" + QString::fromStdString(viz::format_count(153600)))) << "in groups of three, in one line";
  EXPECT_TRUE(html.contains("0.12345")) << "an answer is no number";
}

TEST_F(ReportOnPaperTest, AWideTableGoesOnBelowWithWholeHeadings) {
  Report report = window->exports().report();
  report.sweep.columns = {"policy", "run"};
  for (int i = 0; i < 40; ++i) report.sweep.columns.push_back("NLL " + std::to_string(i) + " (nats, less is better), mean");
  report.sweep.rows = {std::vector<std::string>(42, "1.5")};
  const QString html = reportHtml(report), sweep = html.mid(html.indexOf("Budget sweep"));
  EXPECT_EQ(sweep.count("<br/>nats, less is better, mean<"), 40) << "no heading is cut, none is left out";
  EXPECT_EQ(sweep.count(">policy<"), 4) << "every part says whose numbers these are";
}

TEST_F(ReportOnPaperTest, NoHeadingStandsAloneAtTheFootOfAPage) {
  int n_moved = 0;
  for (int n = 0; n < 30; ++n) {
    const auto document = reportOnPaper(withLines(n), {kWidth, kHeight});
    const auto page_of = [&](const QTextBlock& block) {
      const QRectF all = document->documentLayout()->blockBoundingRect(block);
      const double line = block.layout()->lineCount() > 0 ? block.layout()->lineAt(0).rect().bottom() : all.height();
      return static_cast<int>((all.top() + line - 1) / kHeight);
    };
    int n_headings = 0;
    for (QTextBlock block = document->begin(); block.isValid(); block = block.next()) {
      if (block.blockFormat().headingLevel() != 2) continue;
      ++n_headings;
      EXPECT_EQ(page_of(block), page_of(block.next())) << block.text().toStdString() << " after " << n << " lines";
      if (const QTextTable* table = QTextCursor(block.next()).currentTable(); table && table->rows() > 1) {
        EXPECT_EQ(page_of(block), page_of(table->cellAt(1, 0).firstCursorPosition().block()))
            << block.text().toStdString() << " and its first row";
      }
      n_moved += block.text() == "Texts" && block.blockFormat().pageBreakPolicy() == QTextFormat::PageBreak_AlwaysBefore;
    }
    EXPECT_GE(n_headings, 6);
  }
  EXPECT_GT(n_moved, 0) << "else the test has not seen the case";
  EXPECT_LT(n_moved, 15) << "and it is moved only where it has to be";
}

// What is said of a table or of a picture stands below it, what names the next part of a table above that.
TEST_F(ReportOnPaperTest, ACaptionStandsOnThePageOfWhatItIsSaidOf) {
  int n_captions = 0, n_parts = 0, n_moved = 0;
  for (int n = 1; n < 40; n += 2) {
    Report report = withLines(n);
    report.sweep.columns = {"policy", "run"};
    for (int i = 0; i < 30; ++i) report.sweep.columns.push_back("NLL");
    report.sweep.rows.assign(5, std::vector<std::string>(32, "1.5"));
    QImage low(800, 60, QImage::Format_RGB32);
    low.fill(Qt::gray);
    report.pictures = {{"Low", "Said of the picture", low}};
    const auto document = reportOnPaper(report, {kWidth, kHeight});
    const auto page_of = [&](const QTextBlock& block) {
      const double line = block.layout()->lineAt(0).rect().bottom();
      return static_cast<int>((document->documentLayout()->blockBoundingRect(block).top() + line - 1) / kHeight);
    };
    for (QTextBlock block = document->begin(); block.isValid(); block = block.next()) {
      const bool part = block.text().startsWith("the same, ");
      if (part) {
        const QTextTable* table = QTextCursor(block.next()).currentTable();
        ASSERT_NE(table, nullptr);
        EXPECT_EQ(page_of(block), page_of(table->cellAt(1, 0).firstCursorPosition().block())) << n << " lines";
        n_moved += block.blockFormat().pageBreakPolicy() == QTextFormat::PageBreak_AlwaysBefore;
      }
      const bool caption = block.text().startsWith("Each run's most likely token") || block.text() == "Said of the picture";
      if (caption) {
        EXPECT_EQ(page_of(block), page_of(block.previous())) << block.text().toStdString() << " after " << n << " lines";
      }
      n_parts += part;
      n_captions += caption;
    }
  }
  EXPECT_EQ(n_captions, 40);
  EXPECT_EQ(n_parts, 40);
  EXPECT_GT(n_moved, 0) << "else the test has not seen the case";
}

TEST_F(ReportOnPaperTest, ALongTableHasItsNamesOnEveryPageAndNoNumberInTwoLines) {
  Report report = withLines(40);
  report.sweep.columns = {"policy", "run"};
  for (int i = 0; i < 12; ++i) report.sweep.columns.push_back("tokens per second (on the machine that computed the item), mean");
  std::vector<std::string> row(14, "0.000123456");
  row[0] = "SnapKV", row[1] = "snapkv:ratio=0.2";
  report.sweep.rows.assign(40, row);
  const auto document = reportOnPaper(report, {kWidth, kHeight});
  int n_numbers = 0;
  for (QTextBlock block = document->begin(); block.isValid(); block = block.next()) {
    const QTextTable* table = QTextCursor(block).currentTable();
    if (block.text() == "Budget sweep") {
      const QTextTable* of_sweep = QTextCursor(block.next()).currentTable();
      ASSERT_NE(of_sweep, nullptr);
      EXPECT_EQ(of_sweep->format().toTableFormat().headerRowCount(), 1);
      const auto page_of = [&](const QTextBlock& b) {
        return std::floor(document->documentLayout()->blockBoundingRect(b).top() / kHeight);
      };
      EXPECT_EQ(page_of(block), page_of(of_sweep->cellAt(1, 0).firstCursorPosition().block()));
    }
    if (!table || !block.text().startsWith("0.000123")) continue;
    ++n_numbers;
    EXPECT_EQ(block.layout()->lineCount(), 1) << block.text().toStdString();
  }
  EXPECT_EQ(n_numbers, 40 * 12);
}

// A score by hand has spaces, or is one long word; long names, long runs and long numbers stand beside each other.
TEST_F(ReportOnPaperTest, EveryColumnIsOnThePageHoweverLongTheRunsAre) {
  for (const std::string& score : {std::string("max(ema, last) * vnorm"), std::string(60, 's'), std::string("mean")}) {
    Report report = window->exports().report();
    report.sweep.columns = {"policy", "run"};
    for (int i = 0; i < 20; ++i) report.sweep.columns.push_back("KV bytes (used by the slots, less is better), mean");
    for (const char* name : {"compared with", "better on", "worse on", "of items"}) report.sweep.columns.emplace_back(name);
    const std::string spec = "custom:score=\"" + score + "\",name=mine,ratio=0.1";
    std::vector<std::string> row(26, "1385472");
    row[0] = score, row[1] = row[22] = spec;
    report.sweep.rows.assign(3, row);
    for (const auto& document : {reportOnOnePage(report), reportOnPaper(report, {kWidth, kHeight})}) {
      const auto* layout = document->documentLayout();
      EXPECT_LE(layout->documentSize().width(), document->pageSize().width() + 4) << score;  // edges, in whole points
      int n_numbers = 0, n_items = 0;
      for (QTextBlock block = document->begin(); block.isValid(); block = block.next()) {
        if (!QTextCursor(block).currentTable()) continue;
        const QRectF at = layout->blockBoundingRect(block);
        EXPECT_LE(at.right(), document->pageSize().width()) << block.text().toStdString();
        for (int i = 0; i < block.layout()->lineCount(); ++i) {
          const QRectF line = block.layout()->lineAt(i).naturalTextRect();
          EXPECT_LE(line.right(), at.width() + 2) << "runs out of its column: " << block.text().toStdString();
        }
        n_items += block.text() == "of items";
        if (!block.text().startsWith("1") || !block.text().endsWith("472")) continue;
        ++n_numbers;
        EXPECT_EQ(block.layout()->lineCount(), 1) << block.text().toStdString();
      }
      EXPECT_EQ(n_numbers, 3 * 23) << score;
      EXPECT_EQ(n_items, 1);
    }
  }
}

TEST_F(ReportOnPaperTest, NoRowIsSplitAndAnswersAreAsLongAsTheyTellRunsApart) {
  Report report = window->exports().report();
  const auto& rows = report.runs.rows;
  while (report.runs.rows.size() < 9) report.runs.rows.push_back(rows[1 + report.runs.rows.size() % 4]);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    report.runs.rows[i][1] =
        "custom:slots=33,stat=score,score=mean * vnorm * exp(-age/64),sinks=4,recent=16,group=mean " + std::to_string(i);
    report.runs.rows[i][2] = std::string(i == 3 ? "4 7* 7* . ↵ What*" : "4 8 2 . ↵ ⟨s⟩") + " ·One ·of ·the ·special ·magic ·numbers";
  }
  int n_moved = 0;
  for (int n = 0; n < 40; n += 3) {
    Report pushed = report;
    pushed.snapshot = withLines(n).snapshot;
    const auto document = reportOnPaper(pushed, {kWidth, kHeight});
    const auto* layout = document->documentLayout();
    const QTextTable* before = nullptr;
    for (QTextBlock block = document->begin(); block.isValid(); block = block.next()) {
      const QTextTable* table = QTextCursor(block).currentTable();
      if (!table || table == before) continue;
      before = table;
      double last = 0;
      for (int row = 1; row < table->rows(); ++row) {
        std::set<int> pages;
        for (int c = 0; c < table->columns(); ++c)
          for (QTextBlock b = table->cellAt(row, c).firstCursorPosition().block();; b = b.next()) {
            const QRectF at = layout->blockBoundingRect(b);
            pages.insert(static_cast<int>(at.top() / kHeight));
            pages.insert(static_cast<int>((at.bottom() - 1) / kHeight));
            if (b == table->cellAt(row, c).lastCursorPosition().block()) break;
          }
        EXPECT_EQ(pages.size(), 1u) << "row " << row << " of a table of " << table->rows() << ", " << n << " lines";
        n_moved += row > 1 && *pages.begin() > last;
        last = *pages.begin();
      }
    }
    if (n > 0) continue;
    const QString text = document->toPlainText();
    EXPECT_TRUE(text.contains("4 7* 7* . ↵ What* ·One …")) << text.toStdString();
    EXPECT_TRUE(text.contains("4 8 2 . ↵ ⟨s⟩ ·One ·of …"));
    EXPECT_FALSE(text.contains(" ·numbers")) << "all runs end so";
  }
  EXPECT_GT(n_moved, 3) << "else the test has not seen the case";
}

TEST_F(ReportOnPaperTest, AnAnswerHasTwoLinesAtMost) {
  Report report = window->exports().report();
  for (std::size_t i = 0; i < report.runs.rows.size(); ++i) {
    std::string& answer = report.runs.rows[i][2];
    answer = "first";
    for (int k = 0; k < 40; ++k) answer += " ·token" + std::to_string(k);
    answer += i == 1 ? " ·this" : " ·that";
  }
  QString html = reportHtml(report);
  html = html.left(html.indexOf("<h2>Texts"));
  EXPECT_TRUE(html.contains("first&nbsp;·token0&nbsp;·token1<br/>·token2&nbsp;·token3&nbsp;…<"))
      << html.mid(html.indexOf("first"), 200).toStdString();
  for (auto& row : report.runs.rows) row[2] = "4 8 2";
  EXPECT_TRUE(reportHtml(report).contains("nowrap\">4&nbsp;8&nbsp;2<")) << "what fits is there, though all say so";
}

int pagesOf(const QString& path) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return -1;
  return static_cast<int>(file.readAll().count("/Type /Page\n"));
}

TEST_F(ReportOnPaperTest, APdfIsOnePageUnlessSheetsAreAskedFor) {
  QTemporaryDir folder;
  for (const int n : {1, 300}) {
    const Report report = withLines(n);
    const auto document = reportOnOnePage(report);
    EXPECT_EQ(document->pageCount(), 1) << n << " lines";
    const auto sheets = reportOnPaper(report, {kWidth, kHeight});
    EXPECT_GE(document->pageSize().height(), (sheets->pageCount() - 6) * kHeight) << "nothing is cut";
    const QString one = folder.filePath("one.pdf"), many = folder.filePath("many.pdf");
    QString why;
    ASSERT_TRUE(writeReport(report, one, ReportPaper::one_page, &why)) << why.toStdString();
    ASSERT_TRUE(writeReport(report, many, ReportPaper::a4_sheets, &why)) << why.toStdString();
    EXPECT_EQ(pagesOf(one), 1) << n << " lines";
    EXPECT_GT(pagesOf(many), 3) << n << " lines";
  }
}

// Each picture and each line is drawn on the page where the layout has it: seen in what the pages look like, not in what the document says.
TEST_F(ReportOnPaperTest, EveryPageIsDrawn) {
  for (int n = 1; n <= 60; n += 3) {
    const auto document = reportOnPaper(withLines(n), {kWidth, kHeight});
    const int n_pages = document->pageCount();
    ASSERT_GT(n_pages, 2);
    for (int page = 0; page < n_pages; ++page) {
      QImage paper(static_cast<int>(kWidth), static_cast<int>(kHeight), QImage::Format_RGB32);
      paper.fill(Qt::white);
      QPainter painter(&paper);
      painter.translate(0, -page * kHeight);
      document->drawContents(&painter, QRectF(0, page * kHeight, kWidth, kHeight));
      painter.end();
      bool blank = true;
      for (int y = 0; y < paper.height() && blank; ++y)
        for (int x = 0; x < paper.width() && blank; x += 2) blank = paper.pixelColor(x, y) == QColor(Qt::white);
      EXPECT_FALSE(blank) << "page " << page + 1 << " of " << n_pages << ", " << n << " lines";
    }
  }
}

TEST_F(ReportOnPaperTest, ARangeOfStepsStaysInOneLineAndIsCopiedAsItIsWritten) {
  for (const double width : {kWidth, 420.0}) {
    const auto document = reportOnPaper(window->exports().report(), {width, kHeight});
    EXPECT_FALSE(document->toPlainText().contains(QChar(0x2060)));
    int n = 0;
    for (QTextBlock block = document->begin(); block.isValid(); block = block.next()) {
      if (!block.text().contains(QString("1") + QChar(0x2013) + "4")) continue;
      if (!QTextCursor(block).currentTable()) continue;
      ++n;
      EXPECT_EQ(block.layout()->lineCount(), 1) << block.text().toStdString() << " at " << width;
      EXPECT_TRUE(block.blockFormat().alignment() & Qt::AlignRight) << "above its numbers";
    }
    EXPECT_GT(n, 0);
  }
}

}  // namespace
}  // namespace kvscope
