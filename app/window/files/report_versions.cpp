// SPDX-License-Identifier: Apache-2.0
#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QSysInfo>

#include "app/window/files/report.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {

constexpr qint64 kWhole = 256 << 20, kPart = 16 << 20;

QString hashOf(const QString& path) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return "not readable";
  QCryptographicHash hash(QCryptographicHash::Sha256);
  if (file.size() <= kWhole) {
    hash.addData(&file);
    return hash.result().toHex();
  }
  hash.addData(file.read(kPart));
  hash.addData(QByteArray::number(file.size()));
  return hash.result().toHex() + QString(" (of the first 16 MiB and the size, %1)")
                                     .arg(QString::fromStdString(viz::format_bytes(static_cast<double>(file.size()))));
}

QString hashOf(const std::string& bytes) {
  return QCryptographicHash::hash(QByteArray::fromRawData(bytes.data(), static_cast<qsizetype>(bytes.size())), QCryptographicHash::Sha256)
      .toHex();
}

}  // namespace

std::vector<std::pair<QString, QString>> reportVersions(const Report& report) {
  std::vector<std::pair<QString, QString>> out;
  out.emplace_back("kvscope",
                   QString(KVSCOPE_VERSION) + (QString(KVSCOPE_COMMIT).isEmpty() ? QString() : QString(", commit ") + KVSCOPE_COMMIT));
  out.emplace_back("computed on",
                   QString::fromStdString(report.snapshot->device) + ", " + QString::fromStdString(report.snapshot->precision));
  out.emplace_back("system", QSysInfo::prettyProductName() + ", Qt " + qVersion());
  const QDir folder(report.model_folder);
  for (const QString& name : folder.entryList({"*.safetensors", "config.json", "tokenizer.model", "*_heads.json"}, QDir::Files, QDir::Name))
    out.emplace_back(name, "SHA-256 " + hashOf(folder.filePath(name)));
  out.emplace_back("prompt", "SHA-256 " + hashOf(report.snapshot->prompt));
  return out;
}

}  // namespace kvscope
