"""The routes under /api/v1, by what they are about. Each asks the service and answers its view."""
