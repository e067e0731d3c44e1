"""The console in the browser, and the service behind it."""
