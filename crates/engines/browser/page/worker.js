// The worker: asks for what to do, does it, and answers. Every time is taken here, by the clock of the browser.

import * as runs from './runs.js';

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

async function serve() {
  const session = await (await ask('hello', { method: 'POST' })).text();
  for (;;) {
    const heard = await ask(`next?session=${session}`);
    if (heard.status === 204) continue;
    if (heard.status === 205) return postMessage({ reload: true });
    const job = await heard.json();
    postMessage({ state: job.state ?? 'Measuring…' });
    try {
      const work = runs[job.ask];
      if (!work) throw new Error(`the page does not know ${job.ask}`);
      await send({ id: job.id, done: (await work(job)) ?? {} });
    } catch (error) {
      await send({ id: job.id, failed: explain(error) });
    }
  }
}

// While no measurement runs nobody answers; the next one begins with a fresh page.
async function serveForEver() {
  try {
    await serve();
  } catch {
    postMessage({ state: 'Waiting for the next measurement…' });
    for (;;) {
      await new Promise((resume) => setTimeout(resume, 500));
      try {
        await ask('alive');
        return postMessage({ reload: true });
      } catch {
        // Not yet.
      }
    }
  }
}

serveForEver();
