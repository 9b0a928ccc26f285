"""Rendering: the block of text that a placement stands for, which is the text that the budget holds on."""

from edgeorder.block import Block
from edgeorder.layout import PLAIN, Layout, Passage, Style, StyleName, as_layout, passage_of, repeated, with_echoes
from edgeorder.splitting import split_block

__all__ = [
    "PLAIN",
    "Block",
    "Layout",
    "Passage",
    "Style",
    "StyleName",
    "as_layout",
    "passage_of",
    "repeated",
    "split_block",
    "with_echoes",
]
