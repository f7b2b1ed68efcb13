#!/usr/bin/env bash
# What a vmrun really does, as a transcript that can be compared: VMware Workstation's on Linux, or a program
# that takes its place.
#   checklist.sh VMRUN BASE.vmx [USER PASSWORD] > transcript
# BASE is a machine with a Linux guest that is off and has a snapshot taken while it was off (its name in
# $CHECKLIST_SNAPSHOT, else the first one listed). It is only cloned. USER can log in to the guest. Everything
# made is below a new folder in $TMPDIR and deleted at the end. Names, paths, numbers of processes, versions and
# addresses are made equal, so that two transcripts differ where two vmruns do.
#   CHECKLIST_LARGE=BYTES   size of the large copy (50000000)
#   CHECKLIST_BOOT=SECONDS  how long a guest may take until its Tools run (300)
#   CHECKLIST_ISOLATION=yes try each isolation key; a boot for each
set -uo pipefail
vmrun=${1:?usage: checklist.sh VMRUN BASE.vmx [USER PASSWORD]}
base=$(realpath "${2:?the base machine}") || exit 2
user=${3:-} password=${4:-}
large=${CHECKLIST_LARGE:-50000000}
boot=${CHECKLIST_BOOT:-300}
[ -x "$(command -v "$vmrun")" ] || { echo "no program $vmrun" >&2; exit 2; }

work=$(realpath "$(mktemp -d "${TMPDIR:-/tmp}/checklist.XXXXXX")") || exit 2
one=$work/one/one.vmx two=$work/two/two.vmx three=$work/three/three.vmx four=$work/four/four.vmx
clean_up() {
  for vm in "$four" "$three" "$two" "$one"; do
    [ -f "$vm" ] || continue
    timeout 120 "$vmrun" -T ws stop "$vm" hard
    timeout 120 "$vmrun" -T ws deleteVM "$vm"
  done > /dev/null 2>&1 < /dev/null
  rm -rf "$work"
}
trap clean_up EXIT

# ---- the transcript ----------------------------------------------------------------------------------------

