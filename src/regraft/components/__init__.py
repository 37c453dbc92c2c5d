"""The component runtime (Mimosa Pudica §4.2): application components that move, with code and state.

`core` decides, with `ownership`, `resident`, `work`, `answers` and the state machine `life`; they know no
network, disk or clock. `host` is the shell around them; one runs beside each broker. `worker` is the process
that a component runs in, `caller` is what applications call components with. See docs/components.md.
"""
