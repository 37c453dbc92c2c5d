"""Wiring: the only place where the parts are put together into something that runs (IPITT §IV-A).

`Service` is what REST, the dashboard and the command line talk to; `views` are the values that it hands out.
"""
