#!/bin/bash
# Builds a base virtual machine for sallyport-vmrun: see README.md beside this file.
set -euo pipefail
umask 077
here=$(cd "$(dirname "$0")" && pwd)

suite=bookworm
packages=bash,coreutils,ca-certificates,curl,git,iproute2,less,mount,netbase,passwd,procps,python3,qemu-guest-agent,sudo,tar,unzip,xz-utils,busybox-static
disk_size=4G
out="" name=debian-12 with="" run="" mirror="" vmrun="" force=no

usage() {
  cat <<TEXT
usage: build.sh --out DIR [--name NAME] [--with PACKAGES] [--run SCRIPT] [--mirror URL] [--vmrun PATH] [--force]

  --out DIR         folder that receives NAME/
  --name NAME       name of the machine, [A-Za-z0-9._-]{1,60} (debian-12)
  --with PACKAGES   further Debian packages, separated by commas
  --run SCRIPT      script run as root inside the new system, with its network, before the disk is made
  --mirror URL      Debian mirror (default: what this host's apt uses)
  --vmrun PATH      the sallyport-vmrun that boots the result and takes the snapshot
  --force           build even if the same image exists
TEXT
}
die() { echo "image: $*" >&2; exit 1; }
say() { printf 'image: [%3ds] %s\n' "$SECONDS" "$*"; }

while [ $# -gt 0 ]; do
  case "$1" in
    --out | --name | --with | --run | --mirror | --vmrun)
      [ $# -ge 2 ] || die "$1 needs a value"
      option=${1#--}
      printf -v "$option" %s "$2"
      shift 2
      ;;
    --force) force=yes; shift ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; die "unknown option $1" ;;
  esac
done
[ -n "$out" ] || { usage >&2; die "--out is missing"; }
[[ $name =~ ^[A-Za-z0-9_-][A-Za-z0-9._-]{0,59}$ ]] || die "a name is [A-Za-z0-9._-]{1,60} and does not start with a dot"
[[ -z $with || $with =~ ^[a-z0-9][a-z0-9.+,:-]*$ ]] || die "--with takes Debian package names separated by commas"
[ -z "$run" ] || [ -f "$run" ] || die "no script at $run"
vmrun=${vmrun:-$(command -v sallyport-vmrun || true)}
[ -n "$vmrun" ] && [ -x "$vmrun" ] || die "sallyport-vmrun is needed; name it with --vmrun"
vmrun=$(realpath "$vmrun")
for tool in mmdebstrap qemu-img qemu-system-x86_64 mke2fs; do
  PATH=$PATH:/usr/sbin:/sbin command -v $tool > /dev/null || missing="${missing:-} $tool"
done
[ -z "${missing:-}" ] || die "missing:$missing (apt-get install mmdebstrap qemu-utils qemu-system-x86 e2fsprogs)"
PATH=$PATH:/usr/sbin:/sbin

mkdir -p "$out"
out=$(realpath "$out")
recipe=$({
  (cd "$here" && find build.sh initrd rootfs -type f | LC_ALL=C sort | xargs sha256sum)
  printf '%s\n' "$name" "$with" "$mirror"
  [ -z "$run" ] || cat "$run"
} | sha256sum | cut -d' ' -f1)
exec 9> "$out/.$name.lock"
flock -w 1800 9 || die "another build of $name is running"
if [ "$force" = no ] && [ -f "$out/$name/$name.vmx" ] && [ "$(cat "$out/$name/recipe" 2> /dev/null)" = "$recipe" ]; then
  say "$out/$name is up to date"
  exit 0
fi

# Clones read the disks of their base: taking it away under them would break every one.
if [ -f "$out/$name/$name.vmsd" ]; then
  while read -r clone; do
    [ ! -e "$clone" ] || die "$out/$name has a clone, $clone; delete it first, or build under another --name"
  done < <(sed -nE 's/^snapshot[0-9]+\.clone[0-9]+ = "(.*)"$/\1/p' "$out/$name/$name.vmsd")
fi

work=$(mktemp -d "$out/.$name.XXXXXXXX")
vm=$work/vm
# With user namespaces an ordinary user plays root on files of their own; root needs no help.
as_root=()
[ "$(id -u)" = 0 ] || as_root=(unshare --map-root-user --map-auto)
clean_up() {
  status=$?
  if [ -f "$work/probe/$name.vmx" ]; then
    timeout 60 "$vmrun" -T ws stop "$work/probe/$name.vmx" hard > /dev/null 2>&1 < /dev/null || true
  fi
  "${as_root[@]}" rm -rf "$work"
  [ $status = 0 ] || echo "image: nothing was changed in $out" >&2
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP
mkdir "$vm"

# --- the file tree, from Debian's packages -----------------------------------------------------------------
# Only what concerns fetching is taken from this host's apt, and only while building.
apt-config dump 2> /dev/null | grep -E '^Acquire::(http|https|ftp|Retries|Check-Valid-Until|Check-Date|Max-FutureTime)' \
  > "$work/apt.conf" || true
sources=()
if [ -n "$mirror" ]; then
  sources=("deb $mirror $suite main" "deb $mirror $suite-updates main")
else
  while read -r uri release component; do
    case "$release" in
      "$suite" | "$suite-updates" | "$suite-security") [ "$component" = main ] && sources+=("deb $uri $release main") ;;
    esac
  done < <(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2> /dev/null | sort -u)
  [ ${#sources[@]} -gt 0 ] || mapfile -t sources < "$here/rootfs/etc/apt/sources.list"
fi

# printf is the shell's own: no other process has the password among its words.
password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
mkdir "$work/stage"
printf 'agent:%s\n' "$password" > "$work/stage/chpasswd"
printf '{"user": "agent", "password": "%s"}\n' "$password" > "$vm/guest.json"
printf '%s\n' "$password" | "$vmrun" credential agent > "$vm/guest.cred" || die "cannot make the guest credential"
unset password

cat > "$work/stage/customize" <<'HOOK'
set -eu
root=$1
stage=$root/stage
chroot "$root" useradd --create-home --shell /bin/bash --groups sudo agent
chroot "$root" sh -c 'chpasswd < /stage/chpasswd && passwd --lock root > /dev/null'
if [ -f "$stage/run" ]; then
  chmod 755 "$stage/run"
  chroot "$root" /stage/run
fi
# The kernel stays outside of the disk; so do the many drivers no guest of ours can meet.
kernel=$(chroot "$root" apt-cache depends --no-recommends linux-image-cloud-amd64 | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -1)
mkdir "$root/kernel"
chroot "$root" sh -c "cd /kernel && apt-get -qq -o APT::Sandbox::User=root download $kernel && dpkg-deb -x *.deb tree"
mkdir -p "$root/initrd/bin" "$root/initrd/modules" "$root/initrd/proc" "$root/initrd/sys" "$root/initrd/dev" "$root/initrd/root"
cp "$root/bin/busybox" "$root/initrd/bin/busybox"
cp "$stage/initrd/init" "$root/initrd/init"
while read -r module; do
  find "$root/kernel/tree/lib/modules" -name "$module.ko" -exec cp {} "$root/initrd/modules/" \;
done < "$stage/initrd/modules"
cp "$stage/initrd/modules" "$root/initrd/modules/order"
chmod -R go+rX "$root/initrd"
chroot "$root" bash -o pipefail -c 'cd /initrd && find . | LC_ALL=C sort | busybox cpio -R 0:0 -o -H newc 2> /dev/null | gzip -6 > /kernel/initrd'
mv "$root"/kernel/tree/boot/vmlinuz-* "$root/kernel/vmlinuz"
mkdir "$root/handover"
mv "$root/kernel/vmlinuz" "$root/kernel/initrd" "$root/handover/"
rm -rf "$root/kernel" "$root/initrd"

tar -C "$stage/rootfs" -cf - . | tar -C "$root" --no-same-owner --no-same-permissions --no-overwrite-dir -xf -
chmod -R go+rX "$root/etc/boot" "$root/etc/acpi" "$root/etc/inittab" "$root/etc/apt" "$root/usr/local/sbin"
chmod 440 "$root/etc/sudoers.d/agent"
for applet in init poweroff reboot halt; do ln -sf /bin/busybox "$root/sbin/$applet"; done
ln -sf /usr/local/sbin/shutdown "$root/sbin/shutdown"
printf '%s\n' "$(cat "$stage/name")" > "$root/etc/hostname"
printf '127.0.0.1 localhost %s\n::1 localhost\n' "$(cat "$stage/name")" > "$root/etc/hosts"
: > "$root/etc/resolv.conf"
: > "$root/etc/machine-id"
chmod 644 "$root/etc/hostname" "$root/etc/hosts" "$root/etc/resolv.conf" "$root/etc/machine-id"
rm -f "$root/etc/apt/apt.conf.d/99mmdebstrap" "$root"/etc/apt/sources.list.d/* "$root"/etc/apt/auth.conf "$root"/etc/apt/auth.conf.d/*
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin "$root"/var/cache/apt/archives/*.deb
find "$root/var/log" -type f -delete
find "$root/usr" -name __pycache__ -prune -exec rm -rf {} +
rm -rf "$stage"
HOOK
[ -z "$run" ] || cp "$run" "$work/stage/run"
printf '%s\n' "$name" > "$work/stage/name"
cp -r "$here/initrd" "$here/rootfs" "$work/stage/"
tar -C "$work/stage" -cf "$work/stage.tar" .
rm -rf "$work/stage"
apt_options=()
while read -r line; do apt_options+=("--aptopt=$line"); done < "$work/apt.conf"

say "fetching and unpacking Debian $suite (about a minute)"
# In a user namespace the hooks are another user's processes and see nothing of our folder; `tar-in` hands them what
# they need.
mmdebstrap --quiet --variant=apt --format=tar \
  "${apt_options[@]}" --aptopt='APT::Install-Recommends "false"' \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/lintian/*' \
  --include="$packages${with:+,$with}" \
  --customize-hook='mkdir -m 700 "$1/stage"' --customize-hook="tar-in '$work/stage.tar' /stage" \
  --customize-hook='sh "$1/stage/customize" "$1"' \
  "$suite" "$work/root.tar" "${sources[@]}" < /dev/null > "$work/log" 2>&1 || { tail -20 "$work/log" >&2; die "mmdebstrap failed"; }

# --- the disk ----------------------------------------------------------------------------------------------
say "making the disk"
cat > "$work/pack" <<'PACK'
set -eu
work=$1 vm=$2 size=$3
mkdir "$work/tree"
tar -C "$work/tree" --exclude='./dev/*' -xpf "$work/root.tar"
mv "$work/tree/handover/vmlinuz" "$work/tree/handover/initrd" "$vm/"
rmdir "$work/tree/handover"
truncate -s "$size" "$work/disk.raw"
mke2fs -q -F -t ext4 -L root -m 0 -J size=16 -E lazy_itable_init=0,lazy_journal_init=0,nodiscard,root_owner=0:0 -d "$work/tree" "$work/disk.raw"
PACK
"${as_root[@]}" bash "$work/pack" "$work" "$vm" "$disk_size" || die "cannot make the file system"
rm -f "$work/root.tar" "$work/stage.tar"

say "checking that nothing of this host stayed inside"
tree=$work/tree
in_tree() { "${as_root[@]}" "$@"; }
in_tree cmp -s "$here/rootfs/etc/apt/sources.list" "$tree/etc/apt/sources.list" || die "foreign apt sources in the guest"
[ -z "$(in_tree find "$tree/etc/apt/sources.list.d" "$tree/etc/apt/auth.conf.d" -type f)" ] || die "foreign apt files in the guest"
if in_tree grep -rIqiE 'proxy|Check-Valid|https?://[^ /]*@' "$tree/etc/apt" "$tree/etc/environment" 2> /dev/null; then
  die "a proxy or login in the guest's apt configuration"
fi
{
  sed -nE 's/^Acquire::.*[Pp]roxy.* "(.+)";$/\1/p' "$work/apt.conf"
  printf '%s\n' "${sources[@]}" | sed -nE 's#.*://([^/ ]*@)?([^/ ]+)/.*#\1\2#p' | grep -vE '^(deb|security|archive|snapshot)\.debian\.org$'
  sed -nE 's/^nameserver +(.+)$/nameserver \1/p' /etc/resolv.conf 2> /dev/null
} | sort -u > "$work/traces" || true
if [ -s "$work/traces" ] && in_tree grep -rIlFf "$work/traces" "$tree/etc" "$tree/var" "$tree/root" "$tree/home" 2> /dev/null | head -3 | grep .; then
  die "the files above name this host's mirror, proxy or name server"
fi
in_tree rm -rf "$tree"

qemu-img convert -q -f raw -O qcow2 -o preallocation=off,lazy_refcounts=off "$work/disk.raw" "$vm/$name.qcow2"
rm -f "$work/disk.raw"
chmod 600 "$vm"/*

cat > "$vm/$name.vmx" <<VMX
.encoding = "UTF-8"
config.version = "8"
displayName = "$name"
ethernet0.present = "FALSE"
floppy0.present = "FALSE"
guestOS = "debian12-64"
memsize = "1024"
numvcpus = "2"
qemu.append = "root=/dev/vda rw console=tty0 quiet loglevel=3 panic=5 random.trust_cpu=on no_timer_check"
qemu.guest.credential = "guest.cred"
qemu.initrd = "initrd"
qemu.kernel = "vmlinuz"
scsi0.present = "TRUE"
scsi0.virtualDev = "lsilogic"
scsi0:0.fileName = "$name.qcow2"
scsi0:0.present = "TRUE"
virtualHW.version = "19"
VMX

# --- a boot that answers, on a copy so that the base stays as made ---------------------------------------------
say "booting a copy"
mkdir "$work/probe"
cp --sparse=always "$vm"/* "$work/probe/"
probe=$work/probe/$name.vmx
# Once, on this throw-away account, the password does stand in a command line: vmrun knows no other way.
guest_password=$(sed -nE 's/.*"password": "([0-9a-f]+)".*/\1/p' "$vm/guest.json")
"$vmrun" -T ws start "$probe" nogui || die "the machine does not start"
started=$SECONDS
until [ "$("$vmrun" -T ws checkToolsState "$probe")" = running ]; do
  [ $((SECONDS - started)) -lt 180 ] || die "the guest did not answer within 180 s"
  sleep 0.2
done
say "the guest answered after $((SECONDS - started)) s"
for check in /bin/true "/usr/bin/python3 -c 1" "/usr/bin/git --version" "/usr/bin/curl --version" "/usr/bin/sudo -n true"; do
  # shellcheck disable=SC2086
  "$vmrun" -T ws -gu agent -gp "$guest_password" runProgramInGuest "$probe" $check || die "the guest does not run $check"
done
"$vmrun" -T ws stop "$probe" soft || die "the machine does not stop"
rm -rf "$work/probe"

"$vmrun" -T ws snapshot "$vm/$name.vmx" clean || die "no snapshot"
printf '%s\n' "$recipe" > "$vm/recipe"
chmod 600 "$vm/recipe"
if [ -e "$out/$name" ]; then
  mv "$out/$name" "$work/old"
fi
mv "$vm" "$out/$name"
say "done: $out/$name/$name.vmx ($(du -sm "$out/$name" | cut -f1) MB on disk)"
