// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/film.h"

#if defined(__linux__)
#include <sys/prctl.h>
#include <csignal>
#endif

#include <algorithm>
#include <cmath>

#include <QFile>
#include <QPainter>
#include <QProcess>
#include <QStandardPaths>
#include <QStringList>

#include "app/window/files/export.h"

namespace kvscope {

namespace {

constexpr double kLastSeconds = 2;
constexpr int kLongestMs = 10 * 60 * 1000;

/// Whatever is beside it has its first colour.
QImage onPage(const QImage& picture, const QSize& size) {
  QImage page(size, QImage::Format_RGB32);
  page.fill(picture.pixel(0, 0));
  QImage drawn = picture;
  drawn.setDevicePixelRatio(1);
  QPainter(&page).drawImage(0, 0, drawn);
  return page;
}

bool isGif(const QString& path) { return path.endsWith(".gif", Qt::CaseInsensitive); }

}  // namespace

bool Film::isOne(const QString& path) { return isGif(path) || path.endsWith(".mp4", Qt::CaseInsensitive); }

Film::Film(const QString& path) : m_path(path), m_ffmpeg(QStandardPaths::findExecutable("ffmpeg")) {}

QString Film::problem() const {
  if (m_ffmpeg.isEmpty()) return m_path + ": films are written by ffmpeg, which is not installed (apt-get install ffmpeg)";
  return m_folder.isValid() ? QString() : QString("%1: no folder for its pictures (%2)").arg(m_path, m_folder.errorString());
}

QString Film::frame(int i) const { return m_folder.filePath(QString("%1.png").arg(i, 6, 10, QChar('0'))); }

bool Film::add(const QImage& picture, QString* error) {
  m_frames.push_back(picture.size());
  m_size = m_size.expandedTo(picture.size());
  return writePng(frame(static_cast<int>(m_frames.size()) - 1), onPage(picture, picture.size()), error);
}

/// What a picture says may need more height in one step than in another.
bool Film::makeEqual(QString* error) const {
  for (std::size_t i = 0; i < m_frames.size(); ++i) {
    const QString file = frame(static_cast<int>(i));
    if (m_frames[i] != m_size && !writePng(file, onPage(QImage(file), m_size), error)) return false;
  }
  return true;
}

bool Film::write(double per_second, QString* error) const {
  if (!makeEqual(error)) return false;
  const QString made = m_folder.filePath(isGif(m_path) ? "film.gif" : "film.mp4");
  // The last picture again and again: a longer one is nothing that both formats have. Few colours stay few in a GIF by a palette of its
  // own.
  const QString hold = QString("tpad=stop_mode=clone:stop_duration=%1").arg(kLastSeconds);
  QStringList words = {
      "-v", "error", "-nostdin", "-y", "-framerate", QString::number(per_second), "-i", m_folder.filePath("%06d.png"), "-filter_complex"};
  if (isGif(m_path))
    words << hold + ",split[a][b];[a]palettegen=stats_mode=full[p];[b][p]paletteuse=dither=none";
  else  // as players want it: even sizes, the index first
    words << hold + ",pad=ceil(iw/2)*2:ceil(ih/2)*2,format=yuv420p"
          << "-movflags"
          << "+faststart";
  QProcess ffmpeg;
#if defined(__linux__)
  ffmpeg.setChildProcessModifier([] { ::prctl(PR_SET_PDEATHSIG, SIGKILL); });  // it has nobody to write for then
#endif
  ffmpeg.start(m_ffmpeg, words << made);
  const bool ended = ffmpeg.waitForFinished(kLongestMs);
  if (!ended || ffmpeg.exitStatus() != QProcess::NormalExit || ffmpeg.exitCode() != 0) {
    const QString how = ffmpeg.error() == QProcess::FailedToStart     ? ffmpeg.errorString()
                        : !ended                                      ? QString("it took over ten minutes")
                        : ffmpeg.exitStatus() != QProcess::NormalExit ? QString("it was ended before it was done")
                                                                      : QString("status %1").arg(ffmpeg.exitCode());
    ffmpeg.kill();
    ffmpeg.waitForFinished();
    const QString said = QString::fromUtf8(ffmpeg.readAllStandardError()).simplified().left(400);
    *error = QString("%1: ffmpeg did not write it: %2").arg(m_path, said.isEmpty() ? how : said);
    return false;
  }
  QFile film(made);
  if (!film.open(QIODevice::ReadOnly)) {
    *error = QString("%1: ffmpeg left no film (%2)").arg(m_path, film.errorString());
    return false;
  }
  return writeFile(m_path, film.readAll().toStdString(), error);
}

}  // namespace kvscope
