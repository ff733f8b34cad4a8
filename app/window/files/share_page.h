// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/share/page.h"
#include "snapshot/snapshot.h"

namespace kvscope {

class SessionController;

/// What a replay page says of results on screen, but for the hashes of the model's files, which take their time.
struct ShownFacts {
  ShownFacts(const SessionController& controller, const Snapshot& snapshot);
  share::PageFacts facts;
  std::string model;  // its folder or file; empty: none is known
  std::string stamp;  // of its files when they were read
  share::PageFacts withHashes() const;
};

}  // namespace kvscope
