// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "io/mapped_file.h"

namespace kvscope {

/// One tensor inside a mapped file: row-major, little-endian, valid as long as its TensorFile lives. The bytes need not be aligned. Rows of
/// a quantised dtype are whole blocks.
struct TensorView {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

/// One of a dtype that weights do not have (I64, BOOL, U8, ...).
struct OtherTensor {
  std::string dtype;
  std::vector<std::int64_t> shape = {};
  std::span<const std::byte> bytes = {};
};

/// The tensors of one .safetensors file (https://github.com/huggingface/safetensors, format section), read through a memory map.
/// Every number of the header is checked before it is used: header length <= 100 MB and <= file, known dtypes, shape product x size =
/// offsets' length, offsets inside the data, no overlaps, no holes. Tensors of other dtypes (I64, BOOL, ...) are others().
class TensorFile {
 public:
  /// Throws Error (what, where, expected, got).
  static TensorFile open(const std::string& path);
  /// The same checks on bytes in memory; `name` is for messages. The bytes must outlive the result.
  static TensorFile parse(std::span<const std::byte> bytes, const std::string& name);

  /// MappedFile::check of the file, if it is one.
  void check() const {
    if (file_) file_->check();
  }

  /// Other bytes, perhaps of another type, for a tensor that is there.
  void replace(const std::string& name, DType dtype, std::vector<std::byte> bytes);

  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  /// The tensors that have no view.
  const std::map<std::string, OtherTensor>& others() const { return others_; }

 private:
  friend class GgufReader;  // the tensors of another format

  std::shared_ptr<MappedFile> file_;
  std::vector<std::shared_ptr<const std::vector<std::byte>>> replaced_;
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, OtherTensor> others_;
};

}  // namespace kvscope
