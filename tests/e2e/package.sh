#!/bin/bash
# package.sh DEB IMAGE [whole]: installs the package in a bare Debian 12, uses it as an ordinary user there, removes
# and purges it. IMAGE is the folder of a base image, put where that user's would be; with `whole` the user builds
# one, as `sallyport init` does. Run by root. The bare tree and the packages fetched are kept below the cache.
set -euo pipefail
deb=$(realpath "$1") image=$(realpath "$2") whole=${3:-}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sallyport/package
bare=$cache/bare-bookworm.tar
checks=0 failures=0
[ "$(id -u)" = 0 ] || { echo "package: only root can make the tree"; exit 2; }

# Everything below happens with mounts and processes of its own, so that nothing of it is left.
if [ "${SALLYPORT_PACKAGE_TEST:-}" != inside ]; then
  SALLYPORT_PACKAGE_TEST=inside exec unshare --mount --pid --fork --kill-child --propagation private "$0" "$@"
fi

say() { printf 'package: [%3ds] %s\n' "$SECONDS" "$*"; }
check() {
  local what=$1
  shift
  checks=$((checks + 1))
  if "$@" > "$work/output" 2>&1; then
    say "ok: $what"
  else
    failures=$((failures + 1))
    say "FAILED: $what"
    tail -40 "$work/output"
  fi
}

mkdir -p "$cache/archives/partial"
work=$(mktemp -d "$cache/.run.XXXXXXXX")
trap 'umount -R "$work/tree" 2> /dev/null || true; rm -rf --one-file-system "$work"' EXIT
tree=$work/tree
mkdir "$tree"
# What concerns fetching is the host's: mirror, proxy.
apt-config dump | grep -E '^Acquire::(http|https|Retries|Check-Valid-Until|Check-Date|Max-FutureTime)' > "$work/apt.conf" || true
mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
  awk '($2 == "bookworm" || $2 == "bookworm-security" || $2 == "bookworm-updates") && $3 == "main" {print "deb", $1, $2, "main"}' | sort -u)
[ -n "$mirror" ] || mirror='deb http://deb.debian.org/debian bookworm main'
if [ ! -e "$bare" ]; then
  say "making the bare tree, once"
  mmdebstrap --variant=minbase --dpkgopt=force-unsafe-io --aptopt="$work/apt.conf" bookworm "$bare.part.tar" - <<< "$mirror" > "$work/output" 2>&1 ||
    { tail -20 "$work/output"; exit 1; }
  mv "$bare.part.tar" "$bare"
fi
tar -C "$tree" -xf "$bare" --exclude='./dev/*'
mount --bind "$tree" "$tree"
mount -t proc proc "$tree/proc"
mount --rbind /dev "$tree/dev"
mount -t tmpfs -o mode=0755 tmpfs "$tree/run"
mkdir -p "$tree/var/cache/apt/archives"
mount --bind "$cache/archives" "$tree/var/cache/apt/archives"
cp "$work/apt.conf" "$tree/etc/apt/apt.conf.d/99test"
echo force-unsafe-io > "$tree/etc/dpkg/dpkg.cfg.d/99test"
cp -L /etc/resolv.conf "$tree/etc/resolv.conf"
[ ! -e /etc/ssl/certs/ca-certificates.crt ] || install -D -m 0644 /etc/ssl/certs/ca-certificates.crt "$tree/etc/ssl/certs/ca-certificates.crt"
cp /etc/hosts "$tree/etc/hosts"
printf '#!/bin/sh\nexit 101\n' > "$tree/usr/sbin/policy-rc.d" && chmod 0755 "$tree/usr/sbin/policy-rc.d"
cp "$deb" "$tree/root/sallyport.deb"

# A root of its own and no chroot: the programs make user namespaces, which a chroot may not.
root() { unshare --mount --propagation private bash -c 'cd "$0" && mkdir -p .old && pivot_root . .old && umount -l /.old && exec "$@"' "$tree" env -i \
  PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
person() { root setpriv --reuid=person --regid=person --init-groups -- env HOME=/home/person USER=person LOGNAME=person "$@"; }
said() { local text=$1; shift; "$@" > "$work/said" 2>&1; grep -qE -- "$text" "$work/said" || { cat "$work/said"; false; }; }

check "the package lists are fetched" root apt-get update -q
check "it installs with what it depends on" root apt-get install -q -y --no-install-recommends /root/sallyport.deb
check "its version" said '^[0-9]+\.[0-9]+\.[0-9]+$' root sallyport --version
check "the accounts are made" root sh -c 'getent passwd sallyport && getent group sallyport-users'
check "the service is left switched off" root sh -c '! find /etc/systemd -name sallyport.service | grep .'
check "/etc/sallyport is root's" root sh -c 'test "$(stat -c %U%a /etc/sallyport/policy.d)" = root755'
check "man pages and completions" root sh -c 'ls /usr/share/man/man1/sallyport.1.gz /usr/share/zsh/vendor-completions/_sallyport /usr/share/fish/vendor_completions.d/sallyport.fish && bash -n /usr/share/bash-completion/completions/sallyport'
check "every command stands in the man page" root sh -c 'for c in $(sallyport nothing 2>&1 | sed -n "s/^The commands are: //p" | tr -d ,); do
  zcat /usr/share/man/man1/sallyport.1.gz | tr -d "\\\\" | grep -q "$c" || { echo "$c"; exit 1; }; done'
check "policies pass their own tests" root sh -c 'for p in /usr/share/sallyport/policies/*.yaml; do sallyport policy check $p || exit 1; done'

root useradd --create-home --shell /bin/bash person
if [ "$whole" != whole ]; then
  mkdir -p "$tree/home/person/.cache/sallyport/images"
  cp -r "$image" "$tree/home/person/.cache/sallyport/images/"
  rm -rf "$tree/home/person/.cache/sallyport/images/${image##*/}/clones"
  root chown -R person:person /home/person/.cache
fi
check "init gives the line to paste" said '^  claude mcp add sallyport -- /usr/bin/sallyport serve$' person sallyport init
check "the line's command is a working server" said '"sandbox_create"' person sh -c \
  '{ echo "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"; echo; echo "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}"; sleep 2; } | /usr/bin/sallyport serve'
if [ "$whole" = whole ]; then
  check "doctor makes a sandbox and uses it" said '^all is well' person sallyport doctor
  cat "$work/said"
else
  check "doctor finds nothing wrong" said '^all is well' person sallyport doctor --quick
fi
check "the owner ends" person sallyport daemon --stop
check "it is removed" root apt-get remove -q -y sallyport
check "its settings stay" root test -e /etc/sallyport/sallyport.yaml
check "it is purged" root apt-get purge -q -y sallyport
check "nothing of it is left" root sh -c '! find / -xdev -iname "*sallyport*" ! -path "/home/*" ! -path "/root/*" ! -path "/proc/*" ! -path "/var/cache/*" | grep .'
check "the accounts are gone" root sh -c '! getent passwd sallyport && ! getent group sallyport-users'
if command -v lintian > /dev/null; then
  check "lintian finds no error" lintian --fail-on error --suppress-tags no-changelog "$deb"
else
  say "lintian is not installed: not run"
fi
printf '%d checks, %d failures\n' "$checks" "$failures"
[ "$failures" = 0 ]
