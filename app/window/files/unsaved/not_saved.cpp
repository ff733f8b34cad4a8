// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/unsaved/not_saved.h"

#include "app/window/rows/rows.h"

namespace kvscope {

void NotSaved::say(const QString& why) {
  end();  // the reason of the time before
  m_said = why;
  m_notices.show(why, why);
}

void NotSaved::ask(const QString& path, const QString& why, const std::function<void(const SeenFile& read)>& over) {
  end();
  m_said = QString("%1 was not saved: %2").arg(path, why);
  m_notices.show(m_said, m_said, "Save as…", m_save_as, "Write over it", [this, over, read = SeenFile::now(path)] {
    end();
    over(read);
  });
}

void NotSaved::end() { m_notices.takeBack(std::exchange(m_said, {})); }

}  // namespace kvscope
