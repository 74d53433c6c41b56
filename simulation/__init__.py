"""The dealer's life from a seed: one process, no threads, and every fault of disks, clocks and machines."""
