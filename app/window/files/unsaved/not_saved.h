// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include <QString>

#include "app/window/session/seen_file.h"

namespace kvscope {

class MessageBar;

/// What is said of a session that was not saved, until it is or another one takes its place.
class NotSaved {
 public:
  NotSaved(MessageBar& notices, std::function<void()> save_as) : m_notices(notices), m_save_as(std::move(save_as)) {}
  void say(const QString& why);
  /// The file is written over by who reads why it was not. `over`: by that; the file may have changed once more until then.
  void ask(const QString& path, const QString& why, const std::function<void(const SeenFile& read)>& over);
  void end();

 private:
  MessageBar& m_notices;
  std::function<void()> m_save_as;
  QString m_said;
};

}  // namespace kvscope
