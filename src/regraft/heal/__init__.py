"""Self-healing (Mimosa Pudica): what rules say of what happened, who decides, and where it is kept.

`rules`, `limits`, `reaction` and `repair` are pure; `election` is a sans-IO core; `database` holds the
destination database, whose decisions are pure and whose servers are thin. Healing changes no links itself: it
emits Intents.
"""
