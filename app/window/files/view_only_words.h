// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include <QString>

#include "app/window/session/stored_results.h"

namespace kvscope {

class MessageBar;
class StartPlace;
struct WindowModel;

/// Why nothing is computed while stored results are shown, and the ways on.
class ViewOnlyWords {
 public:
  /// place: where what is computed instead is looked at where the stored results were.
  ViewOnlyWords(WindowModel& model, StartPlace& place, MessageBar& notices, std::function<void()> open_model)
      : m_model(model), m_place(place), m_notices(notices), m_open_model(std::move(open_model)) {}

  /// ours: the model that comes with the program made them.
  void say(const Trace& trace, QString text, bool ours);
  /// False: `why` something is refused is another reason.
  bool sayAgain(const QString& why) const;
  /// Words that nothing is computed go once a model is open.
  void takeSnapshot();

 private:
  WindowModel& m_model;
  StartPlace& m_place;
  MessageBar& m_notices;
  std::function<void()> m_open_model;
  std::function<void(const QString& before)> m_say;
};

}  // namespace kvscope
