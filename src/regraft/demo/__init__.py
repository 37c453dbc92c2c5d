"""What `regraft demo` runs: a whole overlay on this machine, with traffic, the loop, and a crash.

`regraft.cli.demo_…` shows it. The overlay and the loop are made of the same parts as `regraft up --heal` and
`regraft serve`; only the network, the traffic, and links that take as long as light takes in fibre are the
demo's own.
"""
