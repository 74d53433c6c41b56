"""The store on PostgreSQL, which several dealers share: MACHINES.md, sections 2 to 8."""
