"""The adaptation manager of a node (Mimosa Pudica §4, §5): the shell around the core of `regraft.heal`.

`node.process` puts it together with a broker and its agent in one process.
"""
