"""Where arrivals are read from: event files, Kafka, Prometheus, Heron and Storm; one role, `ArrivalSource`."""
