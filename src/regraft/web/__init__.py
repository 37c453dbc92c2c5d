"""The loop over HTTP: REST API, events, metrics and the dashboard. `serving.serving` is the entry."""
