"""What the tests share: real processes, a whole aldaba, its HTTP and its bus, an outside ledger."""
