"""Run by the exit path inside_pytest."""


def test_state(cell):
    cell.enter()
    cell.use()
