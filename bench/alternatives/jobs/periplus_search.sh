periplus index docs
periplus search docs waiting for several coroutines -n 3 >found.txt
