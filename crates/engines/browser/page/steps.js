// Training: the graphs of a step run one after the other, values pass between them by name, and the weights stay here.

import { create, download, fetchModel, hearing, listening, millis, once, ort, placements, send, tensors } from './runs.js';

const GRAPHS = ['forward', 'loss', 'backward'];

let training = null;
let bound = {};

export async function loadSteps(job) {
  training = null;
  let time = 0;
  let spent = 0;
  const sessions = {};
  const said = [];
  for (const [at, graph] of job.graphs.entries()) {
    const fetched = await fetchModel(graph);
    time += fetched.time;
    const begin = millis();
    const [session, lines] = await hearing(() => create(job, fetched.files, listening(job)));
    spent += millis() - begin;
    sessions[GRAPHS[at]] = session;
    said.push(...placements(lines));
  }
  const fetched = await download(job.weights.path);
  time += fetched.time;
  const weights = tensors(job.weights.parts, fetched.bytes);
  training = { ...job, sessions, weights, states: {}, sums: {} };
  return { download: time, create: spent, said, inputs: [], outputs: [] };
}

export async function bindStep({ path, values }) {
  const { bytes } = await download(path);
  bound = tensors(values, bytes);
}

// Runs a graph on what is known; what comes out is known afterwards.
async function run(graph, known) {
  const session = training.sessions[graph];
  const inputs = {};
  for (const name of session.inputNames) {
    if (!known[name]) throw new Error(`a graph of the training takes ${name}, which nothing makes`);
    inputs[name] = known[name];
  }
  const { outputs } = await once(session, inputs);
  Object.assign(known, outputs);
  return outputs;
}

const isFinite = (tensor) => tensor.type !== 'float32' || tensor.data.every(Number.isFinite);

// The weight, or else the value of the forward pass, that is not finite first.
function firstBroken(forward) {
  for (const named of [training.weights, forward]) {
    for (const [name, tensor] of Object.entries(named)) if (!isFinite(tensor)) return name;
  }
  return null;
}

const size = (values) => values.reduce((sum, tensor) => sum + tensor.data.byteLength, 0);

// Values in the form that the backward graph takes: the same elements under other dims, or a matrix turned.
function prepare(known) {
  for (const { name, of, dims, turned } of training.prepared) {
    const { data } = known[of];
    let elements = data;
    if (turned) {
      const [rows, columns] = dims;
      elements = new Float32Array(data.length);
      for (let column = 0; column < columns; column += 1) {
        for (let row = 0; row < rows; row += 1) elements[row * columns + column] = data[column * rows + row];
      }
    }
    known[name] = new ort.Tensor('float32', elements, dims);
  }
}

// The gradient of a weight as one array, added to that of earlier batches; rows that were looked up are added one by one.
function add({ name, gradient, rows }, found, isFirst) {
  const { data } = training.weights[name];
  const sum = (training.sums[name] ??= new Float32Array(data.length));
  if (isFirst) sum.fill(0);
  if (gradient) {
    const own = found[gradient].data;
    for (let at = 0; at < sum.length; at += 1) sum[at] += own[at];
  }
  if (rows) {
    const [indices, values] = rows.map((value) => found[value].data);
    const width = values.length / indices.length;
    for (let row = 0; row < indices.length; row += 1) {
      const begin = Number(indices[row]) * width;
      if (begin < 0 || begin + width > sum.length) throw new Error(`row ${indices[row]} of ${name} does not exist`);
      for (let at = 0; at < width; at += 1) sum[begin + at] += values[row * width + at];
    }
  }
  return sum;
}

// Moves a weight; formulas as in PyTorch.
function update(name, gradient, factors) {
  const { data } = training.weights[name];
  const { optimizer, learningRate, scale, kept, step, root, beta1, beta2, epsilon } = factors;
  if (optimizer === 'sgd') {
    for (let at = 0; at < data.length; at += 1) data[at] -= learningRate * gradient[at] * scale;
    return;
  }
  const fresh = () => ({ mean: new Float32Array(data.length), square: new Float32Array(data.length) });
  const { mean, square } = (training.states[name] ??= fresh());
  const [rest1, rest2] = [1 - beta1, 1 - beta2];
  for (let at = 0; at < data.length; at += 1) {
    const own = gradient[at] * scale;
    mean[at] = beta1 * mean[at] + rest1 * own;
    square[at] = beta2 * square[at] + rest2 * own * own;
    data[at] = data[at] * kept - (step * mean[at]) / (Math.sqrt(square[at]) / root + epsilon);
  }
}

// A step: every batch forward and backward, then the weights move. The masks are here before the clock starts.
export async function step({ path, batches, factors, sums }) {
  const { bytes } = await download(path);
  const masks = batches.map((parts) => tensors(parts, bytes));
  const times = { forward: 0, loss: 0, backward: 0, optimizer: 0 };
  let broken = null;
  let loss = 0;
  let kept = 0;
  let sent = 0;
  const gradients = {};
  const begin = millis();
  for (const [batch, own] of masks.entries()) {
    const known = { ...bound, ...own, ...training.weights };
    const marks = [millis()];
    const forward = await run('forward', known);
    marks.push(millis());
    const found = await run('loss', known);
    const value = found[training.lossValue].data[0];
    if (!Number.isFinite(value)) broken ??= firstBroken(forward) ?? training.lossValue;
    loss += value / masks.length;
    marks.push(millis());
    prepare(known);
    const given = await run('backward', known);
    for (const weight of training.parameters) {
      const isWhole = weight.gradient && !weight.rows && masks.length === 1;
      gradients[weight.name] = isWhole ? given[weight.gradient].data : add(weight, given, batch === 0);
    }
    marks.push(millis());
    times.forward += marks[1] - marks[0];
    times.loss += marks[2] - marks[1];
    times.backward += marks[3] - marks[2];
    kept = size(training.saved.map((name) => known[name]).filter(Boolean));
    sent = size(Object.values(given));
  }
  let told = [];
  if (sums) {
    const whole = training.parameters.map(({ name }) => {
      return [name, new ort.Tensor('float32', gradients[name], training.weights[name].dims)];
    });
    told = await send(Object.fromEntries(whole));
  }
  const before = millis();
  for (const { name } of training.parameters) update(name, gradients[name], factors);
  const end = millis();
  times.optimizer = end - before;
  times.total = end - begin;
  return { times, loss: Number.isFinite(loss) ? loss : null, broken, kept, gradients: sent, sums: told };
}

// What the model gives with the weights as they are now.
export async function outputOfStep({ path, masks, name }) {
  const { bytes } = await download(path);
  const known = { ...bound, ...tensors(masks, bytes), ...training.weights };
  const outputs = await run('forward', known);
  return { outputs: outputs[name] ? await send({ [name]: outputs[name] }) : [] };
}
