#pragma once

#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "gateway/net/descriptor.h"
#include "policy/result.h"

namespace gateway {

// Starts a program in a process group of its own: no input, output to the two descriptors and no other
// descriptor open, signals at their defaults, and none of our settings in its environment, as one may be a
// password. Gives its process id; whoever starts it waits for it. Code `program.start`.
policy::Result<int> start_child(std::vector<std::string> words, const Descriptor& out, const Descriptor& err);

// Runs a program with its output going to the two descriptors, in a process group of its own, to its end;
// gives its exit code, 128 + signal, or 127 when it did not start. The group is killed after an hour.
boost::asio::awaitable<int> run_child(std::vector<std::string> words, Descriptor out, Descriptor err);

// Programs and files that come with us: beside the running program, and in ../share/sallyport.
std::string sibling_program(const std::string& name);
std::string image_recipe();

}  // namespace gateway
