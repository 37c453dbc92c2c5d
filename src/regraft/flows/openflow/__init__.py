"""OpenFlow 1.3 on the wire: the few messages that installing rules needs. Bytes in, values out; no sockets.

`wire` reads and writes lists of type, length and value; `codec` turns rules into them; `session` is the
conversation with one switch, and puts its errors into words.
"""
