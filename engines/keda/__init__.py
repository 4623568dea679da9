"""The wire of KEDA's external scaler: who implements it is asked by KEDA for a metric, and whether to run at all."""
