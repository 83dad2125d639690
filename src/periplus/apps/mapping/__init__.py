"""Maps: every URL that sites list, without fetching pages; what a crawl would fetch of them, and what that costs."""
