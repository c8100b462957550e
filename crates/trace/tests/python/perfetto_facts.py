"""Says in JSON what Perfetto's trace processor found in each trace: FOLDER TRACE..."""

import json
import sys

from trace_processor import TraceProcessor, compiled

SLICES = """
select s.id, s.ts, s.dur, s.name, s.category, s.depth, t.name as thread, p.name as process,
  coalesce(extract_arg(s.arg_set_id, 'args.module'), extract_arg(s.arg_set_id, 'debug.module')) as module
from slice s join thread_track on s.track_id = thread_track.id
join thread t using (utid) join process p using (upid) order by s.id
"""
FLOWS = "select slice_out as tail, slice_in as head from flow"
COUNTERS = """
select c.ts, t.name, c.value, p.name as process from counter c
join process_counter_track t on c.track_id = t.id join process p using (upid)
"""
ERRORS = "select name, value from stats where value > 0 and severity in ('error', 'data_loss')"


def rows(answer):
    return [dict(row.__dict__) for row in answer]


def facts(path, machine):
    processor = TraceProcessor(path, *machine)
    return {
        "slices": rows(processor.query(SLICES)),
        "flows": rows(processor.query(FLOWS)),
        "counters": rows(processor.query(COUNTERS)),
        "errors": rows(processor.query(ERRORS)),
        "all_slices": processor.query("select count(*) as n from slice")[0].n,
    }


machine = compiled(sys.argv[1])
json.dump({path: facts(path, machine) for path in sys.argv[2:]}, sys.stdout)