quoted() { printf '%s' "$1" | sed 's/[][\/.*^$|]/\\&/g'; }
normalize() {
  local script="s/$(quoted "$work")/WORK/g;s/$(quoted "$base")/BASE.vmx/g;s/$(quoted "$(dirname "$base")")/BASE/g"
  script="$script;s/snapshot[= ]$(quoted "$snapshot")\b/snapshot=SNAPSHOT/g"
  [ -z "$user" ] || script="$script;s/-gu $(quoted "$user") /-gu USER /g;s/owner=$(quoted "$user"),/owner=USER,/g"
  [ -z "$password" ] || script="$script;s/$(quoted "$password")/PASSWORD/g"
  sed -E -e 's/\r$//' | sed -e "$script" | sed -E \
    -e 's/vmrun version .*/vmrun version VERSION/' \
    -e 's/\bpid=[0-9]+/pid=N/g' -e 's/^(Process list: ).*/\1N/' \
    -e 's/\b([0-9]{1,3}\.){3}[0-9]{1,3}\b/ADDRESS/g' \
    -e 's#^/tmp/[A-Za-z]*[-_./A-Za-z0-9]*$#TEMPFILE#' -e 's/ARGUMENTX+/ARGUMENT-OF-102400-BYTES/'
}
heading() { printf '\n## %s\n' "$1"; }
note() { printf -- '- %s\n' "$1" | normalize; }
skip() { note "skipped: $1"; }
# call FILTER WORD…: runs vmrun, and prints the call, the exit code, what it said and on which stream.
call() {
  local filter=$1 status
  shift
  timeout 600 "$vmrun" -T ws "$@" > "$work/out" 2> "$work/err" < /dev/null
  status=$?
  {
    printf '$ vmrun -T ws'
    [ $# = 0 ] || printf ' %q' "$@"
    printf '\nexit %s\n' "$status"
    sed 's/^/| /' "$work/out" | if [ "$filter" = all ]; then cat; else grep -E "$filter"; fi
    sed 's/^/stderr | /' "$work/err"
  } | sed -E 's/^\| //;s/^(exit|stderr|\$ )/\n\1/' | normalize | sed '/^$/d' | indent
}
# Calls start with `$`; everything else is what came of it, two blanks in.
indent() { sed -E 's/^([^$])/  \1/'; }
v() { call all "$@"; }
g() { call all -gu "$user" -gp "$password" "$@"; }
compare() { if cmp -s "$1" "$2"; then note "the files are the same"; else note "the files differ ($(wc -c < "$1") and $(wc -c < "$2") bytes)"; fi; }
tools_running() {
  local since=$SECONDS
  until [ "$(timeout 60 "$vmrun" -T ws checkToolsState "$1" 2> /dev/null < /dev/null)" = running ]; do
    [ $((SECONDS - since)) -lt "$boot" ] || { note "the Tools did not get running within $boot s"; return 1; }
    sleep 0.5
  done
}
have_login() { [ -n "$user" ] || { skip "no guest login was given"; return 1; }; }

snapshot=${CHECKLIST_SNAPSHOT:-$(timeout 60 "$vmrun" -T ws listSnapshots "$base" 2> /dev/null | sed -n 2p)}
[ -n "$snapshot" ] || { echo "the base has no snapshot; take one while it is off" >&2; exit 2; }

# ---- without a running machine -----------------------------------------------------------------------------

heading "words"
v
call '^(Error|vmrun)' -h
call '^(Error|vmrun)' frobnicate
v -T player list
v list extra
v start
v start "$work/none.vmx" nogui
printf 'nothing\n' > "$work/bad.vmx"
v start "$work/bad.vmx" nogui
for name in listHostNetworks listRegisteredVM "listPortForwardings vmnet8"; do
  # shellcheck disable=SC2086
  v $name
done

heading "clones"
v clone "$base" "$one" linked -snapshot="$snapshot" -cloneName=one
v clone "$base" "$one" linked -snapshot="$snapshot"
v clone "$base" "$work/x/x.vmx" linked -snapshot=none
v clone "$base" x/x.vmx linked -snapshot="$snapshot"
v clone "$base" "$work/x/x.vmx" linked
v clone "$base" "$work/x/x.vmx" half
note "two at once"
for name in two three; do
  timeout 600 "$vmrun" -T ws clone "$base" "$work/$name/$name.vmx" linked -snapshot "$snapshot" > "$work/$name.out" 2>&1 < /dev/null &
done
wait
for name in two three; do
  normalize < "$work/$name.out"
  [ -f "$work/$name/$name.vmx" ] && note "$name is there"
done

heading "a machine that is off"
v list
v stop "$one"
v suspend "$one"
v pause "$one"
v reset "$one" hard
v checkToolsState "$one"
v getGuestIPAddress "$one"
v readVariable "$one" guestVar ip
v readVariable "$one" runtimeConfig config.version
v upgradevm "$work/none.vmx"
if have_login; then g fileExistsInGuest "$one" /etc/passwd; fi

heading "snapshots of a machine that is off"
v snapshot "$one" first
v snapshot "$one" second
v snapshot "$one" first
v listSnapshots "$one"
v listSnapshots "$one" showTree
v revertToSnapshot "$one" first
v snapshot "$one" third
v listSnapshots "$one" showTree
v revertToSnapshot "$one" none
v deleteSnapshot "$one" second
v deleteSnapshot "$one" none
v deleteSnapshot "$one" first andDeleteChildren
v listSnapshots "$one" showTree

heading "odd lines in a .vmx"
{
  printf 'guestinfo.twice = "first"\nguestinfo.twice = "second"\n'
  printf 'guestinfo.broken = "x" y\n'
  printf 'guestinfo.escape = "||22"\n'
  printf 'guestinfo.nul = "a|00b"\n'
  printf 'guestinfo.BARE = bare\n'
  if [ -n "${CHECKLIST_VNC:-}" ]; then
    printf 'RemoteDisplay.vnc.enabled = "TRUE"\nRemoteDisplay.vnc.port = "%s"\n' "$CHECKLIST_VNC"
    printf 'RemoteDisplay.vnc.ip = "127.0.0.1"\nRemoteDisplay.vnc.password = "rightone"\n'
  fi
  printf 'serial0.present = "TRUE"\nserial0.fileType = "pipe"\nserial0.fileName = "%s/serial"\n' "$work"
  printf 'serial0.pipe.endPoint = "server"\nserial0.startConnected = "TRUE"\nserial0.tryNoRxLoss = "TRUE"\n'
} >> "$two"
v start "$two" nogui
v list
for name in twice broken escape nul bare BARE absent; do v readVariable "$two" guestVar "$name"; done

# ---- with a running machine --------------------------------------------------------------------------------

heading "starting"
v start "$one" nogui
v start "$one" nogui
call '^' list > "$work/listed"
{ head -3 "$work/listed"; tail -n +4 "$work/listed" | sort; }
v deleteVM "$one"
if have_login; then g runProgramInGuest "$one" /bin/true; fi
v getGuestIPAddress "$one"
v stop "$two" hard
v deleteVM "$two"
tools_running "$one" || exit 1
v checkToolsState "$one"
v getGuestIPAddress "$one"

heading "variables"
v writeVariable "$one" guestVar checklist "a value"
v readVariable "$one" guestVar checklist
v readVariable "$one" guestVar unset
v writeVariable "$one" runtimeConfig checklist.key 1
v readVariable "$one" runtimeConfig checklist.key
v readVariable "$one" guestEnv HOME

if have_login; then
  heading "logins"
  call all -gu "$user" -gp "not-$password" runProgramInGuest "$one" /bin/true
  call all runProgramInGuest "$one" /bin/true

  heading "programs"
  g runProgramInGuest "$one" /bin/true
  g runProgramInGuest "$one" /bin/false
  g runProgramInGuest "$one" /bin/sh -c "'exit 255'"
  g runProgramInGuest "$one" /bin/sh -c "'kill -9 \$\$'"
  g runProgramInGuest "$one" /bin/no-such-program
  g runProgramInGuest "$one" /bin/echo ';id > /tmp/checklist-id'
  g fileExistsInGuest "$one" /tmp/checklist-id
  g runProgramInGuest "$one" /bin/true "ARGUMENT$(head -c 102392 /dev/zero | tr '\0' X)"
  g runScriptInGuest "$one" /bin/sh 'exit 4'
  g runScriptInGuest "$one" '' 'echo "$0" > /tmp/checklist-script'
  g runProgramInGuest "$one" -noWait /bin/sleep 4321
  call 'Process list|cmd=/bin/sleep 4321' -gu "$user" -gp "$password" listProcessesInGuest "$one"
  pid=$(timeout 60 "$vmrun" -T ws -gu "$user" -gp "$password" listProcessesInGuest "$one" < /dev/null |
    sed -nE 's/^pid=([0-9]+), .*sleep 4321.*/\1/p' | head -1)
  note "killing the sleeping process, and again"
  for _ in 1 2; do
    timeout 60 "$vmrun" -T ws -gu "$user" -gp "$password" killProcessInGuest "$one" "${pid:-0}" 2>&1 < /dev/null |
      normalize | indent
    echo "  exit ${PIPESTATUS[0]}"
  done
  g killProcessInGuest "$one" 4194303

  heading "files and directories"
  g fileExistsInGuest "$one" /etc/passwd
  g fileExistsInGuest "$one" /etc
  g directoryExistsInGuest "$one" /etc
  g directoryExistsInGuest "$one" /etc/passwd
  g createDirectoryInGuest "$one" /tmp/checklist
  g createDirectoryInGuest "$one" /tmp/checklist
  g createDirectoryInGuest "$one" /none/checklist
  g createDirectoryInGuest "$one" /etc/checklist
  g listDirectoryInGuest "$one" /tmp/checklist
  : > "$work/empty"
  head -c 70000 /dev/urandom > "$work/70000"
  head -c "$large" /dev/urandom > "$work/large"
  for name in empty 70000 large; do
    g CopyFileFromHostToGuest "$one" "$work/$name" "/tmp/checklist/$name"
    g CopyFileFromGuestToHost "$one" "/tmp/checklist/$name" "$work/back"
    compare "$work/$name" "$work/back"
  done
  g CopyFileFromHostToGuest "$one" "$work/none" /tmp/checklist/x
  g CopyFileFromHostToGuest "$one" "$work/empty" /none/x
  g CopyFileFromHostToGuest "$one" "$work/empty" /etc/x
  g CopyFileFromGuestToHost "$one" /tmp/none "$work/back"
  g CopyFileFromGuestToHost "$one" /etc "$work/back"
  g runProgramInGuest "$one" /usr/bin/mkfifo /tmp/checklist/fifo
  g CopyFileFromGuestToHost "$one" /tmp/checklist/fifo "$work/back"
  g CopyFileFromGuestToHost "$one" /dev/zero "$work/back"
  g CopyFileFromHostToGuest "$one" "$work/empty" /tmp/checklist/fifo
  g listDirectoryInGuest "$one" /tmp/checklist
  g renameFileInGuest "$one" /tmp/checklist/70000 /tmp/checklist/new
  g renameFileInGuest "$one" /tmp/checklist/70000 /tmp/checklist/new
  g renameFileInGuest "$one" /tmp/checklist/new /tmp/checklist/empty
  g deleteFileInGuest "$one" /tmp/checklist/new
  g deleteFileInGuest "$one" /tmp/checklist/new
  g deleteDirectoryInGuest "$one" /tmp/checklist
  g deleteDirectoryInGuest "$one" /tmp/checklist
  g CreateTempfileInGuest "$one"

  heading "screen and keys"
  g captureScreen "$one" "$work/screen.png"
  [ "$(head -c 4 "$work/screen.png" 2> /dev/null | tail -c 3)" = PNG ] && note "it is a PNG"
  call all captureScreen "$one" "$work/screen.png"
  g typeKeystrokesInGuest "$one" 'echo Hello'
fi

heading "paused, suspended, kept with memory"
v pause "$one"
v checkToolsState "$one"
v unpause "$one"
v suspend "$one"
v list
v getGuestIPAddress "$one"
v start "$one" nogui
tools_running "$one"
if have_login; then g runProgramInGuest "$one" /bin/sh -c "'echo before > /tmp/before'"; fi
v snapshot "$one" live
tools_running "$one"
v listSnapshots "$one"
v clone "$one" "$work/x/x.vmx" linked -snapshot=live
if have_login; then g deleteFileInGuest "$one" /tmp/before; fi
v revertToSnapshot "$one" live
v list
v start "$one" nogui
tools_running "$one"
if have_login; then g fileExistsInGuest "$one" /tmp/before; fi
v reset "$one" hard
v stop "$one" hard
v list
v deleteSnapshot "$one" live
v listSnapshots "$one"

heading "full clone"
v clone "$one" "$four" full -cloneName=four
v deleteVM "$four"

# ---- what only VMware's can do -----------------------------------------------------------------------------

heading "serial port"
if [ ! -S "$work/serial" ]; then
  skip "no socket appeared where serial0.fileName said"
elif ! command -v socat > /dev/null; then
  skip "socat is not installed"
else
  note "the socket is there, mode $(stat -c %a "$work/serial")"
  v start "$three" nogui
fi

heading "VNC"
if [ -z "${CHECKLIST_VNC:-}" ]; then
  skip "set CHECKLIST_VNC to a free port"
elif ! ss -Hltn "sport = :$CHECKLIST_VNC" | grep -q .; then
  skip "nothing listens on the port"
else
  note "listening at: $(ss -Hltn "sport = :$CHECKLIST_VNC" | awk '{print $4}')"
fi

heading "isolation keys"
if [ "${CHECKLIST_ISOLATION:-}" != yes ]; then
  skip "CHECKLIST_ISOLATION is not yes"
elif have_login; then
  for setting in isolation.tools.vixMessage.disable=TRUE isolation.device.edit.disable=TRUE \
    isolation.device.connectable.disable=TRUE vmci0.present=FALSE isolation.tools.hgfs.disable=TRUE \
    tools.guestlib.enableHostInfo=FALSE; do
    note "with $setting"
    sed -i "/^${setting%%=*} /d" "$three"
    printf '%s = "%s"\n' "${setting%%=*}" "${setting#*=}" >> "$three"
    v start "$three" nogui
    tools_running "$three" && g runProgramInGuest "$three" /bin/true
    v stop "$three" hard
  done
fi

heading "deleting"
v deleteVM "$three"
v deleteVM "$one"
v deleteVM "$one"
for name in one two three four; do [ ! -e "$work/$name" ] || note "$name is still there"; done
