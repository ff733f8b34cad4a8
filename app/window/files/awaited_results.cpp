// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/awaited_results.h"

#include <utility>

#include <QFileInfo>

#include "app/window/rows/rows.h"
#include "app/window/session/stored_results.h"

namespace kvscope {

void AwaitedResults::read(const OfSession& of, const QString& path) {
  m_of = of;
  m_said = QString("the results of %1 are being read").arg(QFileInfo(path).fileName());
  m_notices.show(m_said, m_said);
  m_results.read(of.session.results, path);
}

void AwaitedResults::say(const QString& path) {
  m_of.reset();
  m_said = path + " is being read";
  m_notices.show(m_said, path);
}

void AwaitedResults::stop() {
  m_of.reset();
  m_results.giveUpReading();
  if (!m_said.isEmpty()) m_notices.takeBack(std::exchange(m_said, {}));
}

std::optional<AwaitedResults::OfSession> AwaitedResults::end() {
  m_said.clear();
  return std::exchange(m_of, std::nullopt);
}

}  // namespace kvscope
