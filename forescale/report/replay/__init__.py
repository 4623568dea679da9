"""The page of a replay: load, capacities and lags over time, cost against violations, the scores."""
