// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace kvscope {

class FileHandle;

enum class ReadFrom {
  file,          // what is no regular file is refused at once: a pipe without a writer would be waited for without end
  file_or_pipe,  // the user's own text: `<(command)`, /dev/stdin
};

/// Whole text of a file. Throws Error if it cannot be read or is larger than max_bytes.
std::string read_text(const std::string& path, std::size_t max_bytes = std::size_t(1) << 30, ReadFrom from = ReadFrom::file);

enum class Readable {
  as_usual,      // of an old file as it was, of a new one as the user's mask has it
  by_user_only,  // what was not meant for a file that others see
};

/// Writes beside the target and renames, so that readers see the old file or the whole new one, also after a power cut; until then nobody
/// else can read it. What an earlier program that was killed left there of the same target goes. Throws Error.
void write_atomically(const std::string& path, std::string_view text, Readable readable = Readable::as_usual);

/// The same for text that comes in pieces: `write` is handed what takes them. Where it throws, the target stays as it was.
using TakesText = std::function<void(std::string_view piece)>;
void write_atomically(const std::string& path, const std::function<void(const TakesText& take)>& write,
                      Readable readable = Readable::as_usual);

/// The path of a file in a folder. std::filesystem's `/` of GCC 12 destroys the heap where memory ends in it.
std::string in_folder(const std::string& folder, std::string_view name);
/// The folder of a path; "." of a name alone.
std::string folder_of(const std::string& path);
/// A regular file, which opens without waiting for anybody; links followed.
bool is_file(const std::string& path);
/// True of what lies in the folder or below, links followed.
bool lies_in(const std::string& path, const std::string& folder);

/// Calls take(name) for every name in a folder until it returns false; of a folder that cannot be read there are none.
void each_name(const std::string& folder, const std::function<bool(std::string_view name)>& take);

/// path: for messages, which `remedy` ends. Throws Error.
void write_all(const FileHandle& file, std::string_view text, const std::string& path, const char* remedy = "");

/// Removes `TARGET.PID-N.part` of writers that live no more.
void remove_unfinished(const std::string& target);

/// At the start of a program. A write beyond the size that a user may have is an error from here on, not the end of the process; and
/// descriptors 0 to 2 that are closed hold nothing and cannot be written, where the next files to be opened would have been taken for them.
void prepare_for_files();

}  // namespace kvscope
