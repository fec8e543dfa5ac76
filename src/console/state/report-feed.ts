/** The type of a view, and the parts that views share. */

import { button } from './elements.js';

/** @import { ComponentChildren } from './preact.js' */
/** @import { ActionRequest } from './action-dialog.js' */
/** @import { App } from './app.js' */
/** @import { FeedRequest } from './feed-pool.js' */
/** @import { ReportName } from './wire.d.ts' */

/**
 * @typedef {object} View
 * @property {string} id the first segment of its address
 * @property {string} title
 * @property {(app: App) => readonly FeedRequest[]} feeds requests to repeat while it is shown
 * @property {(app: App) => ComponentChildren} render
 */

/**
 * @param {App} app
 * @param {ReportName} name
 * @param {object} [options]
 * @param {string} [options.key] default the name of the report
 * @param {Readonly<Record<string, string>>} [options.query]
 * @param {number | ((value: any) => number)} [options.everyMs] milliseconds, or a function of the report, which can be
 * any of them
 * @returns {FeedRequest}
 */
export function reportFeed(app, name, { key = name, query = {}, everyMs = 10_000 } = {}) {
  const path = app.contract.reports.find(({ report }) => report === name)?.path ?? '';
  return {
    key,
    load: async (signal) => await app.api.read(path, { query, signal }),
    pauseAfter: typeof everyMs === 'function' ? everyMs : () => everyMs,
  };
}

/**
 * A button that opens the form of an action; nothing if this server does not forward actions.
 *
 * @param {App} app
 * @param {string} label
 * @param {ActionRequest} request
 * @param {{ readonly class?: string, readonly about?: string }} [options]
 */
export function actionButton(app, label, request, options) {
  return app.canControl() ? button(label, () => app.openAction(request), options) : null;
}
