import pytest

from tests.browser import chromium


@pytest.fixture(scope="session")
def browser():
    """One for all files: playwright does not run twice at once."""
    with chromium.launched() as running:
        yield running
