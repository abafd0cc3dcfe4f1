"""A page as a reader meets it: its elements, its words, and whether everything that opens closes."""

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "input"}


class Page(HTMLParser):
    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.pieces, self.faults = [], [], [], []
        self.feed(source)
        self.close()

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.elements.append((name, dict(attributes)))

    def handle_endtag(self, name):
        if not self.open or self.open.pop() != name:
            self.faults.append(name)

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script", "title", "desc"):
            self.pieces.append(data)

    @property
    def words(self):
        """What is to be read, without hints and style."""
        return " ".join(" ".join(self.pieces).split())

    def named(self, name):
        return [attributes for element, attributes in self.elements if element == name]
