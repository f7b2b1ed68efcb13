#!/bin/bash
# Whether sallyport-vmrun still does what it did: the check-list's transcript against the stored one.
#   golden.sh VMRUN BASE.vmx
# After a change that is meant: `golden.sh VMRUN BASE.vmx --update`, and look at the difference.
set -uo pipefail
vmrun=${1:?path of sallyport-vmrun} base=${2:?path of the base .vmx}
here=$(cd "$(dirname "$0")" && pwd)
golden=$here/../data/vmrun/sallyport-vmrun.golden
[ -f "$base" ] || { echo "no image at $base; build one with vmware/image/build.sh"; exit 1; }
password=$(sed -nE 's/.*"password": "([^"]+)".*/\1/p' "$(dirname "$base")/guest.json")

work=$(mktemp -d /tmp/golden.XXXXXX)
trap 'rm -rf "$work"' EXIT
export SALLYPORT_VMRUN_DIR=$work/run CHECKLIST_SNAPSHOT=clean CHECKLIST_LARGE=2000000 TMPDIR=/tmp
unset VMRUN_FAULT CHECKLIST_VNC CHECKLIST_ISOLATION
bash "$here/../workstation/checklist.sh" "$vmrun" "$base" agent "$password" > "$work/transcript" 2> "$work/stderr"
cat "$work/stderr"
if [ "${3:-}" = --update ]; then
  cp "$work/transcript" "$golden"
  exit
fi
checks=$(grep -c '^\$ ' "$golden")
failures=0
if ! diff -u --label golden --label now "$golden" "$work/transcript"; then
  failures=$(diff "$golden" "$work/transcript" | grep -c '^[<>]')
  [ "$failures" -le "$checks" ] || failures=$checks
fi
[ -s "$work/stderr" ] && failures=$((failures + 1)) checks=$((checks + 1))
echo "$checks checks, $failures failures"
[ "$failures" = 0 ]
