"""How bytes become messages, and how connections are made and accepted: once, for everything that connects.

Five conversations use it: brokers and clients (the data path), managers that heal (`heal.wire`), the
destination database (`heal.database`), hosts of components with each other and with their workers
(`components`), and an agent with its broker (`broker.io.control`). They have in common:

- `frames`: a frame is its length and MessagePack, or one line of JSON; the largest frame; a clear reason when
  a frame is bad.
- `streams`: the one place where connections are made (`dial`) and accepted (`listen`), and a connection of
  typed messages (`Stream`): a hello within a time limit, bounded unsent bytes, reading that pauses and
  resumes, an orderly end.
- `requests`: one request, one answer with the same number; time limits; many requests at a time on one
  connection; what happens to them when the connection ends.
- `identity`: TLS contexts, the names in a peer's certificate, the comparison of secrets.
- `numbered`: the frames of the data path.

The data path has a format and connections of its own because of speed. One of its frames holds all messages
that one event causes for one peer, and is decoded as one block into a list; a `Stream` hands over one message
at a time. `broker.io.connection` and `client.link` also bound in their own way what waits for a slow peer,
because the core holds the same publications anyway. They share with the others the header of a frame,
`BadFrame`, `dial`, `listen` and `identity`.

The package knows no conversation, except that `numbered` decodes `protocol.messages`. Its modules are
imported one by one: the worker of a component needs `frames` only, and should start fast.
"""
