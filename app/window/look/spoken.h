// SPDX-License-Identifier: Apache-2.0
#pragma once

class QLineEdit;
class QWidget;

namespace kvscope {

// What a screen reader is told beyond what Qt tells by itself.

/// Lists that drop down are called by their label and their value, "colour: fate"; Qt calls them by their value alone on this platform.
void nameLists();

/// A button in the field that empties it, with a name.
void offerClear(QLineEdit& field);

/// A text that is read aloud when speak() is called, wherever the focus is. Before anything asks for its accessible interface.
void setSpoken(QWidget& text);

/// The property of a text with the words that were read aloud last.
inline constexpr const char* kReadAloud = "readAloud";

/// Reads its accessible name aloud. An alert; and, since Qt hands no alert on to AT-SPI, a notification that shows. One that is hidden is
/// to be shown right after this, which is such a sign by itself.
void speak(QWidget& text);

}  // namespace kvscope
