"""The application: settings, command line and reports over the planner, the model and the forecasts."""
