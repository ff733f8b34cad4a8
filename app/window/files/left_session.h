// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <QString>

#include "app/window/session/seen_file.h"
#include "app/window/session/session_file.h"

class QSettings;

namespace kvscope {

/// What an earlier program left unsaved.
struct LeftSession {
  SavedSession session;
  QString path;   // of its journal
  QString words;  // so that its owner knows it again
  SeenFile file;  // whose it is; path empty: it had none

  /// Whether its offer was answered by its cross. settings nullptr: nothing is remembered.
  bool dismissed(const QSettings* settings) const;
  void dismiss(QSettings& settings) const;
};

/// The newest in the folder that can be read; unread: a sentence of the newest that cannot, where none can.
std::optional<LeftSession> newestLeft(const QString& folder, QString* unread);

}  // namespace kvscope
