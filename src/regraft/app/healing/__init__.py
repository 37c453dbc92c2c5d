"""A node's adaptation manager at work (Mimosa Pudica §4, §5): what `regraft.heal` decides, carried out.

`node` puts it together with a broker and its agent in one process.
"""
