// SPDX-License-Identifier: Apache-2.0
#include "app/window/canvas/gl_device.h"

#include <filesystem>

#include <QOffscreenSurface>
#include <QOpenGLContext>
#include <QOpenGLExtraFunctions>
#include <QStandardPaths>

namespace kvscope {

namespace {
const char* const kRemedy =
    "Start with LIBGL_ALWAYS_SOFTWARE=1, or install a driver (on Debian: libgl1-mesa-dri). The data table shows the same numbers.";
}

GlDevice::GlDevice() = default;

GlDevice::~GlDevice() = default;

/// Bytes can be written where `folder` is, or will be.
static bool hasRoom(const std::filesystem::path& folder, std::uintmax_t bytes) {
  std::error_code error;
  std::filesystem::path there = folder;
  while (!std::filesystem::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  const std::filesystem::space_info space = std::filesystem::space(there, error);
  return !error && space.available >= bytes;
}

void spareShaderCache() {
  constexpr std::uintmax_t kNeeded = 32u << 20;
  constexpr const char* kOff = "MESA_SHADER_CACHE_DISABLE";
  const QString own = qEnvironmentVariable("MESA_SHADER_CACHE_DIR");
  const QString folder = own.isEmpty() ? QStandardPaths::writableLocation(QStandardPaths::GenericCacheLocation) : own;
  if (!qEnvironmentVariableIsSet(kOff) && !hasRoom(folder.toStdString(), kNeeded)) qputenv(kOff, "true");
}

std::unique_ptr<GlDevice> GlDevice::create(QString* reason) {
  const auto refuse = [reason](const QString& why) {
    if (reason) *reason = why + " " + kRemedy;
    return nullptr;
  };
  QSurfaceFormat format;
  format.setRenderableType(QSurfaceFormat::OpenGL);
  format.setVersion(3, 3);
  format.setProfile(QSurfaceFormat::CoreProfile);
  std::unique_ptr<GlDevice> device(new GlDevice);
  device->m_context = std::make_unique<QOpenGLContext>();
  device->m_context->setFormat(format);
  if (!device->m_context->create()) return refuse("The pictures need OpenGL 3.3, and no OpenGL context could be created.");
  const QSurfaceFormat got = device->m_context->format();
  if (device->m_context->isOpenGLES() || std::pair(got.majorVersion(), got.minorVersion()) < std::pair(3, 3))
    return refuse(QString("The pictures need OpenGL 3.3; this system offers %1.%2.").arg(got.majorVersion()).arg(got.minorVersion()));
  device->m_surface = std::make_unique<QOffscreenSurface>();
  device->m_surface->setFormat(got);
  device->m_surface->create();
  if (!device->m_surface->isValid() || !device->makeCurrent())
    return refuse("The pictures need OpenGL 3.3, and its context could not be made current.");
  if (const auto* name = device->gl().glGetString(GL_RENDERER))
    device->m_renderer = QString::fromLatin1(reinterpret_cast<const char*>(name));
  return device;
}

bool GlDevice::makeCurrent() { return m_context->makeCurrent(m_surface.get()); }

void GlDevice::doneCurrent() { m_context->doneCurrent(); }

QOpenGLExtraFunctions& GlDevice::gl() const { return *m_context->extraFunctions(); }

}  // namespace kvscope
