// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>

#include "app/window/session/seen_file.h"
#include "app/window/session/session_file.h"

namespace kvscope {

inline constexpr const char* kBack = "Back to the session before";  // a button

/// A session that waits, or whose place another one takes.
struct Aside {
  SavedSession session;
  SeenFile file;
  QStringList unread;      // what the file holds and was left out when it was opened
  bool unsaved = false;    // no file has it
  QString left = {};       // how it is found again among what was left behind
  bool backed_up = false;  // by a file, whatever becomes of this window

  /// What took the place of this one, which was not saved.
  QString openedOver(const QString& what) const {
    return what + (backed_up ? "; what was there before was not saved, and is kept to be recovered"
                             : "; what was there before was not saved, and could not be backed up: Help > Welcome has it until the "
                               "window closes");
  }
};

}  // namespace kvscope
