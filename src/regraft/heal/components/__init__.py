"""The component runtime (Mimosa Pudica §4.2): application components that move, with code and state.

`core` (with `resident`, `calls`, `life`) decides and knows no network, disk or clock; `host` is its shell:
one beside each broker. `worker` is the process that a component runs in. See docs/components.md.
"""
