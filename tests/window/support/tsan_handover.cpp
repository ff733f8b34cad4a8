// SPDX-License-Identifier: Apache-2.0
// Qt is not built for ThreadSanitizer, which so does not see that what a thread hands to another one by Qt has been written before. The
// calls by which this program hands over stand before Qt's own and say it. Linked where KVSCOPE_SANITIZE is "thread" only.
#include <dlfcn.h>

#include <functional>
#include <utility>

#include <QMetaObject>
#include <QThreadPool>

#include <sanitizer/tsan_interface.h>

namespace {

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

/// A call that waits for its thread: what was written before it was posted is read by it.
class Handed : public QtPrivate::QSlotObjectBase {
 public:
  explicit Handed(QtPrivate::QSlotObjectBase* slot) : QSlotObjectBase(&impl), m_slot(slot) { __tsan_release(this); }

 private:
  static void impl(int which, QSlotObjectBase* base, QObject* receiver, void** arguments, bool* same) {
    __tsan_acquire(base);
    auto* const self = static_cast<Handed*>(base);
    if (which == Compare) {
      *same = self->m_slot->compare(arguments);
      return;
    }
    if (which == Call) self->m_slot->call(receiver, arguments);
    if (which != Destroy) return;
    self->m_slot->destroyIfLastRef();
    delete self;
  }

  QtPrivate::QSlotObjectBase* m_slot;
};

}  // namespace

bool QMetaObject::invokeMethodImpl(QObject* object, QtPrivate::QSlotObjectBase* slot, Qt::ConnectionType type, void* result) {
  static const auto real = next<decltype(&QMetaObject::invokeMethodImpl)>(
      "_ZN11QMetaObject16invokeMethodImplEP7QObjectPN9QtPrivate15QSlotObjectBaseEN2Qt14ConnectionTypeEPv");
  return real(object, new Handed(slot), type, result);
}

void QThreadPool::start(std::function<void()> work, int priority) {
  static const auto real = next<void (*)(QThreadPool*, std::function<void()>, int)>("_ZN11QThreadPool5startESt8functionIFvvEEi");
  auto* const handed = new std::function<void()>(std::move(work));
  __tsan_release(handed);
  real(
      this,
      [this, handed] {
        __tsan_acquire(handed);
        (*handed)();
        delete handed;
        __tsan_release(this);
      },
      priority);
}

bool QThreadPool::waitForDone(int milliseconds) {
  static const auto real = next<bool (*)(QThreadPool*, int)>("_ZN11QThreadPool11waitForDoneEi");
  const bool done = real(this, milliseconds);
  __tsan_acquire(this);
  return done;
}
