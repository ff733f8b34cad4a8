// SPDX-License-Identifier: Apache-2.0
#include "app/window/rows/run_messages.h"

#include "app/window/rows/rows.h"
#include "app/window/rows/window_rows.h"
#include "app/window/session/window_model.h"
#include "io/mapped_file.h"

namespace kvscope {

RunMessages::RunMessages(WindowModel& model, WindowRows& rows) : m_model(model), m_rows(rows) {
  // Why a run of the model before failed says nothing of this one, whose first result may take long.
  connect(&model.controller, &SessionController::modelOpened, this, [this] {
    m_lost = false;
    m_rows.messages().clear();
  });
}

void RunMessages::takeSnapshot() {
  const Snapshot& snapshot = m_model.workspace.snapshot();
  MessageBar& bar = m_rows.messages();
  const bool answered = snapshot.phase == RunPhase::computing && m_model.controller.answersNewest(snapshot);
  if (answered) m_begun = snapshot.generation;
  if (snapshot.phase == RunPhase::idle || answered) return bar.clear();
  if (snapshot.phase != RunPhase::failed) return;
  m_lost = m_lost || snapshot.failure.ends_with(kOpenAnew);
  // What is still shown must not pass for the answer to what was refused.
  const bool other_text = snapshot.prompt != m_model.controller.request().prompt;
  const QString still = snapshot.lanes.empty()           ? QString()
                        : snapshot.generation == m_begun ? QString(". All pictures and numbers are of what was computed before that")
                        : other_text                     ? QString(". All pictures and numbers are still those of the text before")
                                                         : QString(". All pictures and numbers are still those of before");
  const QString what = QString::fromStdString(snapshot.failure) + still;
  const QString details =
      QString("kvscope %1\nmodel: %2\ndevice: %3\n%4")
          .arg(KVSCOPE_VERSION, QString::fromStdString(snapshot.model.name), QString::fromStdString(snapshot.device), what);
  const bool reads_no_text = SessionController::readsNoText(snapshot);  // the model that is open now: nothing typed will be computed
  if (snapshot.model.n_layers == 0 || reads_no_text)                    // nothing to fall back to
    bar.show(
        what, details, "Use the built-in model", [this] { Q_EMIT modelRequested(QString::fromStdString(builtInModel())); }, "Open model…",
        [this] { Q_EMIT modelRequested({}); });
  else if (!snapshot.cut.text.empty())
    bar.show(what, details, QString("Cut to the first %1 tokens").arg(snapshot.cut.n_tokens),
             [this, text = QString::fromStdString(snapshot.cut.text)] { Q_EMIT promptRequested(text); });
  else if (m_lost)
    bar.show(what, details, "Open the model again", [this] { m_model.controller.loadModel(m_model.controller.modelFolder()); });
  else
    bar.show(what, details);
}

}  // namespace kvscope
