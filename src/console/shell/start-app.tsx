/** The state of the page and everything that changes it. */

import { ActionDialog } from './action-dialog.js';
import { ApiFailure, createApiClient } from './api-client.js';
import { banner, currentVerdict, verdictFeed, verdictState } from './banner.js';
import { createFeedPool } from './feed-pool.js';
import { duration } from './format.js';
import { LoginView } from './login-view.js';
import { h, render } from './preact.js';
import { shell } from './shell.js';
import { taskFeed } from './tasks-view.js';
import { viewOf } from './views.js';

/** @import { DashboardContract } from '../dashboard-contract.ts' */
/** @import { ActionRequest } from './action-dialog.js' */
/** @import { ApiClient } from './api-client.js' */
/** @import { FeedPool } from './feed-pool.js' */
/** @import { TokenVault } from './token-vault.js' */
/** @import { AdminIndex, Report } from './wire.d.ts' */

/**
 * @typedef {object} Settings the reader's choices; forgotten with the page
 * @property {string} taskStatus
 * @property {number} taskRows
 * @property {string} releaseChannel
 * @property {string} logTail
 * @property {string} logLevel
 * @property {string} logText
 *
 * @typedef {{ readonly view: string, readonly argument: string | null }} Route
 *
 * @typedef {object} App the state and functions that views may use
 * @property {DashboardContract} contract
 * @property {ApiClient} api
 * @property {FeedPool} pool
 * @property {Route} route
 * @property {Settings} settings
 * @property {() => number} now the server's clock, estimated from its answers, Unix seconds
 * @property {() => AdminIndex | null} index
 * @property {() => boolean} canControl
 * @property {(change: Partial<Settings>) => void} set
 * @property {(request: ActionRequest) => void} openAction
 * @property {(id: string) => void} watchTask requests the task repeatedly while the dialog is open
 * @property {(about: string, text: string) => void} announce tells screen readers a text, once
 * @property {() => void} forgetToken
 */

/** A smaller difference may come from the time that an answer takes, and from `Date`, which has whole seconds. */
const CLOCK_TOLERANCE_MS = 3000;
const INDEX_EVERY_MS = 60_000;

/**
 * Starts the page.
 *
 * @param {object} parts
 * @param {Window & typeof globalThis} parts.window
 * @param {HTMLElement} parts.root
 * @param {TokenVault} parts.vault
 * @param {DashboardContract} parts.contract
 */
