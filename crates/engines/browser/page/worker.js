// The worker: asks for what to do, does it, and answers. Every time is taken here, by the clock of the browser.

import * as runs from './runs.js';
import * as steps from './steps.js';

// What can be asked, by the name of the question.
const questions = { ...runs, ...steps };

let hidden = false;
self.onmessage = ({ data }) => {
  hidden ||= data.hidden;
};

async function ask(path, options) {
  const answer = await fetch(path, { cache: 'no-store', ...options });
  if (!answer.ok) throw new Error(`the server answered ${answer.status} to ${path}`);
  return answer;
}

async function send(document) {
  const body = JSON.stringify({ ...document, hidden });
  hidden = false;
  await ask('answer', { method: 'POST', body });
}

const explain = (error) => {
  if (typeof error === 'number') return `the runtime threw ${error}`;
  return String(error?.message ?? error);
};

// Answers questions until the measurement is over, and counts them.
async function serve(served) {
  const session = await (await ask('hello', { method: 'POST' })).text();
  for (;;) {
    const heard = await ask(`next?session=${session}`);
    if (heard.status === 204) continue;
    if (heard.status === 205) return;
    const job = await heard.json();
    postMessage({ state: job.state ?? 'Measuring…' });
    served.count += 1;
    try {
      const work = questions[job.ask];
      if (typeof work !== 'function') throw new Error(`the page does not know ${job.ask}`);
      await send({ id: job.id, done: (await work(job)) ?? {} });
    } catch (error) {
      await send({ id: job.id, failed: explain(error) });
    }
  }
}

// How long nothing new may come before a person is told that it is over, in milliseconds.
const OVER = 30000;

// While no measurement runs nobody answers; the next one begins with a fresh page. Before that one answers nothing is
// loaded again: where no server is, a browser puts its own page of errors in the place of this one.
async function waitForTheNext(hasMeasured) {
  postMessage({ state: 'Waiting for the next measurement…' });
  const begin = Date.now();
  let isTold = false;
  for (;;) {
    await new Promise((resume) => setTimeout(resume, 500));
    try {
      await ask('alive');
      return postMessage({ reload: true });
    } catch {
      // Not yet.
    }
    if (hasMeasured && !isTold && Date.now() - begin > OVER) {
      isTold = true;
      postMessage({ state: 'Everything is measured. You can close this page.' });
    }
  }
}

async function serveForEver() {
  const served = { count: 0 };
  try {
    await serve(served);
  } catch {
    // Nobody answers any more.
  }
  await waitForTheNext(served.count > 0);
}

serveForEver();
