import type { Page } from 'playwright-core';

/**
 * Finds what does not fit: a document that is wider than the window or continues below its content, and controls, headings or texts
 * of fields that are cut at the side, by the window or by a box around them.
 *
 * @returns one line for each, such as `cut by .tabs: a "Publish"`; texts that end in an ellipsis on purpose are none
 */
export async function layoutFaults(page: Page): Promise<readonly string[]> {
  return (await page.evaluate(FIND_FAULTS)) as string[];
}

/** Runs in the page. Widths are in CSS pixels; one of them may be lost by rounding. */
const FIND_FAULTS = `(() => {
  const faults = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) faults.push('the document is ' + root.scrollWidth + ' px wide');
  const below = root.scrollHeight - Math.max(document.body.offsetHeight, innerHeight);
  if (below > 0) faults.push('the document continues for ' + below + ' px below its content');
  const context = document.createElement('canvas').getContext('2d');
  const isShown = (element) => {
    const { width, height } = element.getBoundingClientRect();
    return width > 2 && height > 2 && element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
      && element.closest('.unseen, .skip') === null;
  };
  const widthOf = (text, { fontWeight, fontSize, fontFamily }) => {
    context.font = fontWeight + ' ' + fontSize + ' ' + fontFamily;
    return context.measureText(text).width;
  };
  const boxAround = (element) => {
    const { left, right } = element.getBoundingClientRect();
    for (let box = element.parentElement; box !== null; box = box.parentElement) {
      const { overflowX, textOverflow } = getComputedStyle(box);
      if (textOverflow === 'ellipsis') return null;
      if (overflowX === 'visible' && box !== root) continue;
      const edge = box === root ? { left: 0, right: root.clientWidth } : box.getBoundingClientRect();
      if (left < edge.left - 1 || right > edge.right + 1) return box === root ? 'the window' : '.' + box.className;
    }
    return null;
  };
  const isForScreenReaders = (element) => {
    for (let box = element; box !== null; box = box.parentElement) {
      if (getComputedStyle(box).clipPath === 'inset(50%)') return true;
    }
    return false;
  };
  const isCut = (element) => {
    const style = getComputedStyle(element);
    if (/^(?:INPUT|SELECT)$/.test(element.tagName)) {
      if (/^(?:checkbox|radio|datetime-local)$/.test(element.type)) return false;
      const text = element.tagName === 'SELECT' ? (element.selectedOptions[0]?.text ?? '') : element.value || element.placeholder;
      // The arrow of a choice, and the cross of a search.
      const extra = element.tagName === 'SELECT' || element.type === 'search' ? 16 : 0;
      return widthOf(text, style) + extra > element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) + 1;
    }
    if (style.textOverflow === 'ellipsis' || style.display === 'inline' || element.tagName === 'TEXTAREA') return false;
    return element.scrollWidth > element.clientWidth + 1;
  };
  for (const element of document.querySelectorAll('button, a, input, select, textarea, summary, label, h1, h2, h3')) {
    if (!isShown(element) || isForScreenReaders(element)) continue;
    const name = element.tagName.toLowerCase() + ' "' + (element.textContent || element.placeholder || '').trim().slice(0, 60) + '"';
    const box = boxAround(element);
    if (box !== null) faults.push('cut by ' + box + ': ' + name);
    else if (isCut(element)) faults.push('does not hold its text: ' + name);
  }
  return faults;
})()`;
