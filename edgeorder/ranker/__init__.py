"""The evidence ranker: an LLM ranks passages, and code checks what it says.

    passages -> prompt -> LLM -> reading -> validation -> (one retry) -> aggregation -> constraints -> gate -> Ranking

Each arrow is a file. `edgeorder.rerank` exports the public names.
"""
