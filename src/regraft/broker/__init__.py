"""The data plane: brokers that route publications and never lose, repeat or reorder one.

`core` decides and knows no socket, clock or file; `io` acts.
"""
