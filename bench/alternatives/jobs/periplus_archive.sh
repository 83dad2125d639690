periplus crawl "$1" -o docs --delay 100ms --contact you@example.org --allow-private 127.0.0.1
