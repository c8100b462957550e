// What the worker does when it is asked: one function each, with the name of the question.

// The runtime keeps a reference to the console of the moment when it is imported, so whoever wants to hear it comes first.
let heard = null;
for (const name of ['log', 'info', 'warn', 'error', 'debug']) {
  const say = console[name].bind(console);
  console[name] = (...words) => {
    if (heard) heard.push(words.join(' '));
    else say(...words);
  };
}

export async function hearing(work) {
  heard = [];
  try {
    const result = await work();
    return [result, heard];
  } finally {
    heard = null;
  }
}

export let ort = null;
let loaded = null;
let feeds = null;
let results = null;

export const millis = () => performance.now();

// The smallest step between two readings of the clock, in milliseconds.
function clockStep() {
  let smallest = Infinity;
  for (let found = 0; found < 50; found += 1) {
    const before = performance.now();
    let now = before;
    while (now === before) now = performance.now();
    smallest = Math.min(smallest, now - before);
  }
  return smallest;
}

async function adapter() {
  if (!navigator.gpu) return null;
  const found = await navigator.gpu.requestAdapter();
  if (!found) return null;
  const { vendor, architecture, device, description } = found.info;
  const isFallback = found.info.isFallbackAdapter ?? found.isFallbackAdapter ?? false;
  return { vendor, architecture, device, description, isFallback, halfFloats: found.features.has('shader-f16') };
}

export async function environment() {
  return {
    userAgent: navigator.userAgent,
    platform: navigator.userAgentData?.platform ?? navigator.platform,
    cores: navigator.hardwareConcurrency,
    memory: navigator.deviceMemory ?? null,
    isSecure: self.isSecureContext,
    isIsolated: self.crossOriginIsolated,
    clockStep: clockStep(),
    hasWebgpu: Boolean(navigator.gpu),
    hasWebnn: Boolean(navigator.ml),
    hasPromiseIntegration: typeof WebAssembly.Suspending === 'function',
    adapter: await adapter().catch(() => null),
  };
}

// Fetches a file and says how long that took.
export async function download(path) {
  const begin = millis();
  const answer = await fetch(path, { cache: 'no-store' });
  if (!answer.ok) throw new Error(`the server answered ${answer.status} to ${path}`);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  return { bytes, time: millis() - begin };
}

// Makes the runtime ready: its code is compiled before a model is there, so that both have a time of their own.
export async function prepare({ threads, script, code }) {
  const fetched = await download(`ort/${code}`);
  let begin = millis();
  ort = await import(`./ort/${script}`);
  const scripts = millis() - begin;
  begin = millis();
  const module = await WebAssembly.compile(fetched.bytes);
  const compile = millis() - begin;
  ort.env.wasm.wasmPaths = new URL('ort/', self.location.href).href;
  ort.env.wasm.wasmBinary = fetched.bytes.buffer;
  ort.env.wasm.numThreads = threads;
  ort.env.wasm.proxy = false;
  // While the module is held, the browser does not compile the same bytes again.
  prepare.module = module;
  return { version: ort.env.versions?.common ?? null, download: fetched.time + scripts, compile, bytes: fetched.bytes.length };
}

function providers({ device, webnn }) {
  if (device === 'webnn') return [{ name: 'webnn', ...webnn }];
  return [device];
}

// A session of a model that was fetched.
export async function create(job, { model, data }, more) {
  const options = { executionProviders: providers(job), externalData: data, ...job.options, ...more };
  return ort.InferenceSession.create(model, options);
}

// The files of a model, and how long fetching them took.
export async function fetchModel({ model, data }) {
  let time = 0;
  const parts = [];
  for (const { name, path } of data) {
    const file = await download(path);
    time += file.time;
    parts.push({ path: name, data: file.bytes });
  }
  const file = await download(model);
  return { files: { model: file.bytes, data: parts }, time: time + file.time };
}

