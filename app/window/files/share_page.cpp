// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/share_page.h"

#include "app/window/session/session_controller.h"

namespace kvscope {

ShownFacts::ShownFacts(const SessionController& controller, const Snapshot& snapshot) {
  const RunRequest& request = controller.request();
  facts.asked = {static_cast<int>(snapshot.tokens.size()) - snapshot.n_prompt, request.seed, !request.prompt_ids.empty()};
  if (!controller.viewOnly() && !controller.computesElsewhere()) model = controller.modelFolder().toStdString();
  stamp = snapshot.model_stamp;
}

share::PageFacts ShownFacts::withHashes() const {
  share::PageFacts out = facts;
  if (!model.empty()) out.files = share::model_hashes(model, stamp);
  return out;
}

}  // namespace kvscope
