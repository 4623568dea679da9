"""The page of a replay: load, capacities and lags over each other, cost against violations, the scores."""
