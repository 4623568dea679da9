"""Where forecasts and models are recorded (MLflow)."""
