/** The small parts of every view. Text goes into text nodes only; nothing here turns it into markup. */

import { absolute, duration, relative, utc } from './format.js';
import { h } from './preact.js';

/** @import { ComponentChildren, VNode } from './preact.js' */
/** @import { ApiFailure } from './api-client.js' */
/** @import { FeedState } from './live-feed.js' */
/** @import { App } from './app.js' */
/** @import { Verdict } from './verdict-summary.js' */

/** @typedef {'good' | 'warn' | 'bad' | 'busy' | 'quiet' | 'unknown'} Tone */

/**
 * @param {Tone} tone
 * @param {string} text
 */
export function badge(tone, text) {
  return h('span', { class: `badge ${tone}` }, text);
}

/**
 * An instant, relative to now and by the clock.
 *
 * @param {App} app
 * @param {number | null | undefined} at Unix seconds
 * @param {string} [otherwise] shown when there is none
 */
export function time(app, at, otherwise = '–') {
  if (at === null || at === undefined) return h('span', { class: 'faint' }, otherwise);
  const now = app.now();
  return h(
    'time',
    { datetime: utc(at), title: utc(at) },
    h('span', null, relative(at, now)),
    ' ',
    h('span', { class: 'clock' }, absolute(at, now)),
  );
}

/**
 * @param {ComponentChildren} children
 * @param {object} [attributes]
 */
export function code(children, attributes = {}) {
  return h('code', attributes, children);
}

/**
 * A sentence of the contract; text in backticks becomes code.
 *
 * @param {string} text
 * @returns {ComponentChildren}
 */
export function prose(text) {
  return text.split('`').map((part, index) => (index % 2 === 1 ? h('code', { key: index }, part) : part));
}

/**
 * @param {ReadonlyArray<readonly [string, ComponentChildren]>} rows terms and values; a row without a value is left out
 */
export function facts(rows) {
  return h(
    'dl',
    { class: 'facts' },
    rows
      .filter(([, value]) => value !== null && value !== undefined && value !== '')
      .map(([term, value]) => h('div', { key: term }, h('dt', null, term), h('dd', null, value))),
  );
}

/**
 * @param {string} label
 * @param {() => void} onClick
 * @param {{ readonly class?: string, readonly about?: string, readonly disabled?: boolean }} [options] `about`: the
 * object that it acts on, for screen readers, which read the button without its row
 */
export function button(label, onClick, { class: name = '', about, disabled = false } = {}) {
  return h(
    'button',
    { type: 'button', class: name, onClick, disabled },
    label,
    about === undefined ? null : h('span', { class: 'unseen' }, ` ${about}`),
  );
}

/** @param {ComponentChildren} children */
export function empty(children) {
  return h('p', { class: 'empty' }, children);
}

/**
 * @param {App} app
 * @param {ApiFailure} failure
 */
export function failureText(app, failure) {
  const { code: problemCode, daemon } = failure.problem;
  const meaning = app.contract.problems[daemon?.code ?? ''];
  return [
    h('strong', null, failure.message),
    problemCode === undefined ? null : h('span', { class: 'faint' }, ' ', code(problemCode)),
    daemon?.code ? h('span', null, ' The daemon says ', code(daemon.code), '. ') : null,
    meaning === undefined ? null : h('span', null, prose(meaning)),
  ];
}

/**
 * A titled part of a view that shows one feed. Every panel shows loading, failures and old data in the same way.
 *
 * @template T
 * @param {App} app
 * @param {object} options
 * @param {string} options.title
 * @param {FeedState<T>} options.feed
 * @param {ComponentChildren} [options.tools] next to the title
 * @param {(value: T) => ComponentChildren} render
 */
export function panel(app, { title, feed, tools }, render) {
  const id = `panel-${title.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`;
  return h(
    'section',
    { class: 'panel', 'aria-labelledby': id, key: id },
    h('div', { class: 'panel-head' }, h('h2', { id }, title), h('div', { class: 'tools' }, tools)),
    feed.failure === null ? null : failureNote(app, feed),
    feed.value === null
      ? feed.failure === null
        ? h('p', { class: 'empty', 'aria-busy': 'true' }, 'Loading …')
        : null
      : render(feed.value),
  );
}

