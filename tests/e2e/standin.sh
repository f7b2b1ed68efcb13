#!/bin/bash
# Drives sallyport-vmrun with a real guest through every command it has.
#   standin.sh VMRUN BASE.vmx
# Needs an image (vmware/image/build.sh) and fails without one.
set -uo pipefail
vmrun=${1:?path of sallyport-vmrun} base=${2:?path of the base .vmx}
[ -x "$vmrun" ] || { echo "no program at $vmrun"; exit 1; }
[ -f "$base" ] || { echo "no image at $base; build one with vmware/image/build.sh"; exit 1; }
[ -f "$(dirname "$base")/guest.json" ] || { echo "no guest.json beside $base"; exit 1; }
password=$(sed -nE 's/.*"password": "([^"]+)".*/\1/p' "$(dirname "$base")/guest.json")

work=$(mktemp -d /tmp/standin-e2e.XXXXXX)
export SALLYPORT_VMRUN_DIR=$work/run
unset VMRUN_FAULT
vm=$work/one/one.vmx
clean_up() {
  for machine in "$vm" "$work/two/two.vmx"; do
    [ -f "$machine" ] || continue
    "$vmrun" -T ws stop "$machine" hard > /dev/null 2>&1
    "$vmrun" -T ws deleteVM "$machine" > /dev/null 2>&1
  done
  rm -rf "$work"
}
trap clean_up EXIT

checks=0 failures=0
# expect TEXT CODE WHAT -- COMMAND…: exit code, and standard output equal to TEXT (`*` in it matches anything).
expect() {
  local text=$1 code=$2 what=$3 out status
  shift 4
  out=$("$@" 2> "$work/stderr" < /dev/null)
  status=$?
  checks=$((checks + 1))
  # shellcheck disable=SC2053
  if [ "$status" != "$code" ] || [[ $out != $text ]] || [ -s "$work/stderr" ]; then
    failures=$((failures + 1))
    printf 'FAILED %s\n  exit %s, wanted %s\n  out  %q\n  want %q\n  err  %q\n' \
      "$what" "$status" "$code" "$out" "$text" "$(head -c 300 "$work/stderr")"
  else
    printf 'ok     %s\n' "$what"
  fi
}
truth() {
  local what=$1
  shift
  checks=$((checks + 1))
  if "$@"; then printf 'ok     %s\n' "$what"; else failures=$((failures + 1)); printf 'FAILED %s\n' "$what"; fi
}
now_ms() { echo $(($(date +%s%N) / 1000000)); }
v() { "$vmrun" -T ws "$@"; }
g() { "$vmrun" -T ws -gu agent -gp "$password" "$@"; }
tools_running() {
  local from
  from=$(now_ms)
  until [ "$("$vmrun" -T ws checkToolsState "$vm")" = running ]; do
    [ $(($(now_ms) - from)) -lt 120000 ] || return 1
    sleep 0.2
  done
  echo "       (Tools running after $(($(now_ms) - from)) ms)"
}
off="Error: The virtual machine is not powered on: $vm"

expect 'Total running VMs: 0' 0 "list of nothing" -- v list
expect 'Total snapshots: 1
clean' 0 "listSnapshots" -- v listSnapshots "$base"
expect "Error: Cannot open VM: $work/no.vmx, The virtual machine cannot be found" 255 "a machine that is not there" -- v start "$work/no.vmx" nogui

mkdir "$work/two"
from=$(now_ms)
expect '' 0 "clone with -snapshot=" -- v clone "$base" "$vm" linked -snapshot=clean -cloneName=one
echo "       (clone took $(($(now_ms) - from)) ms)"
expect 'Error: The file already exists' 255 "clone onto a machine" -- v clone "$base" "$vm" linked -snapshot=clean
expect 'Error: The file is already in use' 255 "fault clone-busy" -- env VMRUN_FAULT=clone-busy "$vmrun" clone "$base" "$work/two/two.vmx" linked -snapshot clean
expect '' 0 "clone with -snapshot NAME, the second" -- env VMRUN_FAULT=clone-busy "$vmrun" clone "$base" "$work/two/two.vmx" linked -snapshot clean
expect 'Error: The file already exists' 255 "and the same again" -- v clone "$base" "$work/two/two.vmx" linked -snapshot clean
expect 'Error: The snapshot does not exist' 255 "clone of a missing snapshot" -- v clone "$base" "$work/x/x.vmx" linked -snapshot=none
expect 'Error: One of the parameters was invalid' 255 "clone to a relative path" -- v clone "$base" x/x.vmx linked -snapshot=clean
expect 'Error: The operation is not supported for the specified parameters: it has clones*' 255 "deleteVM of a base with clones" -- v deleteVM "$base"
expect '' 0 "deleteVM" -- v deleteVM "$work/two/two.vmx"
truth "deleteVM leaves nothing" test ! -e "$work/two"
truth "deleteVM takes the clone out of the base's records" bash -c "! grep -q '$work/two/two.vmx' '${base%.vmx}.vmsd'"

