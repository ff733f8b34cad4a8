// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

namespace kvscope {

/// A text as an editor has it: CR, CR LF and the paragraph separator (U+2029) are one character each, LF.
QString shownText(const QString& text);
/// The text whose shown form is `shown`: what `text` has before and behind the place that differs, line ends included, stays as it is.
QString withLineEndsOf(const QString& text, const QString& shown);

}  // namespace kvscope
