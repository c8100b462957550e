//! The tests of a language model that generates: every engine, precision, depth, batch, prompt and number of tokens, each a
//! measurement of its own.

use crate::{EngineChoice, Error, Profiler, Session};
use draw::Picture;
use engine::Availability;
use report::{Block, Note, ResultPicture};
use std::collections::BTreeMap;
use types::{Event, Generation, GenerationTest, Precision, Run, Sampling};

/// Measures how a language model reads a prompt and writes token by token.
///
/// ```standalone_crate
/// use modelmeter::{GenerationTests, Profiler, Session};
///
/// fn main() -> Result<(), modelmeter::Error> {
///     modelmeter::serve_if_worker();
///     let profiler = Profiler::new("gpt2").engine("rten").offline(true).runs(12);
///     let tests = GenerationTests::new(profiler).prompts([64]).tokens([16]);
///     let measured = tests.run(&mut Session::without_store(), &mut |_| {})?;
///     for run in &measured.runs {
///         println!("{} {:?}", run.cell.engine, run.cell.generation);
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct GenerationTests {
    profiler: Profiler,
    engines: Vec<String>,
    precisions: Vec<Precision>,
    prompts: Vec<usize>,
    tokens: Vec<usize>,
    depths: Vec<usize>,
    batches: Vec<usize>,
    sampling: Sampling,
}

/// What was measured, and what could not be.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Generated {
    /// The runs, in the order of the tests.
    pub runs: Vec<Run>,
    /// Tests without a run.
    pub refused: Vec<RefusedTest>,
}

/// A test that could not be measured.
#[derive(Debug, Clone, PartialEq)]
pub struct RefusedTest {
    /// The engine.
    pub engine: String,
    /// The test: `tg128 @ d4096`; empty where the engine can run none.
    pub test: String,
    /// Texts that would have been generated together.
    pub batch: usize,
    /// Why.
    pub why: String,
}

impl GenerationTests {
    /// A prompt of 512 tokens and 128 generated ones, without depth, one text at a time.
    #[must_use]
    pub fn new(profiler: Profiler) -> GenerationTests {
        GenerationTests {
            profiler,
            engines: Vec::new(),
            precisions: Vec::new(),
            prompts: vec![512],
            tokens: vec![128],
            depths: vec![0],
            batches: vec![1],
            sampling: Sampling::Greedy,
        }
    }

    /// On these engines instead of the one that the profiler names or the first that generates; `all` means all that are
    /// here.
    #[must_use]
    pub fn engines<S: Into<String>>(mut self, ids: impl IntoIterator<Item = S>) -> Self {
        self.engines = ids.into_iter().map(Into::into).collect();
        self
    }

    /// In these number formats instead of the model's own.
    #[must_use]
    pub fn precisions(mut self, precisions: impl IntoIterator<Item = Precision>) -> Self {
        self.precisions = precisions.into_iter().collect();
        self
    }

    /// With prompts of so many tokens; 0 means no prefill.
    #[must_use]
    pub fn prompts(mut self, prompts: impl IntoIterator<Item = usize>) -> Self {
        self.prompts = prompts.into_iter().collect();
        self
    }

    /// With so many generated tokens; 0 means no decode.
    #[must_use]
    pub fn tokens(mut self, tokens: impl IntoIterator<Item = usize>) -> Self {
        self.tokens = tokens.into_iter().collect();
        self
    }

    /// After so many tokens in the cache.
    #[must_use]
    pub fn depths(mut self, depths: impl IntoIterator<Item = usize>) -> Self {
        self.depths = depths.into_iter().collect();
        self
    }

    /// With so many texts together.
    #[must_use]
    pub fn batches(mut self, batches: impl IntoIterator<Item = usize>) -> Self {
        self.batches = batches.into_iter().collect();
        self
    }

    /// With tokens chosen like this.
    #[must_use]
    pub fn sampling(mut self, sampling: Sampling) -> Self {
        self.sampling = sampling;
        self
    }

