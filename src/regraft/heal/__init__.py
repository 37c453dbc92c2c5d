"""Self-healing (Mimosa Pudica): what rules say of what happened, who decides, and where it is kept.

`core` decides what one node does, by `detection`, `election`, `rules`, `limits`, `reaction` and `repair`; all
of that is pure. `database` holds the destination database: its decisions are pure, its servers are thin.
Healing changes no links itself: it emits Intents.
"""
