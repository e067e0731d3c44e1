"""Logs and metrics.

logs.py            the form of the log, and the request that a line belongs to
metrics.py         the metrics, by name
exposition.py      the metrics as text for Prometheus
summary_metrics.py the summary of the cloud as gauges
metrics_files.py   the folder through which several processes share their metrics
"""
