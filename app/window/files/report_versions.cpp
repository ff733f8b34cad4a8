// SPDX-License-Identifier: Apache-2.0
#include <QSysInfo>

#include "app/share/how_made.h"
#include "app/window/files/report.h"
#include "app/window/shell/panel_paint.h"
#include "io/file_hash.h"
#include "io/sha256.h"

namespace kvscope {

std::vector<std::pair<QString, QString>> reportVersions(const Report& report) {
  std::vector<std::pair<QString, QString>> out;
  out.emplace_back("kvscope",
                   QString(KVSCOPE_VERSION) + (QString(KVSCOPE_COMMIT).isEmpty() ? QString() : QString(", commit ") + KVSCOPE_COMMIT));
  out.emplace_back("computed on",
                   QString::fromStdString(report.snapshot->device) + ", " + QString::fromStdString(report.snapshot->precision));
  out.emplace_back("system", QSysInfo::prettyProductName() + ", Qt " + qVersion());
  if (report.model_folder.isEmpty()) out.emplace_back("the model's files", "n/a: it is not known here by which these runs were computed");
  for (const auto& [name, hash] : share::model_hashes(report.model_folder.toStdString(), report.snapshot->model_stamp))
    out.emplace_back(qs(name), qs(hash));
  for (const auto& [name, file] : report.tables) {
    const bool same = SeenFile::now(file.path) == file;
    out.emplace_back(qs(name), same ? qs(share::hash_of(file.path.toStdString())) : QString(kChangedSinceRead));
  }
  out.emplace_back("prompt", "SHA-256 " + qs(hexadecimal(sha256(report.snapshot->prompt))));
  return out;
}

}  // namespace kvscope
