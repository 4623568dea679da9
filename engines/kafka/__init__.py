"""Kafka's brokers, asked by an admin client."""
