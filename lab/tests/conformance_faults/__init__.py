"""The conformance lab: any crawler is put through trials, and judged from the logs of servers."""
