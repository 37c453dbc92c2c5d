"""A node's adaptation manager at work (Mimosa Pudica §4, §5): the shell around the core of `regraft.heal`.

`node` puts it together with a broker and its agent in one process.
"""
