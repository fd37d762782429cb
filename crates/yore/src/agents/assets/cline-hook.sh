#!/bin/sh
# yore in Cline. Written by `yore install cline`; `yore uninstall cline` takes it away.
# Cline names each hook's file after its event, and expects JSON whatever happens.
yore='@YORE@'
answer=
if [ -x "$yore" ]; then
    answer=$("$yore" hook cline "${0##*/}" 2>/dev/null) || answer=
fi
printf '%s\n' "${answer:-{\"cancel\": false\}}"
