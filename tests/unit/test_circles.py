"""No file of the auditor or of the dealer imports, by whatever way round, one that imports it."""

import grimp
import pytest


def _circles(graph: grimp.ImportGraph) -> list[list[str]]:
    """Shortest ways round, one for each file that is on a circle."""
    found = []
    for module in sorted(graph.modules):
        for imported in sorted(graph.find_modules_directly_imported_by(module)):
            back = graph.find_shortest_chain(imported, module)
            if back:
                found.append([module, *back])
                break
    return found


@pytest.mark.parametrize("package", ["audit", "dealer"])
def test_no_files_import_each_other_in_a_circle(package: str) -> None:
    # What is imported for a type alone is no circle at run time: a test double's servicer names its server so.
    graph = grimp.build_graph(package, exclude_type_checking_imports=True)
    assert len(graph.modules) > 50
    assert _circles(graph) == []


def test_a_circle_of_three_files_is_found() -> None:
    graph = grimp.ImportGraph()
    for importer, imported in (("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")):
        graph.add_module(importer)
        graph.add_module(imported)
        graph.add_import(importer=importer, imported=imported)
    assert [circle[0] for circle in _circles(graph)] == ["a", "b", "c"]
