"""The loop over HTTP: REST API, events, metrics and the dashboard. `serve.serve` is the entry."""