expect "$off" 255 "stop of a machine that is off" -- v stop "$vm"
expect "$off" 255 "a guest operation on it" -- g fileExistsInGuest "$vm" /etc/passwd
expect "$off" 255 "its address" -- v getGuestIPAddress "$vm"
expect 'unknown' 0 "its Tools" -- v checkToolsState "$vm"

from=$(now_ms)
expect '' 0 "start" -- timeout 60 "$vmrun" -T ws start "$vm" nogui
echo "       (start took $(($(now_ms) - from)) ms)"
expect 'Error: The virtual machine should not be powered on. It is already running.' 255 "start again" -- v start "$vm" nogui
expect "Total running VMs: 1
$vm" 0 "list shows it, its caller gone" -- v list
expect 'Error: The VMware Tools are not running in the virtual machine: *' 255 "a guest operation while it boots" -- g runProgramInGuest "$vm" /bin/true
expect 'Error: The virtual machine should not be powered on. It is already running.' 255 "deleteVM of a running machine" -- v deleteVM "$vm"
truth "a lock in VMware's layout" test -f "$vm.lck/M00001.lck"
truth "Tools get running" tools_running

from=$(now_ms)
expect '' 0 "run true" -- g runProgramInGuest "$vm" /bin/true
echo "       (run took $(($(now_ms) - from)) ms)"
expect 'Guest program exited with non-zero exit code: 7' 7 "a program that fails with 7" -- g runProgramInGuest "$vm" /bin/bash -c "'exit 7'"
expect 'Guest program exited with non-zero exit code: 255' 255 "a program that fails with 255" -- g runProgramInGuest "$vm" /bin/bash -c "'exit 255'"
expect 'Guest program exited with non-zero exit code: 137' 137 "a program that is killed" -- g runProgramInGuest "$vm" /bin/bash -c "'kill -9 \$\$'"
expect 'Error: A file was not found' 255 "a program that is not there" -- g runProgramInGuest "$vm" /bin/no-such-program
expect '' 0 "an argument is shell text in the guest" -- g runProgramInGuest "$vm" /bin/echo ';id -un > /tmp/who; pwd >> /tmp/who'
expect '' 0 "copy from the guest" -- g CopyFileFromGuestToHost "$vm" /tmp/who "$work/who"
truth "it ran as the guest's user, in his home" test "$(cat "$work/who")" = "agent
/home/agent"
expect '' 0 "options of a program run" -- g runProgramInGuest "$vm" -activeWindow -interactive /bin/true
from=$(now_ms)
expect '' 0 "run without waiting" -- g runProgramInGuest "$vm" -noWait /bin/sleep 30
truth "which does not wait" test $(($(now_ms) - from)) -lt 20000
expect 'Error: One of the parameters was invalid' 255 "an option that is none" -- g runProgramInGuest "$vm" -what /bin/true

from=$(now_ms)
expect 'Error: Invalid user name or password for the guest OS' 255 "a wrong password" -- "$vmrun" -gu agent -gp wrong runProgramInGuest "$vm" /bin/true
truth "which takes a second" test $(($(now_ms) - from)) -ge 1000
expect 'Error: Invalid user name or password for the guest OS' 255 "a wrong user" -- "$vmrun" -gu root -gp "$password" runProgramInGuest "$vm" /bin/true
expect 'Error: Anonymous guest operations are not allowed on this virtual machine. You must call VixVM_LoginInGuest before performing guest operations' 255 "no login" -- v runProgramInGuest "$vm" /bin/true

for size in 0 70000 20000000; do
  head -c "$size" /dev/urandom > "$work/sent"
  from=$(now_ms)
  expect '' 0 "copy $size bytes in" -- g CopyFileFromHostToGuest "$vm" "$work/sent" "/tmp/with space $size"
  expect '' 0 "copy $size bytes out" -- g CopyFileFromGuestToHost "$vm" "/tmp/with space $size" "$work/received"
  echo "       (both took $(($(now_ms) - from)) ms)"
  truth "they are the same" cmp "$work/sent" "$work/received"
