// A click zooms into a frame, the model's frame or Escape zooms out, `search` dims what does not match.
(function () {
  var root = document.documentElement, LEFT = 16, ROOM = 1168, LETTER = 6.8, NS = root.namespaceURI;
  var groups = Array.prototype.slice.call(document.querySelectorAll('#frames > g'));
  var frames = groups.map(function (group) {
    var rect = group.querySelector('rect');
    var number = function (name) { return parseFloat(rect.getAttribute(name)); };
    return { group: group, rect: rect, x: number('x'), y: number('y'), width: number('width') };
  });
  function show(frame, x, width) {
    var text = frame.group.querySelector('text'), name = frame.group.getAttribute('data-name');
    var letters = Math.floor((width - 6) / LETTER);
    frame.group.style.display = width < 0.3 ? 'none' : '';
    frame.rect.setAttribute('x', x);
    frame.rect.setAttribute('width', Math.max(width, 0));
    if (!text) {
      text = document.createElementNS(NS, 'text');
      text.setAttribute('y', frame.y + 15);
      frame.group.appendChild(text);
    }
    text.setAttribute('x', x + 4);
    text.textContent = letters >= name.length ? name : letters < 3 ? '' : name.slice(0, letters - 1) + '…';
  }
  function zoom(to) {
    var scale = ROOM / to.width, right = to.x + to.width;
    frames.forEach(function (frame) {
      var begin = Math.max(frame.x, to.x), end = Math.min(frame.x + frame.width, right);
      show(frame, LEFT + (begin - to.x) * scale, (end - begin) * scale);
    });
  }
  function search(words) {
    words = (words || '').toLowerCase();
    frames.forEach(function (frame) {
      var title = frame.group.querySelector('title').textContent.toLowerCase();
      frame.group.classList.toggle('faded', words !== '' && title.indexOf(words) < 0);
    });
  }
  if (!frames.length) return;
  frames.forEach(function (frame) {
    frame.group.addEventListener('click', function () { zoom(frame); });
  });
  root.addEventListener('keydown', function (event) {
    if (event.key === 'Escape') { zoom(frames[0]); search(''); }
  });
  var button = document.createElementNS(NS, 'text');
  button.setAttribute('class', 'button');
  button.setAttribute('x', LEFT + ROOM);
  button.setAttribute('y', 76);
  button.textContent = 'search';
  button.addEventListener('click', function () {
    search(window.prompt('Dim the frames that do not say (a module, a kind, an operator):', ''));
  });
  root.appendChild(button);
})();
