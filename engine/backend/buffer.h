// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace kvscope {

/// Memory of one backend (host or device). Move-only; freed on every path.
class Buffer {
 public:
  Buffer() = default;
  Buffer(void* data, std::size_t bytes, std::function<void(void*)> free) : data_(data, std::move(free)), bytes_(bytes) {}

  void* data() { return data_.get(); }
  const void* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }
  explicit operator bool() const { return data_ != nullptr; }

  template <class T>
  T* as() {
    return static_cast<T*>(data_.get());
  }
  template <class T>
  const T* as() const {
    return static_cast<const T*>(data_.get());
  }

 private:
  std::unique_ptr<void, std::function<void(void*)>> data_{nullptr, [](void*) {}};
  std::size_t bytes_ = 0;
};

}  // namespace kvscope
