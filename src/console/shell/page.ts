import { batch, signal } from '@preact/signals';
import type { ConsoleContract } from '../../contract/console/console-contract.ts';
import { ApiFailure, createApiClient, type ApiClient } from '../api/api-client.ts';
import { createFeedPool, type FeedPool } from '../api/feed-pool.ts';
import type { TokenVault } from '../api/token-vault.ts';
import type { AdminIndex, Report, Task } from '../api/wire.ts';
import type { ActionRequest, App, Route, Settings } from '../state/app.ts';
import { taskFeed } from '../state/tasks.ts';
import { currentVerdict, verdictFeed, verdictState } from '../state/verdict.ts';
import type { View } from '../state/view.ts';
import { duration } from '../text/format.ts';
import { readRoute } from './address.ts';
import { createAnnouncer } from './announcer.ts';
import { createPageClock } from './clock.ts';
import { viewOf } from './views.ts';

const INDEX_EVERY_MS = 60_000;
const FIRST_SETTINGS: Settings = {
  taskStatus: '',
  taskRows: 50,
  releaseChannel: '',
  logTail: '500',
  logLevel: 'info',
  logText: '',
};
const NOT_LOADED =
  'This page could not be loaded. The server does not answer, or it was replaced by another version.';

export interface PageParts {
  readonly fetch: typeof globalThis.fetch;
  readonly vault: TokenVault;
  readonly contract: ConsoleContract;
  /** The part of the address after `#`, with it. */
  readonly hash: string;
  readonly setTitle: (title: string) => void;
}

/** The state of the page and everything that changes it. */
export class Page implements App {
  readonly contract: ConsoleContract;
  readonly api: ApiClient;
  readonly pool: FeedPool;
  readonly clock = createPageClock();
  readonly announcer = createAnnouncer();
  /** The page of the route; `null` until its file has arrived; a text when it could not be loaded. */
  readonly view = signal<View | string | null>(null);
  /** The action whose dialog is open. */
  readonly request = signal<ActionRequest | null>(null);
  /** Whether the pages are shown, and not the login form. */
  readonly isOpen;
  /** Why the login form is shown. */
  readonly loginMessage = signal<string | null>(null);
  /** Counts the answers. */
  readonly news = signal(0);
  readonly #route;
  readonly #settings = signal(FIRST_SETTINGS);
  readonly #vault: TokenVault;
  readonly #setTitle: (title: string) => void;
  /** The task of the dialog. */
  #watched: string | null = null;

  constructor({ fetch, vault, contract, hash, setTitle }: PageParts) {
    this.contract = contract;
    this.isOpen = signal(vault.get() !== null);
    this.#route = signal<Route>(readRoute(hash));
    this.#vault = vault;
    this.#setTitle = setTitle;
    this.api = createApiClient({
      fetch,
      vault,
      onUnauthorized: () => this.#leave('The server rejects this token. It may have been revoked.'),
      onDate: this.clock.learn,
    });
    this.pool = createFeedPool(() => this.onNews());
  }

  get route(): Route {
    return this.#route.value;
  }

  get settings(): Settings {
    return this.#settings.value;
  }

  now = this.clock.now;
  localNow = this.clock.localNow;

  index = (): AdminIndex | null => this.pool.state<AdminIndex>('index').value;

  canControl = (): boolean => this.index()?.control.exposed === true;

  set = (change: Partial<Settings>): void => {
    this.#settings.value = { ...this.#settings.peek(), ...change };
    this.#want();
  };

  openAction = (request: ActionRequest): void => {
    this.announcer.forget('action');
    this.request.value = request;
  };

  watchTask = (id: string): void => {
    this.#watched = id;
    this.#want();
    this.pool.refresh();
  };

  announce = this.announcer.announce;

  forgetToken = (): void => this.#leave(null);

  closeDialog = (): void => {
    this.request.value = null;
    this.#watched = null;
    this.#want();
    this.pool.refresh();
  };

  /** Opens the pages if the server takes the token, and resolves with the problem otherwise. */
  login = async (token: string, keep: boolean): Promise<string | null> => {
    this.#vault.set(token, keep);
    try {
      await this.api.read('/admin/');
    } catch (error) {
      this.#vault.forget();
      if (!(error instanceof ApiFailure)) throw error;
      const wait =
        error.retryAfter === null ? '' : ` Wait ${duration(error.retryAfter)} before you try again.`;
      return error.status === 401 ? `The server rejects this token.${wait}` : error.message;
    }
    batch(() => {
      this.loginMessage.value = null;
      this.isOpen.value = true;
    });
    this.#want();
    return null;
  };

  /** Follows the address: loads the file of its page, and asks for what that page shows. */
  async open(hash: string): Promise<void> {
    batch(() => {
      this.#route.value = readRoute(hash);
      // The old page must not be drawn for the new address.
      this.view.value = null;
    });
    const entry = viewOf(this.#route.peek());
    const isCurrent = (): boolean => viewOf(this.#route.peek()) === entry;
    this.#want();
    try {
      const view = await entry.load();
      if (isCurrent()) this.view.value = view;
    } catch {
      if (isCurrent()) this.view.value = NOT_LOADED;
    }
    this.#want();
  }

  /** Tells what changed with the last answer. */
  onNews(): void {
    this.news.value += 1;
    const { tone, title, todo } = currentVerdict(this);
    const verdict = todo === null ? title : `${title}. ${todo}`;
    const before = this.announcer.last('verdict');
    if (tone !== 'unknown' && before !== undefined && before !== verdict) this.pool.refresh();
    if (verdictState(this).loadedAt !== null) this.announce('verdict', verdict);
    const route = this.#route.peek();
    this.#setTitle(`${tone === 'good' ? '' : '⚠ '}${viewOf(route).title} · Slipway`);
    const id = this.#watched ?? (route.view === 'tasks' ? route.argument : null);
    const task = id === null ? undefined : this.pool.state<Report<'task.status'>>(`task:${id}`).value?.task;
    if (task !== undefined) this.announce('task', spokenProgress(task));
  }

  /** Sets the feeds that are needed now. */
  #want(): void {
    if (!this.isOpen.peek()) return;
    const view = this.view.peek();
    this.pool.want([
      verdictFeed(this),
      {
        key: 'index',
        load: async (signal) => await this.api.read('/admin/', { signal }),
        pauseAfter: () => INDEX_EVERY_MS,
      },
      ...(view === null || typeof view === 'string' ? [] : view.feeds(this)),
      ...(this.#watched === null ? [] : [taskFeed(this, this.#watched)]),
    ]);
  }

  #leave(message: string | null): void {
    this.#vault.forget();
    this.pool.clear();
    this.#watched = null;
    batch(() => {
      this.isOpen.value = false;
      this.request.value = null;
      this.loginMessage.value = message;
    });
  }
}

/** Progress in quarters, so that a screen reader does not speak all the time. */
function spokenProgress({ kind, status, progress }: Task): string {
  const total = progress?.total ?? null;
  const isRunning = status === 'running' && progress !== null && total !== null && total > 0;
  return isRunning ? `${kind}: ${Math.floor((progress.done / total) * 4) * 25} %` : `${kind}: ${status}`;
}
