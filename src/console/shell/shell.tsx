import { button } from './elements.js';
import { Guard } from './guard.js';
import { h } from './preact.js';
import { viewOf, VIEWS } from './views.js';

/** @import { ComponentChildren } from './preact.js' */
/** @import { App } from './app.js' */
/** @import { View } from './view.js' */

/**
 * The frame around every view.
 *
 * @param {App} app
 * @param {object} parts
 * @param {ComponentChildren} parts.banner
 * @param {ComponentChildren} parts.dialog
 * @param {string} parts.announcement
 * @param {number} parts.news changes with every answer
 */
export function shell(app, { banner, dialog, announcement, news }) {
  const view = viewOf(app.route);
  const version = app.index()?.service.version;
  return h(
    'div',
    { class: 'shell' },
    h('a', { class: 'skip', href: '#main', onClick: skip }, 'Skip to the content'),
    h(
      'header',
      null,
      h('img', { src: 'icon.svg', alt: '', width: 28, height: 28 }),
      h('span', { class: 'brand' }, 'Slipway'),
      h('span', { class: 'faint' }, version === undefined ? '' : version),
      button('Forget token', app.forgetToken, { class: 'quiet' }),
    ),
    h(
      'nav',
      { 'aria-label': 'Views' },
      h(
        'ul',
        null,
        VIEWS.map(({ id, title }) =>
          h(
            'li',
            { key: id },
            h('a', { href: `#/${id}`, ...(id === view.id ? { 'aria-current': 'page' } : {}) }, title),
          ),
        ),
      ),
    ),
    h(
      'main',
      { id: 'main', tabIndex: -1 },
      h('h1', { tabIndex: -1, class: 'unseen' }, view.title),
      banner,
      h(Guard, { key: `${view.id}/${app.route.argument}`, news }, h(ViewBody, { app, view })),
    ),
    h('div', { role: 'status', 'aria-live': 'polite', class: 'unseen' }, announcement),
    dialog,
  );
}

/** @param {{ readonly app: App, readonly view: View }} props */
function ViewBody({ app, view }) {
  return h('div', { class: 'view' }, view.render(app));
}

/**
 * The address names the view, so the link must not change it.
 *
 * @param {Event} event
 */
function skip(event) {
  event.preventDefault();
  document.getElementById('main')?.focus();
}
