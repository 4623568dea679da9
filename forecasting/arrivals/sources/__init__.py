"""Where arrivals are read from: event files, Kafka, Prometheus, Heron's tracker, Storm's UI; one role, `ArrivalSource`."""
