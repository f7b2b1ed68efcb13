#include "vmware/scratch.h"

#include "policy/random.h"
#include "vmware/host_files.h"

namespace vmware {

Scratch::Scratch(const std::string& folder, const std::string& name)
    : folder_(folder), room_(policy::random_hex32()), path_(folder + "/" + room_ + "/" + name) {
  (void)make_folder(folder_ + "/" + room_, MakeFolder::fresh);
}

Scratch::~Scratch() { (void)remove_tree(folder_, room_); }

}  // namespace vmware
