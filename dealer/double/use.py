"""What came of that which a test prepared: the stacks that no hand took, and the faults that no call met."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Use:
    """What was left over.

    Attributes:
        unused: table and hand number of each stack that no hand took.
        opened: each table at which a hand was opened, with the number of the last.
        unmet: the methods of the faults that not one call met.
    """

    unused: tuple[tuple[str, int], ...] = ()
    opened: tuple[tuple[str, int], ...] = ()
    unmet: tuple[str, ...] = ()

    def complaint(self) -> str:
        """Says what was left over and what was opened instead; empty if nothing was."""
        opened = ", ".join(f"{table} (to hand {number})" for table, number in self.opened)
        said = [f"no hand took what is stacked for hand {number} of table {table}" for table, number in self.unused]
        if said:
            said.append(f"the tables that were opened: {opened}" if opened else "no hand was opened at any table")
        said += [f"no call met the fault injected into {method}" for method in self.unmet]
        return "; ".join(said)
