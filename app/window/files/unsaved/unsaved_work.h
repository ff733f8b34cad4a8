// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

namespace kvscope {

/// Whether there is work that no file has. A request that is what it was when it was saved, opened or begun is none: whoever has undone
/// everything loses nothing. What else a session holds (bookmarks, sweeps) counts once it has changed.
class UnsavedWork {
 public:
  bool any() const { return m_other || m_now != m_clean; }
  /// Saved, opened or begun just now.
  void clean() {
    m_clean = m_now;
    m_other = false;
  }
  void changed() { m_other = true; }
  /// The key of the request; false: it is the one of before.
  bool follow(std::string key) {
    std::swap(m_now, key);
    return m_now != key;
  }

 private:
  std::string m_now, m_clean;
  bool m_other = false;
};

}  // namespace kvscope