done
expect '' 0 "a smaller file replaces a larger one" -- g CopyFileFromHostToGuest "$vm" "$work/who" "/tmp/with space 20000000"
expect '' 0 "and comes back" -- g CopyFileFromGuestToHost "$vm" "/tmp/with space 20000000" "$work/received"
truth "as it is" cmp "$work/who" "$work/received"
expect 'Error: A file was not found' 255 "copy of a host file that is not there" -- g CopyFileFromHostToGuest "$vm" "$work/none" /tmp/x
expect 'Error: A file was not found' 255 "copy of a guest file that is not there" -- g CopyFileFromGuestToHost "$vm" /tmp/none "$work/x"
expect 'Error: A file was not found' 255 "copy of a guest folder" -- g CopyFileFromGuestToHost "$vm" /etc "$work/x"
expect 'Error: A file was not found' 255 "copy into a guest folder that is not there" -- g CopyFileFromHostToGuest "$vm" "$work/who" /none/x
expect 'Error: Insufficient permissions in guest operating system' 255 "copy to where the user may not write" -- g CopyFileFromHostToGuest "$vm" "$work/who" /etc/x
expect 'Error: Insufficient permissions in guest operating system' 255 "copy of what the user may not read" -- g CopyFileFromGuestToHost "$vm" /etc/shadow "$work/x"
truth "nothing is left of it" test ! -e "$work/x"
expect 'Error: The file already exists' 255 "copy onto a guest folder" -- g CopyFileFromHostToGuest "$vm" "$work/who" /tmp
for nothing in "" "/tmp/$(printf 'n%.0s' {1..300})"; do
  expect 'Error: One of the parameters was invalid' 255 "copy to a name that cannot be" -- g CopyFileFromHostToGuest "$vm" "$work/who" "$nothing"
  expect 'Error: One of the parameters was invalid' 255 "a folder of a name that cannot be" -- g createDirectoryInGuest "$vm" "$nothing"
done
expect '' 0 "copy of a file that the guest's kernel makes up" -- g CopyFileFromGuestToHost "$vm" /proc/version "$work/version"
truth "is what is read there" grep -q '^Linux version ' "$work/version"
ln -s "$work/none" "$work/link"
mkfifo "$work/pipe"
for special in "$work/link" "$work/pipe" /dev/null; do
  expect 'Error: *name a regular file*' 255 "copy to what is no file" -- g CopyFileFromGuestToHost "$vm" /tmp/who "$special"
  expect 'Error: *name a regular file*' 255 "a picture to what is no file" -- g captureScreen "$vm" "$special"
done
truth "which stays what it was" test -L "$work/link" -a -p "$work/pipe" -a -c /dev/null

expect '' 0 "a file too large to be copied soon" -- g runProgramInGuest "$vm" /usr/bin/truncate -s 16G /tmp/large
for abort in "KILL 1.5" "TERM 1.5" "KILL 0.2" "KILL 0.1"; do
  # shellcheck disable=SC2086
  timeout -s $abort "$vmrun" -gu agent -gp "$password" CopyFileFromGuestToHost "$vm" /tmp/large "$work/large" > /dev/null 2>&1
  expect '' 0 "a copy in after one out that ended by $abort" -- g CopyFileFromHostToGuest "$vm" "$work/who" /tmp/small
  expect '' 0 "and one out" -- g CopyFileFromGuestToHost "$vm" /tmp/small "$work/large"
  truth "are whole, and nothing else is left" test "$(cat "$work/who")" = "$(cat "$work"/large*)"
done
head -c 50000000 /dev/urandom > "$work/sent"
timeout -s KILL 0.4 "$vmrun" -gu agent -gp "$password" CopyFileFromHostToGuest "$vm" "$work/sent" /tmp/large > /dev/null 2>&1
expect '' 0 "a copy in after one in that was killed" -- g CopyFileFromHostToGuest "$vm" "$work/who" /tmp/small
expect '' 0 "and one out" -- g CopyFileFromGuestToHost "$vm" /tmp/small "$work/received"
truth "are whole" cmp "$work/who" "$work/received"
expect '' 0 "deleteFileInGuest of a large one" -- g deleteFileInGuest "$vm" /tmp/large

