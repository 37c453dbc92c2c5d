"""What brokers and clients say to each other: messages, events, frames. No sockets."""
