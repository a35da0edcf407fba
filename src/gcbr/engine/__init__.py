"""Matrices, and the graph convolutional network computed on them: what has to be fast."""
