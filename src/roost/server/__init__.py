"""`roost serve` as processes: their parent, and the front that stands between HTTP and the API."""
