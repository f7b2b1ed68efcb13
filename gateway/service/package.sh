#!/bin/bash
# package.sh BIN OUT: makes OUT/sallyport_<version>_<architecture>.deb of the two programs in BIN.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
version=$("$bin/sallyport" --version)
architecture=$(dpkg --print-architecture)
work=$(mktemp -d "$out/.package.XXXXXXXX")
trap 'rm -rf "$work"' EXIT
umask 022
tree=$work/tree
mkdir -m 0755 "$tree"
"$here/install.sh" "$tree" "$bin"
strip --strip-unneeded "$tree/usr/bin/sallyport" "$tree/usr/bin/sallyport-vmrun"

cat > "$tree/usr/share/doc/sallyport/copyright" <<TEXT
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: sallyport

Files: *
Copyright: the Sallyport authors
License: Apache-2.0
 On Debian systems the whole text is in /usr/share/common-licenses/Apache-2.0.
TEXT

# Which versions of the libraries the programs were linked with.
mkdir "$work/debian"
printf 'Source: sallyport\n\nPackage: sallyport\nArchitecture: any\n' > "$work/debian/control"
libraries=$(cd "$work" && dpkg-shlibdeps -O tree/usr/bin/sallyport tree/usr/bin/sallyport-vmrun 2> "$work/shlibdeps.log" |
  sed -n 's/^shlibs:Depends=//p') || { cat "$work/shlibdeps.log" >&2; exit 1; }
[ -n "$libraries" ] || { echo "package: no libraries found" >&2; exit 1; }

mkdir -m 0755 "$tree/DEBIAN"
cat > "$tree/DEBIAN/control" <<TEXT
Package: sallyport
Version: $version
Architecture: $architecture
Maintainer: the Sallyport authors <sallyport@localhost>
Installed-Size: $(du -k -s --apparent-size "$tree" | cut -f1)
Depends: $libraries, qemu-system-x86, qemu-utils, mmdebstrap, e2fsprogs, uidmap, passwd, util-linux
Section: utils
Priority: optional
Description: disposable virtual machines for AI agents, behind a policy
 Sallyport stands between MCP clients and disposable virtual machines, on VMware
 Workstation or on QEMU. Every call, and every command that it causes, is decided
 by one YAML policy, checked by enforcers and recorded in a log that shows later
 changes, before it takes effect.
 .
 It runs for one user as it is. As a service, which this package leaves switched
 off, policy, log and machines are out of the reach of the users' programs.
TEXT
(cd "$tree" && find etc -type f -printf '/%p\n' | LC_ALL=C sort) > "$tree/DEBIAN/conffiles"
(cd "$tree" && find usr etc -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) > "$tree/DEBIAN/md5sums"

script() { cat > "$tree/DEBIAN/$1" && chmod 0755 "$tree/DEBIAN/$1"; }
{
  cat "$here/accounts.sh"
  cat <<'TEXT'
if [ "$1" = configure ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  # An upgrade: a running service becomes the new one, and takes up the machines that run.
  [ -z "$2" ] || systemctl try-restart sallyport.service
fi
TEXT
} | script postinst
script prerm <<'TEXT'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ] && systemctl is-active --quiet sallyport.service; then
  # Machines outlive the service; with the programs gone nobody could end them.
  SALLYPORT_DEPLOYMENT=service sallyport kill-switch on || true
  systemctl disable --now sallyport.service || true
  rm -f /var/lib/sallyport/kill-switch
fi
TEXT
script postrm <<'TEXT'
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
if [ "$1" = purge ]; then
  rm -rf /var/lib/sallyport /var/lib/sallyport-transfer /run/sallyport
  # What the machines of users had at run time: empty folders, and no link is followed.
  find -P /tmp -mindepth 1 -maxdepth 2 -path '/tmp/sallyport-vmrun-[0-9]*' -type d -empty -delete || true
  rmdir --ignore-fail-on-non-empty /etc/sallyport/policy.d /etc/sallyport 2> /dev/null || true
  if getent passwd sallyport > /dev/null; then userdel sallyport || true; fi
  for group in sallyport sallyport-users; do
    if getent group "$group" > /dev/null; then groupdel "$group" || true; fi
  done
fi
TEXT
deb=$out/sallyport_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$tree" "$deb" > /dev/null
echo "$deb"
