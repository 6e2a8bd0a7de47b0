from typing import Any

class Summary(str):
    head: str
    facts: dict[str, Any]
    columns: list[str]
    tables: dict[str, dict[str, Any]]
    note: str
    @classmethod
    def of(cls, head: str, facts: dict[str, Any], columns: list[str], tables: dict[str, dict[str, Any]], note: str) -> Summary: ...
