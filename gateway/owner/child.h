#pragma once

#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "gateway/net/descriptor.h"

namespace gateway {

// Runs a program with its output going to the two descriptors, in a process group of its own, to its end;
// gives its exit code, 128 + signal, or 127 when it did not start. The group is killed after an hour.
boost::asio::awaitable<int> run_child(std::vector<std::string> words, Descriptor out, Descriptor err);

// Programs and files that come with us: beside the running program, and in ../share/sallyport.
std::string sibling_program(const std::string& name);
std::string image_recipe();

}  // namespace gateway
