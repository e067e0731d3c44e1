#!/bin/sh
# Commands on the database use the configuration of the service on this machine, unless told otherwise.
if [ -z "${OS_PLACEMENT_CONFIG_DIR+set}" ] && [ -e /etc/roost/placement.conf ]; then
    export OS_PLACEMENT_CONFIG_DIR=/etc/roost
fi
exec /usr/lib/roost/bin/roost "$@"
