periplus map "$1" --delay 100ms --contact you@example.org --allow-private 127.0.0.1 >urls.txt
