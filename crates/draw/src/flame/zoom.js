// A click zooms into a frame, the model's frame or Escape zooms out, the search dims what does not match. What it gives back
// is that search.
function flame(root) {
  var LEFT = 16, ROOM = 1168, LETTER = 6.8, NS = root.namespaceURI;
  function list(nodes) { return Array.prototype.slice.call(nodes); }
  var panels = list(root.querySelectorAll('.frames')).map(function (panel) {
    return list(panel.children).map(function (group) {
      var rect = group.querySelector('rect');
      function number(name) { return parseFloat(rect.getAttribute(name)); }
      return { group: group, rect: rect, x: number('x'), y: number('y'), width: number('width') };
    });
  }).filter(function (frames) { return frames.length; });
  function label(frame, x, width) {
    var text = frame.group.querySelector('text'), letters = Math.floor((width - 6) / LETTER);
    var name = frame.group.getAttribute('data-name'), amount = frame.group.getAttribute('data-amount');
    if (text) frame.group.removeChild(text);
    if (letters < Math.min(3, name.length)) return;
    text = document.createElementNS(NS, 'text');
    text.setAttribute('x', x + 4);
    text.setAttribute('y', frame.y + 15);
    text.textContent = letters >= name.length ? name : name.slice(0, letters - 1) + '…';
    if (letters > name.length + amount.length + 1) {
      var number = document.createElementNS(NS, 'tspan');
      number.textContent = ' ' + amount;
      text.appendChild(number);
    }
    frame.group.appendChild(text);
  }
  function zoom(frames, to) {
    var scale = ROOM / to.width, right = to.x + to.width;
    frames.forEach(function (frame) {
      var begin = Math.max(frame.x, to.x), end = Math.min(frame.x + frame.width, right);
      var x = LEFT + (begin - to.x) * scale, width = Math.max((end - begin) * scale, 0);
      frame.group.style.display = width < 0.1 ? 'none' : '';
      frame.rect.setAttribute('x', x);
      frame.rect.setAttribute('width', width);
      label(frame, x, width);
    });
  }
  function search(words) {
    words = (words || '').toLowerCase();
    panels.forEach(function (frames) {
      frames.forEach(function (frame) {
        var title = frame.group.querySelector('title').textContent.toLowerCase();
        frame.group.classList.toggle('faded', words !== '' && title.indexOf(words) < 0);
      });
    });
  }
  panels.forEach(function (frames) {
    frames.forEach(function (frame) {
      frame.group.addEventListener('click', function () { zoom(frames, frame); });
    });
  });
  (root.parentElement || root).addEventListener('keydown', function (event) {
    if (event.key !== 'Escape') return;
    panels.forEach(function (frames) { zoom(frames, frames[0]); });
    search('');
  });
  return panels.length ? search : null;
}
