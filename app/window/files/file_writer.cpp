// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/file_writer.h"

#include <exception>
#include <utility>

#include "io/result_files.h"

namespace kvscope {

FileWriter::FileWriter(QObject* parent) : QObject(parent) { m_thread.setMaxThreadCount(1); }

FileWriter::~FileWriter() { m_thread.waitForDone(); }

void FileWriter::write(std::function<std::string()> make, const QString& path) {
  writePieces([make = std::move(make)](const TakesText& take) { take(make()); }, path);
}

void FileWriter::writePieces(std::function<void(const TakesText& take)> make, const QString& path) {
  m_thread.start([this, make = std::move(make), path] {
    QString why;
    try {
      check_no_model_file(path.toStdString());
      write_atomically(path.toStdString(), make);
    } catch (const std::exception& error) {  // memory, too
      why = QString::fromUtf8(error.what());
    }
    QMetaObject::invokeMethod(
        this, [this, path, why] { Q_EMIT written(path, why); }, Qt::QueuedConnection);
  });
}

}  // namespace kvscope
