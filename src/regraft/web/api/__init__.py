"""The routes under /api/v1, one file for each subject. Each asks the service and answers with its view."""
