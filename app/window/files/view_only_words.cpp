// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/view_only_words.h"

#include <QStringList>

#include "app/run_options.h"
#include "app/window/rows/rows.h"
#include "app/window/session/start_place.h"
#include "app/window/session/window_model.h"
#include "app/window/shell/options.h"
#include "app/window/shell/panel_paint.h"

namespace kvscope {

void ViewOnlyWords::say(const Trace& trace, QString text, bool ours) {
  for (const std::string& what_is : trace.missing) text += QString(" %1.").arg(qs(what_is));
  QStringList words;
  for (const std::string& warning : trace.warnings) words << qs(warning);
  if (!trace.warnings.empty())
    text += QString(" %1 in it: %2").arg(trace.warnings.size() == 1 ? "A warning" : "Warnings", words.join("; "));
  const auto open_here = [this] {
    m_notices.dismiss();
    m_model.controller.loadModel(qs(builtInModel()));
    m_place.want(m_model.workspace.selection());
  };
  m_say = [=, this](const QString& before) {
    const QString all = before + text;
    ours ? m_notices.show(all, all, "Compute it here", open_here, "Open a model…", m_open_model)
         : m_notices.show(all, all, "Open a model…", m_open_model);
  };
  m_say({});
}

bool ViewOnlyWords::sayAgain(const QString& why) const {
  if (!m_say || why != m_model.controller.whyViewOnly()) return false;
  m_say("Nothing was changed. ");
  return true;
}

void ViewOnlyWords::takeSnapshot() {
  if (!m_say || m_model.controller.viewOnly()) return;
  m_say = nullptr;
  if (m_notices.text().contains("View only: ")) m_notices.dismiss();
}

}  // namespace kvscope