expect '' 0 "a link to a folder" -- g runProgramInGuest "$vm" /bin/ln -s /etc /tmp/link
expect '' 0 "is deleted as a file" -- g deleteFileInGuest "$vm" /tmp/link
expect 'The directory exists.' 0 "the folder is not" -- g directoryExistsInGuest "$vm" /etc
expect '' 0 "a folder" -- g createDirectoryInGuest "$vm" /tmp/folder
expect 'Error: One of the parameters was invalid' 255 "does not go into itself" -- g renameFileInGuest "$vm" /tmp/folder /tmp/folder/in
expect 'The file exists.' 0 "fileExistsInGuest" -- g fileExistsInGuest "$vm" /tmp/who
expect '' 0 "deleteFileInGuest" -- g deleteFileInGuest "$vm" /tmp/who
expect 'The file does not exist.' 1 "a file that is gone" -- g fileExistsInGuest "$vm" /tmp/who
expect 'The file does not exist.' 1 "a folder is no file" -- g fileExistsInGuest "$vm" /etc
expect 'Error: A file was not found' 255 "deleteFileInGuest again" -- g deleteFileInGuest "$vm" /tmp/who
expect '' 0 "captureScreen" -- g captureScreen "$vm" "$work/screen.png"
truth "it is a PNG" test "$(head -c 8 "$work/screen.png" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a
expect 'unknown' 0 "the address of a machine without a network" -- v getGuestIPAddress "$vm"

expect '' 0 "pause" -- v pause "$vm"
expect 'Error: The VMware Tools are not running in the virtual machine: *' 255 "stop soft of a paused machine" -- timeout 10 "$vmrun" stop "$vm" soft
expect 'Error: The VMware Tools are not running in the virtual machine: *' 255 "reset soft of a paused machine" -- timeout 10 "$vmrun" reset "$vm" soft
expect '' 0 "unpause" -- v unpause "$vm"
expect "running" 0 "leaves nothing to be done later" -- v checkToolsState "$vm"

elsewhere() { env SALLYPORT_VMRUN_DIR="$work/else" "$@"; }
expect 'Error: The virtual machine should not be powered on. It is already running.' 255 "deleteVM by somebody with another runtime folder" -- elsewhere "$vmrun" deleteVM "$vm"
expect 'The file exists.' 0 "who can speak to the guest" -- elsewhere "$vmrun" -gu agent -gp "$password" fileExistsInGuest "$vm" /etc/passwd
mv "$work/run" "$work/away"
expect 'Error: The virtual machine should not be powered on. It is already running.' 255 "deleteVM when the runtime folder is gone" -- v deleteVM "$vm"
expect 'Error: *' 255 "snapshot when it is gone" -- v snapshot "$vm" lost
rm -rf "$work/run"
mv "$work/away" "$work/run"
emulator=$(sed -n 's/^executionID=//p' "$vm.lck/M00001.lck")
kill -STOP "$emulator"
expect "Total running VMs: 1
$vm" 0 "list shows a machine that does not answer" -- timeout 10 "$vmrun" list
kill -CONT "$emulator"
chmod 0755 "$work/run"
expect 'Error: the folder *' 255 "list where it cannot look" -- v list
chmod 0700 "$work/run"

expect "Error: There was an error in communication" 255 "a program that kills the guest agent" -- g runProgramInGuest "$vm" /usr/bin/sudo pkill -KILL -x qemu-ga
sleep 1
truth "comes back" tools_running
expect 'Error: *' 0 "fault error-exit-0" -- env VMRUN_FAULT=error-exit-0 "$vmrun" start "$vm"
expect '' 255 "fault exit-255-no-text" -- env VMRUN_FAULT=exit-255-no-text@list "$vmrun" list
expect 'Total running VMs: 0' 0 "fault list-lags" -- env VMRUN_FAULT=list-lags=3600 "$vmrun" list
expect 'installed' 0 "fault tools-late" -- env VMRUN_FAULT=tools-late=1 "$vmrun" checkToolsState "$vm"
expect 'running' 0 "only so often" -- env VMRUN_FAULT=tools-late=1 "$vmrun" checkToolsState "$vm"

