#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

// Heads of disk images and the files of a base machine, made byte by byte, so that a test can make any one of
// them wrong.
namespace fakes {

inline std::string big_endian(std::uint64_t value, int width) {
  std::string bytes;
  for (int i = width; i-- > 0;) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

inline std::string little_endian(std::uint64_t value, int width) {
  std::string bytes;
  for (int i = 0; i < width; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

// It has no tables, so that nothing behind the head is missing.
struct Qcow2 {
  std::uint32_t version = 3;
  std::uint64_t size = 1 << 30;
  std::uint32_t crypt = 0;
  std::uint64_t features = 0;
  std::string backing;
  std::string backing_format = "qcow2";
  std::uint32_t extra_extension = 0;  // the type of one more extension, 8 bytes long
  std::uint32_t cluster_bits = 16;

  std::string bytes() const {
    const std::uint32_t length = version == 2 ? 72 : 104;
    std::string extensions;
    if (!backing.empty() && !backing_format.empty()) extensions += extension(0xE2792ACA, backing_format);
    if (extra_extension != 0) extensions += extension(extra_extension, "12345678");
    extensions += std::string(8, '\0');
    const auto name_at = backing.empty() ? 0 : length + extensions.size();
    std::string head = "QFI\xfb" + big_endian(version, 4) + big_endian(name_at, 8) +
                       big_endian(backing.size(), 4) + big_endian(cluster_bits, 4) + big_endian(size, 8) +
                       big_endian(crypt, 4) + big_endian(0, 4) + big_endian(0, 8) +
                       big_endian(0, 8) + big_endian(1, 4) + big_endian(0, 4) + big_endian(0, 8);
    if (version == 3) {
      head += big_endian(features, 8) + std::string(16, '\0') + big_endian(4, 4) + big_endian(length, 4);
    }
    return head + extensions + backing;
  }

 private:
  static std::string extension(std::uint32_t type, const std::string& data) {
    return big_endian(type, 4) + big_endian(data.size(), 4) + data +
           std::string((8 - data.size() % 8) % 8, '\0');
  }
};

// A sparse extent that carries its descriptor behind one sector of header.
inline std::string sparse_vmdk(std::string descriptor) {
  const std::uint64_t sectors = (descriptor.size() + 511) / 512;
  descriptor.resize(sectors * 512, '\0');
  std::string head = "KDMV" + little_endian(1, 4) + little_endian(3, 4) + little_endian(2048, 8) +
                     little_endian(128, 8) + little_endian(1, 8) + little_endian(sectors, 8);
  head.resize(512, '\0');
  return head + descriptor;
}

inline std::string vmsd(const std::vector<std::string>& names, const std::string& more = {}) {
  std::string text = "snapshot.numSnapshots = \"" + std::to_string(names.size()) + "\"\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto own = "snapshot" + std::to_string(i) + ".";
    text += own + "displayName = \"" + names[i] + "\"\n" + own + "filename = \"base-Snapshot" +
            std::to_string(i + 1) + ".vmsn\"\n" + own + "numDisks = \"1\"\n" + own +
            "disk0.fileName = \"base.qcow2\"\n";
  }
  return text + more;
}

inline void write_bytes(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// A base with one disk of two layers and the snapshot `clean`; returns the path of its .vmx.
inline std::string make_base(const std::string& folder) {
  std::filesystem::create_directories(folder);
  write_bytes(folder + "/base.vmx",
              "config.version = \"8\"\nscsi0.present = \"TRUE\"\nscsi0:0.present = \"TRUE\"\n"
              "scsi0:0.fileName = \"base-000001.qcow2\"\n");
  write_bytes(folder + "/base.qcow2", Qcow2().bytes());
  Qcow2 top;
  top.backing = "base.qcow2";
  write_bytes(folder + "/base-000001.qcow2", top.bytes());
  write_bytes(folder + "/base.vmsd", vmsd({"clean"}));
  return folder + "/base.vmx";
}

}  // namespace fakes
