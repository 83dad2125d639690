#!/bin/sh
# LinkChecker: one site from its home page, politely.
#
#   linkchecker_polite.sh PROGRAM SEED FOLDER LIMIT [CA]
cat >"$3/linkcheckerrc" <<END
[checking]
threads=1
maxrequestspersecond=5
maxnumurls=$4
${5:+sslverify=$5}
END
set -- "$1" --config "$3/linkcheckerrc" --verbose --no-status "$2"
# Started by root, it becomes the user "nobody", whom a trial does not have; so it is started by another user.
if [ "$(id -u)" -eq 0 ]; then
    exec unshare --map-user=1000 "$@"
fi
exec "$@"