    /// Measures every test; one that fails does not stop the others.
    ///
    /// # Errors
    /// When nothing could be measured: the error of the first test.
    pub fn run(
        &self,
        session: &mut Session,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Generated, Error> {
        let mut found = Generated::default();
        let mut first_error = None;
        for profiler in self.sides() {
            for (generation, batch) in self.tests() {
                let test = profiler.clone().generation(generation).batch_size(batch);
                match test.profile_in(session, sink) {
                    Ok(profile) => found.runs.push(profile.run),
                    Err(error) if is_of_everything(&error) => return Err(error),
                    Err(error) => {
                        found.refused.push(RefusedTest {
                            engine: engine_of(&profiler),
                            test: generation.name(),
                            batch,
                            why: crate::error::spell_error(&error),
                        });
                        first_error = first_error.or(Some(error));
                    }
                }
            }
        }
        match first_error {
            Some(error) if found.runs.is_empty() => Err(error),
            _ => Ok(found),
        }
    }

    /// Every test with its batch: depth by depth, prefill before decode.
    fn tests(&self) -> Vec<(Generation, usize)> {
        let mut tests = Vec::new();
        let kinds =
            [(GenerationTest::Prefill, &self.prompts), (GenerationTest::Decode, &self.tokens)];
        for &batch in &self.batches {
            for &depth in &self.depths {
                for (test, counts) in kinds {
                    let counts = counts.iter().filter(|count| **count > 0);
                    tests.extend(counts.map(|&tokens| {
                        (Generation { test, tokens, depth, sampling: self.sampling }, batch)
                    }));
                }
            }
        }
        tests
    }

    /// The measurement on every engine in every precision.
    fn sides(&self) -> Vec<Profiler> {
        let is_all = self.engines.iter().any(|engine| engine == "all");
        let engines: Vec<Option<String>> = match (is_all, self.engines.as_slice()) {
            (true, _) => {
                let places = &self.profiler.places;
                let here = self.profiler.engines.iter().filter(|engine| {
                    engine.generates()
                        && matches!(engine.availability(places), Availability::Available { .. })
                });
                here.map(|engine| Some(engine.id().to_owned())).collect()
            }
            (_, []) => vec![None],
            (_, named) => named.iter().cloned().map(Some).collect(),
        };
        let precisions: Vec<Option<Precision>> = match self.precisions.as_slice() {
            [] => vec![None],
            named => named.iter().copied().map(Some).collect(),
        };
        let mut sides = Vec::new();
        for engine in &engines {
            for precision in &precisions {
                let mut profiler = self.profiler.clone();
                if let Some(engine) = engine {
                    profiler = profiler.engine(engine);
                }
                if let Some(precision) = precision {
                    profiler = profiler.precision(*precision);
                }
                sides.push(profiler);
            }
        }
        sides
    }
}

/// How a step grows with the tokens in the cache, as a picture for a page, or why there is none.
#[must_use]
pub fn growth_block(runs: &[Run]) -> Block {
    let all: Vec<&Run> = runs.iter().collect();
    let material = crate::visualize::material_of(&all, BTreeMap::new());
    let growth = Picture::by_name("growth").expect("the list of pictures has it");
    let title = "growth of a step with the tokens in the cache";
    match growth.for_page(&material) {
        Ok(drawn) => {
            let narrow = growth.for_phone(&material).ok().map(|narrow| narrow.svg);
            Block::Picture(ResultPicture { title: title.into(), svg: drawn.svg, narrow })
        }
        Err(absent) => {
            Block::Notes(vec![Note::new(format!("no picture of the {title}: {}", absent.why))])
        }
    }
}

/// The engine that was asked for.
fn engine_of(profiler: &Profiler) -> String {
    match &profiler.engine {
        EngineChoice::Named(id) => id.clone(),
        EngineChoice::Auto => "auto".into(),
    }
}

/// Whether an error stands in the way of every test: the model itself, or what was asked.
fn is_of_everything(error: &Error) -> bool {
    matches!(
        error,
        Error::Model(
            models::ModelError::Unknown { .. }
                | models::ModelError::MissingFile { .. }
                | models::ModelError::DoesNotGenerate { .. }
                | models::ModelError::NotAModel { .. }
                | models::ModelError::NoTokenizer { .. }
        ) | Error::Rule(_)
    )
}
