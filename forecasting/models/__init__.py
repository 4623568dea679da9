"""The forecasters, one file each, behind the protocol in `forecasting.forecaster`."""