export function startApp({ window, root, vault, contract }) {
  const { document } = window;
  let clockOffsetMs = 0;
  let isRenderDue = false;
  /** @type {ActionRequest | null} */
  let request = null;
  /** @type {string | null} */
  let watched = null;
  /** @type {string | null} */
  let loginMessage = null;
  /** Whether the views are shown, and not the login form. */
  let isOpen = vault.get() !== null;
  let announcement = '';
  let news = 0;
  /** @type {Map<string, string>} */
  const announced = new Map();

  const api = createApiClient({
    fetch: window.fetch.bind(window),
    vault,
    onUnauthorized: () => leave('The server rejects this token. It may have been revoked.'),
    onDate: (date) => {
      const offset = Date.parse(date) - Date.now();
      clockOffsetMs = Math.abs(offset) > CLOCK_TOLERANCE_MS ? offset : 0;
    },
  });
  const pool = createFeedPool(onNews);

  /** @type {App} */
  const app = {
    contract,
    api,
    pool,
    route: readRoute(window.location.hash),
    settings: {
      taskStatus: '',
      taskRows: 50,
      releaseChannel: '',
      logTail: '500',
      logLevel: 'info',
      logText: '',
    },
    now: () => (Date.now() + clockOffsetMs) / 1000,
    index: () => pool.state('index').value,
    canControl: () => app.index()?.control.exposed === true,
    set: (change) => {
      app.settings = { ...app.settings, ...change };
      want();
    },
    openAction: (next) => {
      request = next;
      announced.delete('action');
      want();
    },
    watchTask: (id) => {
      watched = id;
      want();
      pool.refresh();
    },
    announce: (about, text) => {
      if (announced.get(about) === text) return;
      announced.set(about, text);
      announcement = text;
      draw();
    },
    forgetToken: () => leave(null),
  };

  /** Sets the feeds that are needed now, and draws. */
  function want() {
    if (isOpen) {
      pool.want([
        verdictFeed(app),
        {
          key: 'index',
          load: async (signal) => await api.read('/admin/', { signal }),
          pauseAfter: () => INDEX_EVERY_MS,
        },
        ...viewOf(app.route).feeds(app),
        ...(watched === null ? [] : [taskFeed(app, watched)]),
      ]);
    }
    draw();
  }

  function onNews() {
    news += 1;
    const { tone, title, todo } = currentVerdict(app);
    const verdict = todo === null ? title : `${title}. ${todo}`;
    if (tone !== 'unknown' && announced.has('verdict') && announced.get('verdict') !== verdict)
      pool.refresh();
    if (verdictState(app).loadedAt !== null) app.announce('verdict', verdict);
    document.title = `${tone === 'good' ? '' : '⚠ '}${viewOf(app.route).title} · Slipway`;
    const id = watched ?? (app.route.view === 'tasks' ? app.route.argument : null);
    /** @type {Report<'task.status'>['task'] | undefined} */
    const task = id === null ? undefined : pool.state(`task:${id}`).value?.task;
    if (task !== undefined) app.announce('task', spokenProgress(task));
    draw();
  }

  /** @param {string | null} message */
  function leave(message) {
    vault.forget();
    pool.clear();
    isOpen = false;
    request = null;
    watched = null;
    loginMessage = message;
    draw();
  }

  /**
   * @param {string} token
   * @param {boolean} keep
   * @returns {Promise<string | null>}
   */
  async function login(token, keep) {
    vault.set(token, keep);
    try {
      await api.read('/admin/');
      loginMessage = null;
      isOpen = true;
      want();
      return null;
    } catch (error) {
      vault.forget();
      if (!(error instanceof ApiFailure)) throw error;
      const wait =
        error.retryAfter === null ? '' : ` Wait ${duration(error.retryAfter)} before you try again.`;
      return error.status === 401 ? `The server rejects this token.${wait}` : error.message;
    }
  }

  function draw() {
    if (isRenderDue) return;
    isRenderDue = true;
    window.queueMicrotask(() => {
      isRenderDue = false;
      render(page(), root);
    });
  }

  function page() {
    if (!isOpen) return h(LoginView, { message: loginMessage, onLogin: login });
    return shell(app, {
      announcement,
      news,
      banner: banner(app, { brief: viewOf(app.route).id !== 'overview' }),
      dialog:
        request === null
          ? null
          : h(ActionDialog, {
              app,
              request,
              key: JSON.stringify(request),
              onClosed: () => {
                request = null;
                watched = null;
                want();
                pool.refresh();
              },
            }),
    });
  }

  window.addEventListener('hashchange', () => {
    app.route = readRoute(window.location.hash);
    want();
    window.queueMicrotask(() => {
      onNews();
      window.scrollTo(0, 0);
      document.querySelector('h1')?.focus();
    });
  });
  document.addEventListener('visibilitychange', () => {
    pool.setAwake(!document.hidden);
    draw();
  });
  // Ages such as "12 s ago" grow even when no data arrives.
  window.setInterval(() => {
    if (!document.hidden) draw();
  }, 1000);
  pool.setAwake(!document.hidden);
  want();
}

/**
 * @param {string} hash such as `#/tasks/01KAJ2X6V5Q0E8T9R3W7Y1Z4BC`
 * @returns {Route}
 */
function readRoute(hash) {
  const [view = '', argument] = hash.replace(/^#\/?/, '').split('/', 2);
  return { view, argument: argument === undefined || argument === '' ? null : decode(argument) };
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Progress in quarters, so that a screen reader does not speak all the time.
 *
 * @param {Report<'task.status'>['task']} task
 */
function spokenProgress({ kind, status, progress }) {
  const total = progress?.total ?? null;
  const isRunning = status === 'running' && progress !== null && total !== null && total > 0;
  return isRunning ? `${kind}: ${Math.floor((progress.done / total) * 4) * 25} %` : `${kind}: ${status}`;
}
