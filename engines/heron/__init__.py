"""Heron's tracker."""
