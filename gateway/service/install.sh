#!/bin/bash
# install.sh ROOT BIN: puts Sallyport's files below ROOT, as the Debian package has them. BIN holds the two programs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
root=${1%/} bin=$2
put() { install -D -m "$1" "$2" "$root$3"; }

put 0755 "$bin/sallyport" /usr/bin/sallyport
put 0755 "$bin/sallyport-vmrun" /usr/bin/sallyport-vmrun
put 0755 "$here/service-image" /usr/lib/sallyport/service-image
put 0644 "$here/sallyport.service" /usr/lib/systemd/system/sallyport.service
put 0644 "$here/sallyport.yaml" /etc/sallyport/sallyport.yaml
install -d -m 0755 "$root/etc/sallyport/policy.d"
for file in "$source"/policies/*.yaml; do put 0644 "$file" "/usr/share/sallyport/policies/${file##*/}"; done
while read -r file; do
  mode=0644
  [ -x "$source/vmware/image/$file" ] && mode=0755
  put "$mode" "$source/vmware/image/$file" "/usr/share/sallyport/image/$file"
done < <(cd "$source/vmware/image" && find . -type f ! -name README.md -printf '%P\n' | LC_ALL=C sort)

doc=$root/usr/share/doc/sallyport
for file in README.md docs/service.md docs/settings.md docs/policy.md docs/setup-vmware.md docs/security-case.md docs/from-vmware-sandbox-mcp.md; do
  [ -e "$source/$file" ] && put 0644 "$source/$file" "/usr/share/doc/sallyport/${file##*/}"
done
put 0644 "$source/CHANGELOG.md" /usr/share/doc/sallyport/changelog
gzip -9nf "$doc/changelog"
for page in "$source"/docs/man/*.1; do
  put 0644 "$page" "/usr/share/man/man1/${page##*/}"
  gzip -9nf "$root/usr/share/man/man1/${page##*/}"
done
completion() { install -d "$root$2" && "$bin/sallyport" completions "$1" > "$root$2/$3"; chmod 0644 "$root$2/$3"; }
completion bash /usr/share/bash-completion/completions sallyport
completion zsh /usr/share/zsh/vendor-completions _sallyport
completion fish /usr/share/fish/vendor_completions.d sallyport.fish