/**
 * @param {App} app
 * @param {FeedState<unknown>} feed
 */
function failureNote(app, { failure, loadedAt, nextAt }) {
  if (failure === null) return null;
  const wait = nextAt === null ? null : Math.max(0, Math.ceil((nextAt - Date.now()) / 1000));
  const age = [
    loadedAt === null ? null : `Data from ${duration((Date.now() - loadedAt) / 1000)} ago. `,
    wait === null ? 'Retrying …' : `Retrying in ${wait} s.`,
  ];
  // The banner tells the cause; one box is enough.
  if (isAbsentDaemon(app, failure)) return h('p', { class: 'faint' }, 'No news from the daemon. ', age);
  return h(
    'div',
    { class: 'note bad' },
    h('p', null, failureText(app, failure)),
    h('p', { class: 'faint' }, age),
  );
}

/**
 * Whether the banner already tells the cause of a failure: the daemon does not answer.
 *
 * @param {App} app
 * @param {ApiFailure} failure
 */
function isAbsentDaemon(app, { problem }) {
  /** @type {FeedState<Verdict>} */
  const { value } = app.pool.state('verdict');
  return problem.code === 'backend_unavailable' && value?.health.daemon?.answers === false;
}

/**
 * @template R
 * @typedef {object} Column
 * @property {string} head
 * @property {(row: R) => ComponentChildren} cell
 * @property {string} [class]
 */

/**
 * A table that becomes a list of cards on a narrow screen. The roles are explicit because that layout removes the
 * native ones in some browsers.
 *
 * @template R
 * @param {object} options
 * @param {string} options.caption for readers who cannot see the heading above it
 * @param {ReadonlyArray<Column<R>>} options.columns the first one names the row
 * @param {readonly R[]} options.rows
 * @param {(row: R) => string} options.keyOf
 */
export function table({ caption, columns, rows, keyOf }) {
  return h(
    'table',
    { role: 'table' },
    h('caption', { class: 'unseen' }, caption),
    h(
      'thead',
      { role: 'rowgroup' },
      h(
        'tr',
        { role: 'row' },
        columns.map(({ head, class: name = '' }) =>
          h('th', { role: 'columnheader', scope: 'col', key: head, class: name }, head),
        ),
      ),
    ),
    h(
      'tbody',
      { role: 'rowgroup' },
      rows.map((row) =>
        h(
          'tr',
          { role: 'row', key: keyOf(row) },
          columns.map(({ head, cell, class: name = '' }, index) =>
            h(
              index === 0 ? 'th' : 'td',
              {
                key: head,
                class: name,
                'data-head': head,
                ...(index === 0 ? { role: 'rowheader', scope: 'row' } : { role: 'cell' }),
              },
              // One box around any content, so that the cards of narrow screens have two columns.
              h('div', null, cell(row)),
            ),
          ),
        ),
      ),
    ),
  );
}

/**
 * @param {string} label
 * @param {string} value
 * @param {ReadonlyArray<readonly [string, string]>} options values and their labels
 * @param {(value: string) => void} onChange
 * @returns {VNode}
 */
export function select(label, value, options, onChange) {
  const id = `select-${label.toLowerCase().replaceAll(' ', '-')}`;
  return h(
    'div',
    { class: 'inline' },
    h('label', { for: id }, label),
    h(
      'select',
      {
        id,
        value,
        onChange: (/** @type {Event} */ event) =>
          onChange(/** @type {HTMLSelectElement} */ (event.currentTarget).value),
      },
      options.map(([option, name]) => h('option', { value: option, key: option }, name)),
    ),
  );
}

/**
 * @param {string} label
 * @param {string} text
 */
export function rawText(label, text) {
  // It scrolls, so the keyboard must be able to reach it.
  return h('pre', { tabIndex: 0, role: 'region', 'aria-label': label }, text);
}
