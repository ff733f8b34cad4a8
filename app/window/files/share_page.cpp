// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/share_page.h"

#include <exception>
#include <utility>

#include "app/window/session/session_controller.h"
#include "io/files.h"
#include "io/result_files.h"

namespace kvscope {

ShownFacts::ShownFacts(const SessionController& controller, const Snapshot& snapshot) {
  const RunRequest& request = controller.request();
  const bool known = !controller.viewOnly();  // an opened trace does not say how it was sampled, nor by which file
  facts.asked = {static_cast<int>(snapshot.tokens.size()) - snapshot.n_prompt, known ? std::optional(request.temperature) : std::nullopt,
                 request.seed};
  if (known && !controller.computesElsewhere()) model = controller.modelFolder().toStdString();
  stamp = snapshot.model_stamp;
}

share::PageFacts ShownFacts::withHashes() const {
  share::PageFacts out = facts;
  if (!model.empty()) out.files = share::model_hashes(model, stamp);
  return out;
}

SharePage::SharePage(QObject* parent) : QObject(parent) { m_thread.setMaxThreadCount(1); }

SharePage::~SharePage() { m_thread.waitForDone(); }

void SharePage::write(std::function<std::string()> page, const QString& path) {
  m_thread.start([this, page = std::move(page), path] {
    QString why;
    try {
      check_no_model_file(path.toStdString());
      write_atomically(path.toStdString(), page());
    } catch (const std::exception& error) {  // memory, too
      why = QString::fromUtf8(error.what());
    }
    QMetaObject::invokeMethod(
        this, [this, path, why] { Q_EMIT written(path, why); }, Qt::QueuedConnection);
  });
}

}  // namespace kvscope
