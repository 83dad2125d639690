#!/bin/sh
# LinkChecker: one site from its home page, politely.
#
#   linkchecker_polite.sh PROGRAM SEED FOLDER LIMIT CA
cat >"$3/linkcheckerrc" <<END
[checking]
threads=1
maxrequestspersecond=5
maxnumurls=$4
sslverify=$5
useragent=ConformanceBot/1.0 (+https://crawler.example/bot)
END
exec "$1" --config "$3/linkcheckerrc" --verbose --no-status "$2"
