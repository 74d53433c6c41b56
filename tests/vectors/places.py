"""Where vectors lie that the product did not make: the project's foreign ones, and others' test data."""

from pathlib import Path

import pytest

FOREIGN = Path(__file__).with_name("foreign")
# Others' test data are theirs to give: they lie beside a checkout where somebody has put them there.
OTHERS = Path(__file__).resolve().parents[2].parent / "shared" / "vectors"
OTHERS_MISSING = "others' test data (merkle-proofs.json, tessera-log) are not beside this checkout"
needs_others = pytest.mark.skipif(
    not (OTHERS / "merkle-proofs.json").exists() or not (OTHERS / "tessera-log").is_dir(), reason=OTHERS_MISSING
)
