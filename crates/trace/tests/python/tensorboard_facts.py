"""Says in JSON what TensorBoard's torch profiler plugin found in each trace: FOLDER TRACE...

Every trace lies in a folder of its own, as TensorBoard's runs do; the plugin's loader finds it there by its name.
"""

import json
import logging
import pathlib
import sys

from torch_tb_profiler import consts, utils
from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.profiler.module_op import aggegate_module_view
from torch_tb_profiler.profiler.run_generator import RunGenerator

heard = []


class Listener(logging.Handler):
    """The plugin complains to its log and carries on."""

    def emit(self, record):
        heard.append(record.getMessage())


utils.get_logger().addHandler(Listener(logging.WARNING))


def module(stats):
    children = [module(child) for child in stats.children]
    return {"name": stats.name, "count": stats.occurences, "operators": stats.operators, "children": children}


def facts(path, scratch):
    heard.clear()
    name = consts.WORKER_PATTERN.match(pathlib.Path(path).name)
    if not name:
        return {"loaded": False}
    data = RunProfileData.parse(name.group(1), None, path, scratch)
    run = RunGenerator(name.group(1), None, data).generate_run_profile()
    kernels = [] if data.kernel_stat is None else data.kernel_stat
    joined = data.kernel_list_groupby_name_op or []
    return {
        "loaded": True,
        "views": [view.name for view in run.views],
        "steps": data.steps_names,
        "step_total": data.avg_costs.costs[-1],
        "operators": {op.name: [op.calls, op.host_duration, op.device_duration] for op in data.op_list_groupby_name},
        "kernels": {name: int(row["count"]) for name, row in kernels.iterrows()} if len(kernels) else {},
        "joined": [[kernel.name, kernel.op_name, kernel.calls] for kernel in joined],
        "modules": [module(root) for root in aggegate_module_view(data.tid2tree, data.events) or []],
        "gpus": sorted(data.gpu_metrics_parser.gpu_ids),
        "complaints": list(heard),
    }


json.dump({path: facts(path, sys.argv[1]) for path in sys.argv[2:]}, sys.stdout)
