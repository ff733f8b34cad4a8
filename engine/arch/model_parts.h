// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace kvscope {

/// Paths of the files of a model (a folder, or a GGUF file) that decide its numbers, sorted: weights, configuration, tokenizer, tables of
/// heads. None where there is nothing there.
std::vector<std::string> parts_of_model(const std::string& model);

/// One SHA-256 over names and hashes (io/file_hash.h) of these files, 64 digits. Throws Error (a file that cannot be read).
std::string hash_of_model(const std::string& model);

/// What these files are on disk (names, sizes, times, places), without reading them: 64 digits, another text once one of them is changed.
std::string stamp_of_model(const std::string& model);

/// hash_of_model() of files that had this stamp when they were read. Where they have been changed since, be it only their times, nobody can
/// tell it any more: then kChangedSinceRead. Throws Error (a file that cannot be read).
std::string hash_of_read_model(const std::string& model, const std::string& stamp);

}  // namespace kvscope
