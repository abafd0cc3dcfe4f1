"""Evidence that one channel is better than another: e-values that hold at any time, in nats."""
