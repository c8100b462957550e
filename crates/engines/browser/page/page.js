// The page: starts the worker that measures, and shows what it does. Nothing is measured here, so that drawing the page
// and measuring do not share a thread.

const state = document.getElementById('state');
const facts = document.getElementById('facts');

function show(words) {
  state.textContent = words;
}

function add(name, text) {
  const term = document.createElement('dt');
  const value = document.createElement('dd');
  term.textContent = name;
  value.textContent = text;
  facts.append(term, value);
}

// Phones turn the screen off, and the page with it.
async function stayAwake() {
  try {
    await navigator.wakeLock?.request('screen');
  } catch {
    // It is a wish; without it the person keeps the screen on.
  }
}

const worker = new Worker('worker.js', { type: 'module' });
worker.onmessage = ({ data }) => {
  if (data.reload) {
    // A new measurement starts with a fresh page, as it starts with a fresh process elsewhere.
    location.reload();
  } else if (data.fact) {
    add(data.fact, data.text);
  } else {
    show(data.state);
  }
};
worker.onerror = (event) => show(`The worker failed: ${event.message}`);
document.addEventListener('visibilitychange', () => {
  worker.postMessage({ hidden: document.hidden });
  if (!document.hidden) stayAwake();
});
worker.postMessage({ hidden: document.hidden });
stayAwake();
