// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/page_names.h"

#include <memory>

#include "viz/views.h"

namespace kvscope {

const QStringList& pageNames() {
  static const QStringList names = [] {
    QStringList out = {"inspect"};
    for (const viz::ViewEntry& entry : viz::view_entries())
      if (entry.place.kind == viz::Place::Kind::page) out << entry.make(std::make_shared<viz::TokenWindow>())->id();
    return out << "sweep"
               << "lecture";
  }();
  return names;
}

}  // namespace kvscope
