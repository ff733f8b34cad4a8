// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QJsonObject>
#include <QString>

namespace kvscope {

/// The object of a file { "kvscope": kind, "version": 1, … } of at most 1 MiB. Throws Error (what, where, expected: `expected`).
QJsonObject readJsonAsset(const QString& path, const char* kind, const char* expected);

}  // namespace kvscope