expect 'installed' 0 "fault tools-installed" -- env VMRUN_FAULT=tools-installed "$vmrun" checkToolsState "$vm"
expect 'unknown' 0 "fault ip-unknown" -- env VMRUN_FAULT=ip-unknown "$vmrun" getGuestIPAddress "$vm"
expect '*.*.*.*' 0 "fault ip-stale" -- env VMRUN_FAULT=ip-stale "$vmrun" getGuestIPAddress "$vm"
expect "Total running VMs: 1
$(tr a-zA-Z A-Za-z <<< "$vm")" 0 "fault path-case" -- env VMRUN_FAULT=path-case "$vmrun" list
expect "Total running VMs: 1
*/./one.vmx" 0 "fault path-spelling" -- env VMRUN_FAULT=path-spelling "$vmrun" list
expect '*Usage: vmrun *Total running VMs: 1*' 0 "fault usage-mixed" -- env VMRUN_FAULT=usage-mixed "$vmrun" list
from=$(now_ms)
expect '*' 0 "fault hang=1" -- env VMRUN_FAULT=hang=1 "$vmrun" list
truth "which takes a second" test $(($(now_ms) - from)) -ge 1000
from=$(now_ms)
expect '' 0 "fault quantum" -- env VMRUN_FAULT=quantum "$vmrun" -gu agent -gp "$password" runProgramInGuest "$vm" /bin/true
truth "which takes a second" test $(($(now_ms) - from)) -ge 1000
head -c 70000 /dev/urandom > "$work/sent"
expect '' 0 "fault truncated-copy, in" -- env VMRUN_FAULT=truncated-copy "$vmrun" -gu agent -gp "$password" CopyFileFromHostToGuest "$vm" "$work/sent" /tmp/cut
expect '' 0 "and out" -- env VMRUN_FAULT=truncated-copy=5 "$vmrun" -gu agent -gp "$password" CopyFileFromGuestToHost "$vm" /tmp/cut "$work/received"
truth "is cut" cmp <(head -c 5 "$work/sent") "$work/received"

# Killed in a suspend, sooner and later, vmrun leaves a machine that can be started and goes on.
expect '' 0 "a mark in the guest's memory" -- g runProgramInGuest "$vm" /bin/sh -c "'echo > /dev/shm/mark'"
for seconds in 0.05 0.3 0.7; do
  timeout -s KILL "$seconds" "$vmrun" suspend "$vm" > /dev/null 2>&1
  truth "start after a suspend was killed" eval '[[ $(v start "$vm" nogui) = "" || $(v list) = *"$vm"* ]]'
  truth "Tools run" tools_running
done
expect 'The file exists.' 0 "the guest did not start anew" -- g fileExistsInGuest "$vm" /dev/shm/mark

expect '' 0 "stop soft, fault stale-lck" -- env VMRUN_FAULT=stale-lck "$vmrun" stop "$vm" soft
expect 'Total running VMs: 0' 0 "it is gone" -- v list
truth "but not its lock" test -e "$vm.lck/M00001.lck"
expect 'Error: The file is already in use' 255 "which counts" -- env VMRUN_FAULT=stale-lck "$vmrun" start "$vm" nogui
expect '' 0 "snapshot" -- v snapshot "$vm" first
expect '' 0 "and another" -- v snapshot "$vm" second
expect 'Error: A snapshot with the name already exists' 255 "and the same again" -- v snapshot "$vm" first
expect $'Total snapshots: 2\nfirst\n\tsecond' 0 "listSnapshots showTree" -- v listSnapshots "$vm" showTree
printf 'ethernet0.present = "TRUE"\n' >> "$vm"
expect '' 0 "start on a chain of four layers, a network and an old lock, standard output held" -- timeout 60 "$vmrun" -T ws start "$vm" nogui
truth "Tools get running" tools_running
address=$("$vmrun" getGuestIPAddress "$vm" -wait)
expect '' 0 "suspend" -- v suspend "$vm"
expect "$address" 0 "the address of a suspended machine is its old one" -- v getGuestIPAddress "$vm"
truth "an address indeed" grep -qE '^10\.' <<< "$address"
expect '' 0 "start of a suspended machine" -- v start "$vm" nogui
truth "Tools run" tools_running
expect 'The file exists.' 0 "what was written is there" -- g fileExistsInGuest "$vm" "/tmp/with space 70000"
expect '' 0 "stop hard" -- v stop "$vm" hard
expect 'Total running VMs: 0' 0 "it is gone" -- v list
truth "and so is its lock" test ! -e "$vm.lck"
truth "fault hold-stdout keeps the pipe open" bash -c "! VMRUN_FAULT=hold-stdout timeout 5 bash -c '\"$vmrun\" start \"$vm\" nogui | cat > /dev/null'"
kill -9 "$(sed -n 's/^executionID=//p' "$vm.lck/M00001.lck")"
sleep 0.2
expect 'Total running VMs: 0' 0 "a machine whose process was killed is off" -- v list
expect '' 0 "deleteVM" -- v deleteVM "$vm"
truth "leaves nothing" test ! -e "$work/one"

echo "$checks checks, $failures failures"
[ "$failures" = 0 ]
