// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QList>
#include <QString>

namespace kvscope {

/// A text to begin with: what it is, and what to look for while its cache shrinks.
struct SamplePrompt {
  QString file;      // beside the list, UTF-8
  QString title;     // what the text is, a few words
  QString look_for;  // a line below the text
  QString about;     // one or two sentences
  QString text;
};

/// The prompts of a list: { "kvscope": "prompts", "version": 1, "prompts": [{ "file", "title", "look_for", "about" }…] }; the texts stand
/// beside it. Throws Error (what, where, expected).
QList<SamplePrompt> readSamplePrompts(const QString& path);
QString builtInPrompts();

/// Those that come with the program, read once; none where the list cannot be read, which the log then says.
const QList<SamplePrompt>& samplePrompts();
/// The sample whose text this is, to the letter; nullptr where there is none.
const SamplePrompt* samplePromptOf(const QString& text);

}  // namespace kvscope
