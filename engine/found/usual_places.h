// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "found/found_model.h"

namespace kvscope {

/// A variable of the environment; nullptr: it is not set.
using Environment = std::function<const char*(const char* name)>;

/// Folders in which other programs keep models, whether they are there or not: the cache of Hugging Face, Ollama, LM Studio, llama.cpp.
std::vector<ModelPlace> usual_places(const Environment& environment);
/// Those of this process, and `models` in its working directory before them.
std::vector<ModelPlace> usual_places();

}  // namespace kvscope
