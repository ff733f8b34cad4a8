// SPDX-License-Identifier: Apache-2.0
#include "app/window/lecture/handout.h"

#include <algorithm>

#include <QFileInfo>
#include <QPainter>
#include <QPdfWriter>
#include <QTextDocument>

#include "app/window/files/export.h"
#include "app/window/files/share_page.h"
#include "app/window/lecture/lecture_guide.h"
#include "app/window/look/style.h"
#include "app/window/session/window_model.h"
#include "app/window/shell/panel_paint.h"

namespace kvscope {

namespace {

constexpr int kLookMs = 120, kScenesOnSheet = 2;

QString sceneText(const share::PageScene& scene, int number) {
  return QString("<p style='margin:0 0 4px 0;color:#666666'>%1 · %2</p><p style='margin:0 0 4px 0;color:#000000'><b>%3</b> %4</p>")
      .arg(number)
      .arg(qs(scene.name).toHtmlEscaped(), qs(scene.message).toHtmlEscaped(), qs(scene.text).toHtmlEscaped());
}

void beginSheets(QPdfWriter& pdf) {
  pdf.setResolution(kHandoutDots);
  pdf.setPageLayout(QPageLayout(QPageSize(QPageSize::A4), QPageLayout::Portrait, QMarginsF(15, 15, 15, 15), QPageLayout::Millimeter));
}

}  // namespace

void paintHandout(QPainter& painter, const QSizeF& sheet, const QString& lesson, const std::vector<HandoutScene>& scenes,
                  const std::function<void()>& next) {
  const double width = sheet.width(), title = 0.3 * kHandoutDots, part = (sheet.height() - title) / kScenesOnSheet,
               gap = 0.1 * kHandoutDots;
  for (std::size_t i = 0; i < scenes.size(); ++i) {
    const auto row = i % kScenesOnSheet;
    if (i > 0 && row == 0) next();
    if (row == 0) {
      painter.setFont(uiFont(kHandoutDots * 12 / 96));
      painter.setPen(Qt::black);
      painter.drawText(QRectF(0, 0, width, title), Qt::AlignLeft | Qt::AlignTop, lesson);
    }
    QTextDocument words;
    words.setDefaultFont(uiFont(kHandoutDots * 13 / 96));
    words.setDocumentMargin(0);
    words.setHtml(sceneText(scenes[i].scene, static_cast<int>(i) + 1));
    words.setTextWidth(width);
    const double top = title + part * static_cast<double>(row), room = std::max(part / 4, part - words.size().height() - 3 * gap);
    const QSizeF size = QSizeF(scenes[i].picture.size()).scaled(width, room, Qt::KeepAspectRatio);
    painter.drawImage(QRectF(QPointF((width - size.width()) / 2, top), size), scenes[i].picture);
    painter.save();
    painter.translate(0, top + size.height() + gap);
    words.drawContents(&painter, QRectF(0, 0, width, part - size.height() - 2 * gap));
    painter.restore();
  }
}

bool writeHandout(const QString& lesson, const std::vector<HandoutScene>& scenes, const QString& path, QString* error) {
  const auto draw = [&](QPdfWriter& pdf) {
    beginSheets(pdf);
    QPainter painter(&pdf);
    paintHandout(painter, QSizeF(pdf.width(), pdf.height()), lesson, scenes, [&pdf] { pdf.newPage(); });
  };
  return writePdf(path, lesson, draw, error);
}

bool writeNotes(const QString& lesson, const std::vector<HandoutScene>& scenes, const QString& beside, const QString& path,
                QString* error) {
  const QString title = QString("%1: speaker notes to %2").arg(lesson, beside);
  const auto draw = [&](QPdfWriter& pdf) {
    beginSheets(pdf);
    QString all = QString("<p>%1</p>").arg(title.toHtmlEscaped());
    for (std::size_t i = 0; i < scenes.size(); ++i)
      all += sceneText(scenes[i].scene, static_cast<int>(i) + 1) + QString("<p>%1</p><hr>").arg(qs(scenes[i].scene.notes).toHtmlEscaped());
    QTextDocument words;
    words.setDefaultFont(uiFont(14));
    words.setHtml(all);
    words.print(&pdf);
  };
  return writePdf(path, title, draw, error);
}

Handout::Handout(LectureGuide& guide, WindowModel& model, std::function<QImage()> picture, QObject* parent)
    : QObject(parent), m_guide(guide), m_model(model), m_picture(std::move(picture)) {
  m_timer.setInterval(kLookMs);
  connect(&m_timer, &QTimer::timeout, this, &Handout::take);
  connect(&m_page, &FileWriter::written, this, [this](const QString& path, const QString& why) {
    why.isEmpty() ? Q_EMIT written(path, static_cast<int>(m_scenes.size()), m_left_out) : Q_EMIT failed(why);
    m_scenes.clear();
  });
  connect(&guide, &LectureGuide::leftOut, this, [this](const QString& words) {
    if (!running()) return;
    m_left_out = m_left_out.isEmpty() ? words : m_left_out + ", " + words.section(": ", 1);
  });
}

void Handout::cancel() {
  if (!running()) return;
  m_timer.stop();
  m_scenes.clear();
  m_parts.clear();
  m_guide.goTo(m_before);
  Q_EMIT ended();
}

void Handout::write(const QString& path) {
  if (running() || m_guide.scenes().empty()) return;
  m_path = path;
  m_scenes.clear();
  m_parts.clear();
  m_left_out.clear();
  m_before = m_guide.scene();
  Q_EMIT begun();
  m_guide.goTo(0);
  m_timer.start();
}

void Handout::take() {
  if (!m_guide.running()) {  // the lecture was left
    m_timer.stop();
    Q_EMIT ended();
    Q_EMIT failed("The handout was not written: the lecture was left before its last scene. Open it and write the handout again.");
    return;
  }
  if (m_guide.waiting()) return;
  const QImage picture = m_picture();
  if (picture.isNull()) return;
  const int scene = m_guide.scene();
  const Scene& at = m_guide.at(scene);
  const Caption caption = m_guide.caption();
  const SnapshotPtr snapshot = m_model.workspace.snapshotPtr();
  const std::size_t part = share::part_of(m_parts, snapshot, ShownFacts(m_model.controller, *snapshot).facts);
  m_scenes.push_back(
      {{at.name, caption.message, caption.text, at.notes, part, m_model.workspace.selection(), at.emphasis, at.compare}, picture});
  if (scene + 1 >= m_guide.nScenes()) return finish();
  m_guide.next();
  Q_EMIT reached(m_guide.scene());
}

QString Handout::notesBeside(const QString& path) const {
  const bool any = std::ranges::any_of(m_guide.scenes(), [](const Scene& s) { return !s.notes.empty(); });
  return any ? path.left(path.lastIndexOf('.')) + "-notes.pdf" : QString();
}

void Handout::finish() {
  m_timer.stop();
  m_guide.goTo(m_before);
  Q_EMIT ended();
  QString why;
  m_notes = notesBeside(m_path);
  if (!m_notes.isEmpty()) writeNotes(qs(m_guide.lesson().name), m_scenes, QFileInfo(m_path).fileName(), m_notes, &why);
  if (!why.isEmpty()) {
    m_scenes.clear();
    return void(Q_EMIT failed(why));
  }
  if (m_path.endsWith(".html", Qt::CaseInsensitive)) return writePage();
  if (writeHandout(qs(m_guide.lesson().name), m_scenes, m_path, &why))
    Q_EMIT written(m_path, static_cast<int>(m_scenes.size()), m_left_out);
  else
    Q_EMIT failed(why);
  m_scenes.clear();
}

void Handout::writePage() {
  share::PageLesson lesson{m_guide.lesson().name, {}, {}};
  for (const HandoutScene& scene : m_scenes) {
    lesson.scenes.push_back(scene.scene);
    lesson.scenes.back().notes.clear();
  }
  if (!m_notes.isEmpty())
    for (share::PagePart& part : m_parts)
      part.facts.notes.push_back("The speaker's notes to these scenes are in a file of their own: " +
                                 QFileInfo(m_notes).fileName().toStdString());
  m_page.write(
      [lesson = std::move(lesson), shown = ShownFacts(m_model.controller, *m_parts.front().snapshot),
       parts = std::move(m_parts)]() mutable {
        const share::Rows files = shown.withHashes().files;
        for (share::PagePart& part : parts) part.facts.files = files;
        return share::lesson_page(parts, lesson);
      },
      m_path);
}

}  // namespace kvscope