// The log of a session alone says where nodes go.
export const listening = ({ device }) => (device === 'wasm' ? {} : { logSeverityLevel: 0, logVerbosityLevel: 0 });
export const placements = (said) => said.filter((line) => line.includes('placed on'));

export async function load(job) {
  const { files, time } = await fetchModel(job);
  loaded = null;
  const begin = millis();
  const [session, said] = await hearing(() => create(job, files, listening(job)));
  loaded = { session, job, files };
  const value = (meta) => ({ name: meta.name, type: meta.type ?? null, shape: meta.shape ?? null });
  return {
    download: time,
    create: millis() - begin,
    said: placements(said),
    inputs: session.inputMetadata.map(value),
    outputs: session.outputMetadata.map(value),
  };
}

const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  float16: Uint16Array,
  int64: BigInt64Array,
  int32: Int32Array,
  int16: Int16Array,
  int8: Int8Array,
  uint8: Uint8Array,
  bool: Uint8Array,
};

// Tensors by name, out of bytes that were sent together.
export function tensors(parts, bytes) {
  const found = {};
  for (const { name, type, dims, offset, length } of parts) {
    const begin = bytes.byteOffset + offset;
    let array = new ARRAYS[type](bytes.buffer.slice(begin, begin + length));
    if (type === 'float16' && typeof Float16Array === 'function') array = new Float16Array(array.buffer);
    found[name] = new ort.Tensor(type, array, dims);
  }
  return found;
}

export async function bind({ inputs, path }) {
  feeds = null;
  const { bytes } = await download(path);
  const bound = tensors(inputs, bytes);
  for (const name of Object.keys(bound)) {
    if (!loaded.session.inputNames.includes(name)) throw new Error(`the model has no input ${name}`);
  }
  for (const name of loaded.session.inputNames) {
    if (!bound[name]) throw new Error(`the input ${name} is missing`);
  }
  feeds = bound;
}

// One run; it ends when every output lies in the memory of the page.
export async function once(session, inputs) {
  const begin = millis();
  const outputs = await session.run(inputs);
  for (const output of Object.values(outputs)) {
    if (output.location !== 'cpu' && output.location !== 'cpu-pinned') await output.getData();
  }
  const time = millis() - begin;
  return { outputs, time };
}

export async function infer() {
  if (!feeds) throw new Error('no inputs are bound');
  const { outputs, time } = await once(loaded.session, feeds);
  results = outputs;
  return { time };
}

// Sends tensors home, one after the other, and says where each begins.
export async function send(named) {
  const told = [];
  const parts = [];
  let offset = 0;
  for (const [name, tensor] of Object.entries(named)) {
    const { buffer, byteOffset, byteLength } = tensor.data;
    told.push({ name, type: tensor.type, dims: [...tensor.dims], offset, length: byteLength });
    parts.push(new Uint8Array(buffer, byteOffset, byteLength));
    offset += byteLength;
  }
  await upload(new Blob(parts), 'the outputs');
  return told;
}

async function upload(body, what) {
  const answer = await fetch('outputs', { method: 'POST', body });
  if (!answer.ok) throw new Error(`the server answered ${answer.status} to ${what}`);
}

export async function outputs() {
  if (!results) throw new Error('nothing was inferred yet');
  return { outputs: await send(results) };
}

// Runs in a session that writes a profile; the lines of the profile come through the console.
export async function profile({ count, warmup }) {
  const { job, files } = loaded;
  const times = [];
  const [, said] = await hearing(async () => {
    const session = await create(job, files, { enableProfiling: true, profileFilePrefix: 'profile' });
    for (let run = 0; run < warmup; run += 1) await once(session, feeds);
    for (let run = 0; run < count; run += 1) times.push((await once(session, feeds)).time);
    session.endProfiling();
    await session.release();
  });
  await upload(new Blob([said.join('\n')]), 'the profile');
  return { times };
}
