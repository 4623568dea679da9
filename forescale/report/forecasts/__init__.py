"""Pages of forecasts, of their track records and of backtests."""
