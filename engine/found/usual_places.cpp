// SPDX-License-Identifier: Apache-2.0
#include "found/usual_places.h"

#include <cstdlib>
#include <filesystem>

namespace kvscope {

std::vector<ModelPlace> usual_places(const Environment& environment) {
  const auto value = [&](const char* name) {
    const char* text = environment(name);
    return std::string(text ? text : "");
  };
  const std::string home = value("HOME");
  const auto in_home = [&](const std::string& path) {
    return path == "~" || path.starts_with("~/") ? home + path.substr(1) : path;  // as Python's expanduser does
  };
  const std::string xdg = value("XDG_CACHE_HOME"), cache = !xdg.empty() ? in_home(xdg) : home.empty() ? "" : home + "/.cache";
  std::vector<ModelPlace> out;
  const auto add = [&](const char* label, const std::string& path) {
    if (!path.empty()) out.push_back({label, path});
  };
  const auto below = [](const std::string& folder, const char* rest) { return folder.empty() ? folder : folder + rest; };

  std::string hub = value("HF_HUB_CACHE");
  if (hub.empty()) hub = value("HUGGINGFACE_HUB_CACHE");  // its older name
  if (hub.empty()) hub = below(value("HF_HOME"), "/hub");
  add("Hugging Face", hub.empty() ? below(cache, "/huggingface/hub") : in_home(hub));

  const std::string ollama = value("OLLAMA_MODELS");
  add("Ollama", ollama.empty() ? below(home, "/.ollama/models") : in_home(ollama));
  add("Ollama", "/usr/share/ollama/.ollama/models");  // of the service

  add("LM Studio", below(home, "/.lmstudio/models"));
  add("LM Studio", below(home, "/.cache/lm-studio/models"));

  const std::string llama = value("LLAMA_CACHE");
  add("llama.cpp", llama.empty() ? below(cache, "/llama.cpp") : in_home(llama));
  return out;
}

std::vector<ModelPlace> usual_places() {
  std::vector<ModelPlace> out = usual_places([](const char* name) { return std::getenv(name); });
  std::error_code gone;  // of the working directory
  if (const std::filesystem::path here = std::filesystem::current_path(gone); !gone)
    out.insert(out.begin(), {"./models", (here / "models").string()});
  return out;
}

}  // namespace kvscope
