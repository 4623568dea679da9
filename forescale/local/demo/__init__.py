"""The demo: a real trace of calls, written as raw events as a feed would deliver them."""
