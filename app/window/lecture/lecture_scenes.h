// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <QList>
#include <QString>
#include <QStringList>

#include "snapshot/fates.h"
#include "viz/reduce/lecture.h"

namespace kvscope {

/// One thought of the lecture: what is emphasised, where to look, and what is said. Read from a file, so that a teacher can write others.
struct Scene {
  enum class Look { stay, loss, merging };  // loss: where the run misses most; merging: the run and head that merged most
  struct Variant {
    QStringList conditions;  // names of facts that must hold; empty: always
    QString message, text;   // the first words, and the rest; {names} stand for facts
  };

  QString id, name;
  std::optional<Category> emphasis;
  Look look = Look::stay;
  bool compare = false;  // on the page of the comparison
  QList<Variant> variants;
};

/// The scenes of a file: { "kvscope": "scenes", "version": 1, "scenes": […] }. Throws Error (what, where, expected).
QList<Scene> readScenes(const QString& path);
/// Those that come with the program.
QString builtInScenes();

struct Caption {
  QString message, text;
};
/// The first variant whose conditions hold, with the numbers put in.
Caption captionOf(const Scene& scene, const viz::Facts& facts);

}  // namespace kvscope
