"""Scorers, a file each; `edgeorder.rerank` is where they are imported from."""
