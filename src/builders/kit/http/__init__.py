"""HTTP: middleware, routing, request and response bodies, credentials, pagination and browser pages."""
