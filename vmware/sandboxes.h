#pragma once

#include <memory>

#include <boost/asio/any_io_executor.hpp>

#include "policy/clock.h"
#include "vmware/machines.h"
#include "vmware/process.h"
#include "vmware/settings.h"

namespace vmware {

// The machines of one owner process. Touches nothing until the first create() or sweep(), which make the
// folders that are missing and say so when they cannot. `clock` outlives them.
std::unique_ptr<Machines> open_machines(boost::asio::any_io_executor, MachineSettings, const policy::Clock&);

// The same with another way to start programs, for tests.
std::unique_ptr<Machines> open_machines(boost::asio::any_io_executor, MachineSettings, const policy::Clock&,
                                        std::unique_ptr<Processes>);

}  // namespace vmware
