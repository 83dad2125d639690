trafilatura --sitemap "$1" --list --config-file settings.cfg >urls.txt
