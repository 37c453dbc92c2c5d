"""What brokers and clients say to each other, and what brokers record. No frames (`wire`), no sockets."""
