#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vmware {

// The one program of ours in a guest that is driven by vmrun's guest operations alone: a bash script, put
// there once, called with one token of 32 hex digits and nothing else. Everything it is to do stands in a
// file named after the token.
//
// `<prefix><token>.req`  what to do (link/request.h); the call that finds it begins the job
// `<prefix><token>.stop` the call that finds it ends the job and all its processes
// `<prefix><token>.out`  what a call leaves behind (link/report.h)
// A call without `.req` and `.stop` reports on the job as it is.
std::string_view launcher_script();

inline constexpr std::string_view kLauncherPath = "/var/tmp/.sallyport-launcher";
inline constexpr std::string_view kGuestPrefix =
    "/dev/shm/.sallyport-";  // memory: a full disk does not stop us
inline constexpr std::string_view kTarPrefix = "/var/tmp/.sallyport-";  // a copy's tar is too big for that

std::string request_path(std::string_view token);
std::string stop_path(std::string_view token);
std::string report_path(std::string_view token);
std::string tar_path(std::string_view token);
// Program and arguments of a call.
std::vector<std::string> launcher_words(std::string_view token);

// How the launcher itself ends; anything else is a failure of the guest.
enum class LauncherExit {
  done = 0,
  unknown_token = 64,  // neither a request nor a job: what a fresh guest answers
  cut_off = 65,        // the request is not as long as it says; nothing was run
  no_room = 71,        // the guest's memory or disk is full
  still_running = 98,  // a job that answers by its exit code has not ended
  ended_by_us = 99,    // ... was stopped or ran out of time
  first_result = 100,  // ... ended with exit code N - 100, at most 255
};

}  // namespace vmware
