"""The reader of text, which every stage asks that cuts, compares or searches one: see `edgeorder.text.blocks.read`."""
