import { renderExact } from './exact-json.js';
import { absolute, utc } from './format.js';
import { Component, h } from './preact.js';

/** @import { App } from './app.js' */

/** The reader counts as at the end within this distance of it, pixels. */
const NEAR_END = 8;

/**
 * @typedef {object} LogLine
 * @property {number} ts Unix seconds
 * @property {string} level
 * @property {string} msg
 * @property {string | undefined} [task_id]
 * @property {number} [seq]
 * @property {object | undefined} [fields]
 */

/**
 * @typedef {object} LogProps
 * @property {App} app
 * @property {string} label
 * @property {readonly LogLine[]} lines oldest first
 */

/**
 * A log in a box that stays scrolled to its end until the reader scrolls up.
 *
 * @extends {Component<LogProps>}
 */
export class LogLines extends Component {
  /** @param {LogProps} props */
  constructor(props) {
    super(props);
    /** @type {HTMLElement | null} */
    this.box = null;
  }

  /** @override */
  componentDidMount() {
    this.showEnd();
  }

  /**
   * @override
   * @returns {boolean} whether the reader was at the end before the new lines arrived
   */
  getSnapshotBeforeUpdate() {
    return (
      this.box !== null && this.box.scrollTop + this.box.clientHeight >= this.box.scrollHeight - NEAR_END
    );
  }

  /**
   * @override
   * @param {LogProps} _props
   * @param {object} _state
   * @param {boolean} wasAtEnd
   */
  componentDidUpdate(_props, _state, wasAtEnd) {
    if (wasAtEnd) this.showEnd();
  }

  showEnd() {
    if (this.box !== null) this.box.scrollTop = this.box.scrollHeight;
  }

  /** @override */
  render() {
    const { app, label, lines } = this.props;
    return h(
      'div',
      {
        class: 'log',
        role: 'region',
        tabIndex: 0,
        'aria-label': label,
        ref: (/** @type {HTMLElement | null} */ element) => {
          this.box = element;
        },
      },
      h(
        'ol',
        null,
        lines.map((line, index) =>
          h('li', { key: line.seq ?? index, class: line.level }, lineParts(app, line)),
        ),
      ),
    );
  }
}

/**
 * @param {App} app
 * @param {LogLine} line
 */
function lineParts(app, { ts, level, msg, fields, task_id: task }) {
  return [
    h('time', { datetime: utc(ts), title: utc(ts) }, absolute(ts, app.now())),
    h('span', { class: 'level' }, level),
    h(
      'span',
      { class: 'message' },
      msg,
      fields === undefined ? null : h('span', { class: 'faint' }, ` ${renderExact(fields)}`),
      task === undefined ? null : ' ',
      task === undefined
        ? null
        : h(
            'a',
            { href: `#/tasks/${encodeURIComponent(task)}` },
            'task',
            h('span', { class: 'unseen' }, ` ${task}`),
          ),
    ),
  ];
}
