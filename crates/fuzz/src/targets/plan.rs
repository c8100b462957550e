//! Plans and prices: what people write in TOML.

use super::put;
use crate::{
    Outcome, Target, mutate,
    target::{ROOM, Reader},
};
use modelmeter::{PlanFile, Profiler, engine_id, read_prices};

const PLANS: [&str; 4] = [
    "name = \"nightly\"\nmodels = [\"gpt2\", \"vit-base\"]\nengines = [\"rten\"]\nprecisions = [\"fp32\", \"int8\"]\n\
     batch-sizes = [1, 8]\nsequence-lengths = [16]\nmodes = [\"inference\", \"training\"]\nduration = \"500ms\"\n\
     devices = [\"cpu\", \"cuda:0\"]\nthreads = [1, 2]\ntimeout = \"1m30s\"\ntags = [\"a\", \"b\"]\n\
     [[skip]]\nmodel = \"gpt2\"\nprecision = \"int8\"\n[[skip]]\nbatch-size = 8\ndevice = \"cpu\"\n",
    "categories = [\"text\"]\nall = false\nprocesses = 3\nseed = 7\nlimit = 10\nruns = 20\nwarmup = 2\n\
     target-error = 0.01\nrepeats = 1\n",
    "currency = \"EUR\"\n[devices]\ncpu = 0.10\ncuda = 2.50\n[machines]\nbench = 1.20\ngpu1.cuda = 3.10\n",
    "[machines]\n\"m-5ca1ab1e\" = 1.25\n\"a.b\".cpu = 3\n",
];

/// Plans.
pub(crate) const PLAN: Target = Target {
    name: "plan",
    what: "plans and prices in TOML",
    one_of: 1,
    room: ROOM,
    seeds: || PLANS.map(|text| text.as_bytes().to_vec()).into(),
    mutate: mutate::lines,
    open: || -> Reader {
        let folder = super::folder();
        Box::new(move |bytes| {
            let path = put(&folder, "x.toml", bytes);
            let _ = read_prices(&path);
            let plan = PlanFile::read(&path);
            if let Ok(plan) = &plan {
                let _ = Profiler::new("x").as_in(plan);
                if let Ok(spec) = plan.spec(engine_id) {
                    let _ = spec.name_by_content();
                }
            }
            Outcome::from(&plan)
        })
    },
    expected: &[],
};
