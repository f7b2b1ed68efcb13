#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace policy {

// Unpredictable bytes from the operating system's source, by the cryptographic library. They are taken from
// it many at a time, because asking for sixteen costs as much as asking for a thousand; what was given is
// wiped from the store. Aborts when there is no source.
void random_bytes(std::span<std::uint8_t> out);

// 32 lower-case hex digits of them.
std::string random_hex32();

}  // namespace policy
