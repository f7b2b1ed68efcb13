#pragma once

#include <string>

namespace gateway {

// The way to the person in front of the client that made a call. What comes back is the client's word, no
// proof of a person: it counts only where policy names this channel. Lives on the deciding thread.
class ClientChannel {
 public:
  virtual ~ClientChannel() = default;

  // asked: an answer may come while the call waits. ends_call: the question is the call's result, and the
  // answer comes with another call. failed: nobody was asked.
  enum class Put { asked, ends_call, failed };
  virtual Put put(const std::string& question, const std::string& message) = 0;
  // The question has ended elsewhere; an answer that comes now is nobody's.
  virtual void withdraw(const std::string& question) = 0;
};

}  // namespace gateway
