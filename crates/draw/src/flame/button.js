(function () {
  var root = document.documentElement, search = flame(root);
  if (!search) return;
  var button = document.createElementNS(root.namespaceURI, 'text');
  button.setAttribute('class', 'button');
  button.setAttribute('x', 1184);
  button.setAttribute('y', 76);
  button.textContent = 'search';
  button.addEventListener('click', function () {
    search(window.prompt('Show what mentions (a module, a kind, an operator):', ''));
  });
  root.appendChild(button);
})();
