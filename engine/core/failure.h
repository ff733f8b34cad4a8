// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <new>

namespace kvscope {

/// What to tell of a failure: the words of an Error; of memory that ended a sentence, for std::bad_alloc has only its name.
inline const char* words_of(const std::exception& failure) {
  return dynamic_cast<const std::bad_alloc*>(&failure) ? "there is too little memory; use fewer runs, a shorter prompt or a smaller model"
                                                       : failure.what();
}

}  // namespace kvscope
