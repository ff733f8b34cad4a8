// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/page_names.h"

#include "viz/views.h"

namespace kvscope {

const QStringList& pageNames() {
  static const QStringList names = [] {
    QStringList out = {"inspect"};
    for (const viz::ViewEntry& entry : viz::view_entries())
      if (entry.place.kind == viz::Place::Kind::page) out << QString::fromStdString(entry.id());
    return out << "sweep"
               << "lecture";
  }();
  return names;
}

}  // namespace kvscope
