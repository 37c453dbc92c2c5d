"""The destination database (Mimosa Pudica §3.2): brokers, paths, rules and adaptations, in two layers.

The first layer is metadata in ZooKeeper (`metadata`), the second several databases (`node`), each over SQLite
or PostgreSQL (`store`, `postgres`). It stores; it does not decide. Pure: `grants`, `group`,
`placement`, `records`. Brokers use `client`. See docs/healing.md.
"""
