trafilatura --sitemap "$1" --markdown --formatting -o pages --config-file settings.cfg
