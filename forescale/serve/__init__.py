"""The schedule where the scaler looks: the plan of now for KEDA, for HTTP and for Prometheus. Deploys nothing."""
