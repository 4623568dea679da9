"""The demo: a real trace of calls, written as raw events the way a feed would deliver them."""
