"""One broker with its agent and its adaptation manager, in one process: `python -m regraft.node`.

`process` puts the three together; `healing` carries out what `regraft.heal` decides.
"""
