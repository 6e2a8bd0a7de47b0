"""Millions of groups under a memory limit."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json, resource, sys
sys.path.insert(0, sys.argv[1])
from conftest import connect
db = connect()
db.execute("SET memory_limit = '400MB'")
db.execute(f"SET temp_directory = '{sys.argv[2]}'")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
call, groups = sys.argv[3], int(sys.argv[4])
query = f'''SELECT count(*), sum(told.rows), max(told.skipped) FROM (
    SELECT vi_describe({call}) AS told FROM range({2 * groups}) s(i) GROUP BY i % {groups})'''
found = db.execute(query).fetchone()
print(json.dumps([*map(int, found), before / 1024, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


@pytest.mark.skipif(os.environ.get("VI_SLOW") != "1", reason="runs where VI_SLOW=1")
def test_two_million_groups_in_400_mb(tmp_path):
    here = Path(__file__).parent
    command = [sys.executable, "-c", PROGRAM, here, tmp_path, "vi_linear(i % 7, [i % 11, i % 13, i % 17]::DOUBLE[3])", "2000000"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    # What comes before is the engine's bar of progress.
    groups, rows, skipped, before, peak = json.loads(done.stdout.splitlines()[-1])
    print(f"{before:.0f} MB before, {peak:.0f} MB at the peak")
    assert (groups, rows, skipped) == (2_000_000, 4_000_000, 0)
    # The limit, what Python and the engine were before, and a quarter for what the engine does not count.
    assert peak < 1.25 * 400 + before
