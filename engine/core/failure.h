// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <new>
#include <system_error>

namespace kvscope {

/// What to tell of a failure: the words of an Error; of memory that ended a sentence, for std::bad_alloc has only its name, and a thread
/// that found no memory for itself says "Resource temporarily unavailable".
inline const char* words_of(const std::exception& failure) {
  if (dynamic_cast<const std::bad_alloc*>(&failure))
    return "there is too little memory; use fewer runs, a shorter prompt or a smaller model";
  const auto* system = dynamic_cast<const std::system_error*>(&failure);
  if (system && system->code() == std::errc::resource_unavailable_try_again) {
    return "a thread could not be started: there is too little memory, or there are too many threads; use fewer runs or close other programs";
  }
  return failure.what();
}

}  // namespace kvscope
