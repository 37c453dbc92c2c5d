"""What `regraft demo` runs: a whole overlay on this machine, with traffic, the loop, and a crash.

Showing it is the command line's. Everything here is put together from the parts that `regraft up --heal` and
`regraft serve` are made of; the demo's own are the network, the traffic, and links that take as long as
light does in fibre.
"""
