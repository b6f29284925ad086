"""Posterior and log evidence at given hyperparameters, one algorithm a file."""
