#!/bin/sh
# The accounts of the service, made when they are missing: its user, the group whose members may connect, and the
# group of /dev/kvm that the unit names.
set -e
getent group sallyport-users > /dev/null || groupadd --system sallyport-users
getent group kvm > /dev/null || groupadd --system kvm
getent passwd sallyport > /dev/null || useradd --system --user-group --home-dir /var/lib/sallyport --no-create-home \
  --shell /usr/sbin/nologin --comment "Sallyport service" sallyport
