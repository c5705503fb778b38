(() => {
  const wrong = [];
  const clip = (rect, element) => {
    let { left, top, right, bottom } = rect;
    for (let box = element.closest('.wide, pre'); box; box = box.parentElement?.closest('.wide, pre')) {
      const it = box.getBoundingClientRect();
      left = Math.max(left, it.left); right = Math.min(right, it.right);
      top = Math.max(top, it.top); bottom = Math.min(bottom, it.bottom);
    }
    return { left, top, right, bottom };
  };
  const boxes = [];
  const walker = document.createTreeWalker(document.body ?? document.documentElement, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest('title, desc, style, .skip')) continue;
    if (!element.checkVisibility({ contentVisibilityAuto: true })) continue;
    const text = element.closest('svg text');
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of text ? [text.getBoundingClientRect()] : range.getClientRects()) {
      const box = clip(rect, element);
      if (box.right - box.left > 1 && box.bottom - box.top > 1) boxes.push({ ...box, says: node.data.trim().slice(0, 40) });
    }
    const frame = text?.parentElement.matches('.table') && text.parentElement.querySelector('rect').getBoundingClientRect();
    if (frame) {
      const it = text.getBoundingClientRect();
      if (it.left < frame.left || it.right > frame.right || it.top < frame.top || it.bottom > frame.bottom + 1)
        wrong.push(`\`${node.data}\` leaves its box`);
    }
  }
  boxes.sort((a, b) => a.top - b.top);
  for (let at = 0; at < boxes.length; at += 1) {
    const one = boxes[at];
    for (let next = at + 1; next < boxes.length && boxes[next].top < one.bottom - 1; next += 1) {
      const two = boxes[next];
      const across = Math.min(one.right, two.right) - Math.max(one.left, two.left);
      const down = Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top);
      if (across > 1 && down > 2) wrong.push(`\`${one.says}\` and \`${two.says}\` overlap`);
    }
  }
  const known = new Set(('html head meta title style body a header p h1 h2 h3 h4 small dl div dt dd ul li span strong nav main section '
    + 'table caption thead tbody tr th td code pre b i em ins del details summary figure figcaption footer '
    + 'svg g rect text path circle desc').split(' '));
  for (const element of document.querySelectorAll('*')) {
    const name = element.localName;
    if (!known.has(name)) wrong.push(`element ${name}`);
    for (const { name: attribute, value } of element.attributes) {
      if (/^on/i.test(attribute)) wrong.push(`attribute ${attribute}`);
      if (attribute === 'href' && !/^#[a-z0-9-]+$/.test(value)) wrong.push(`link to ${value}`);
      if (['src', 'srcset', 'action', 'formaction', 'data', 'xlink:href', 'style', 'srcdoc'].includes(attribute)) wrong.push(`attribute ${attribute}`);
    }
    if (element.id && document.querySelectorAll(`#${CSS.escape(element.id)}`).length > 1) wrong.push(`two of ${element.id}`);
  }
  for (const link of document.querySelectorAll('a')) if (!document.querySelector(link.getAttribute('href'))) wrong.push(`dead ${link.href}`);
  return { wrong: wrong.slice(0, 12), texts: boxes.length, scroll: document.documentElement.scrollWidth, inner: innerWidth };
})()
