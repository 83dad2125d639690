periplus export docs --format markdown -o pages
