import { batch, signal } from '@preact/signals';
import type { ConsoleContract, ConsoleOutline } from '../../contract/console/console-contract.ts';
import { ApiFailure, createApiClient, type ApiClient } from '../api/api-client.ts';
import { FeedPool } from '../api/feed-pool.ts';
import type { TokenVault } from '../api/token-vault.ts';
import type { AdminIndex, ControlScope, Report, Task } from '../api/wire.ts';
import type { ActionRequest, App, Route } from '../state/app.ts';
import { Keyboard } from '../state/keyboard.ts';
import { taskFeed } from '../state/tasks.ts';
import type { ThemeChoice } from '../state/theme.ts';
import { currentVerdict, verdictFeed, verdictState } from '../state/verdict.ts';
import type { View } from '../state/view.ts';
import { duration } from '../text/format.ts';
import { readRoute, writeRoute } from './address.ts';
import type { PaletteEntry } from './palette-entries.ts';
import { Toasts } from './toasts.tsx';
import { viewOf } from './views.ts';

const INDEX_EVERY_MS = 60_000;
const NOT_LOADED =
  'This page could not be loaded. The server does not answer, or it was replaced by another version.';

const NOT_LOADED_FORM = 'The form could not be loaded, because the server does not answer.';

export class Page implements App {
  readonly contract: ConsoleOutline;
  readonly #contract: LazyContract;
  readonly api: ApiClient;
  readonly pool: FeedPool;
  readonly clock = new PageClock();
  readonly announcer = new Announcer();
  readonly keyboard;
  readonly toasts = new Toasts();
  readonly recent = new RecentEntries();
  readonly themes: ThemeChoice;
  readonly overlay = signal<'palette' | 'keys' | null>(null);
  /** The page of the route; `null` until its file has arrived; a text when it could not be loaded. */
  readonly view = signal<View | string | null>(null);
  readonly request = signal<ActionRequest | null>(null);
  readonly isOpen;
  readonly loginMessage = signal<string | null>(null);
  readonly answers = signal(0);
  readonly #route;
  readonly #vault: TokenVault;
  readonly #setTitle: (title: string) => void;
  readonly #replaceHash: (hash: string) => void;
  readonly navigate: (hash: string) => void;
  readonly #farewells: Array<() => Promise<string | null>> = [];
  #watched: string | null = null;

  constructor(parts: {
    readonly fetch: typeof globalThis.fetch;
    readonly vault: TokenVault;
    readonly outline: ConsoleOutline;
    readonly loadContract: () => Promise<ConsoleContract>;
    /** The part of the address after `#`, with it. */
    readonly hash: string;
    readonly setTitle: (title: string) => void;
    readonly replaceHash: (hash: string) => void;
    readonly navigate: (hash: string) => void;
    readonly themes: ThemeChoice;
    readonly isMac: boolean;
  }) {
    const { fetch, vault, outline, hash, setTitle, replaceHash, navigate, isMac, themes } = parts;
    this.keyboard = new Keyboard(isMac);
    this.themes = themes;
    this.contract = outline;
    this.#contract = new LazyContract(parts.loadContract);
    this.isOpen = signal(vault.get() !== null);
    this.#route = signal<Route>(readRoute(hash));
    this.#vault = vault;
    this.#setTitle = setTitle;
    this.#replaceHash = replaceHash;
    this.navigate = navigate;
    this.api = createApiClient({
      fetch,
      token: () => vault.get(),
      onUnauthorized: () => this.#leave('The server rejects this token. It may have been revoked.'),
      onDate: this.clock.learn,
    });
    this.pool = new FeedPool(() => this.onAnswer());
    this.keyboard.add([
      { keys: 'Control+k', text: 'Search', run: this.openPalette, worksInForms: true },
      {
        keys: '?',
        text: 'Show the keys of this page',
        run: () => {
          this.overlay.value = 'keys';
        },
      },
    ]);
  }

  get route(): Route {
    return this.#route.value;
  }

  wholeContract = (): ConsoleContract | null => this.#contract.value();

  loadContract = async (): Promise<ConsoleContract> => await this.#contract.load();

  now = this.clock.now;
  localNow = this.clock.localNow;

  index = (): AdminIndex | null => this.pool.state<AdminIndex>('index').value;

  canControl = (): boolean => this.index()?.control.exposed === true;

  mayRun = (action: string): boolean =>
    this.index()?.actions.some((each) => each.action === action && each.allowed) === true;

  hasScope = (scope: ControlScope): boolean => this.index()?.token.scopes.includes(scope) === true;

  query = (name: string): string => this.#route.value.query[name] ?? '';

  setQuery = (change: Readonly<Record<string, string | null>>): void => {
    const before = this.#route.peek();
    const query: Record<string, string> = { ...before.query };
    for (const [name, value] of Object.entries(change)) {
      if (value === null || value === '') delete query[name];
      else query[name] = value;
    }
    this.#route.value = { ...before, query };
    try {
      this.#replaceHash(writeRoute(this.#route.peek()));
    } catch {
      // A browser refuses too many changes of the address in a short time; the page follows its own state.
    }
    this.#want();
  };

  openAction = (request: ActionRequest): void => {
    this.announcer.forget('action');
    this.request.value = request;
    this.loadContract().catch(() => {
      this.request.value = null;
      this.toast(`${NOT_LOADED_FORM} Try it again.`, 'bad');
    });
  };

  watchTask = (id: string): void => {
    this.#watched = id;
    this.#want();
    this.pool.refresh();
  };

  announce = this.announcer.announce;

  toast = (text: string, tone: 'ok' | 'bad' = 'ok', undo?: () => void): void => {
    this.toasts.show(text, tone, undo);
    this.announce('toast', text);
  };

  logOut = async (): Promise<void> => {
    const notes = await Promise.all(this.#farewells.map(async (work) => await work()));
    const told = notes.filter((note) => note !== null).join(' ');
    // A refusal of the token may have been faster.
    if (this.isOpen.peek()) this.#leave(told === '' ? null : told);
  };

  beforeLeave = (work: () => Promise<string | null>): void => {
    this.#farewells.push(work);
  };

  openPalette = (): void => {
    this.overlay.value = 'palette';
  };

  closeOverlay = (): void => {
    this.overlay.value = null;
  };

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

  async open(hash: string): Promise<void> {
    const entry = viewOf(readRoute(hash));
    batch(() => {
      // The old page must not be drawn for the new address.
      if (viewOf(this.#route.peek()) !== entry) this.view.value = null;
      const [before, route] = [this.#route.peek(), readRoute(hash)];
      this.#route.value = route;
      this.overlay.value = null;
      // A form belongs to the page that it was opened on.
      if (before.view !== route.view || before.argument !== route.argument) this.request.value = null;
    });
    if (this.request.peek() === null) this.#watched = null;
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

  onAnswer(): void {
    this.answers.value += 1;
    const { tone, title, todo } = currentVerdict(this);
    const verdict = todo === null ? title : `${title}. ${todo}`;
    const before = this.announcer.last('verdict');
    if (tone !== 'unknown' && before !== undefined && before !== verdict) this.pool.refresh();
    if (verdictState(this).loadedAt !== null) this.announce('verdict', verdict);
    const route = this.#route.peek();
    this.#setTitle(`${tone === 'ok' ? '' : '⚠ '}${viewOf(route).title} · Slipway`);
    const id = this.#watched ?? (route.view === 'tasks' ? route.argument : null);
    const task = id === null ? undefined : this.pool.state<Report<'task.status'>>(`task:${id}`).value?.task;
    if (task !== undefined) this.announce('task', spokenProgress(task));
  }

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
    this.recent.clear();
    batch(() => {
      this.isOpen.value = false;
      this.request.value = null;
      this.overlay.value = null;
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

/** Tells screen readers what changed. */
class Announcer {
  readonly text = signal('');
  readonly #last = new Map<string, string>();

  announce = (about: string, text: string): void => {
    if (this.#last.get(about) === text) return;
    this.#last.set(about, text);
    this.text.value = text;
  };

  last(about: string): string | undefined {
    return this.#last.get(about);
  }

  forget(about: string): void {
    this.#last.delete(about);
  }
}

export class LazyContract {
  readonly #loaded = signal<ConsoleContract | null>(null);
  readonly #load: () => Promise<ConsoleContract>;
  #loading: Promise<ConsoleContract> | null = null;

  /** @param load rejects when the server does not answer */
  constructor(load: () => Promise<ConsoleContract>) {
    this.#load = load;
  }

  /** The contract; `null` until it is here. A component that reads it is drawn again then. */
  value(): ConsoleContract | null {
    return this.#loaded.value;
  }

  async load(): Promise<ConsoleContract> {
    this.#loading ??= this.#load();
    try {
      return (this.#loaded.value = await this.#loading);
    } catch (error) {
      this.#loading = null;
      throw error;
    }
  }
}

const MOST_RECENT = 6;

/** The entries of the palette that were opened last, the last one first. They last as long as the page. */
export class RecentEntries {
  list: readonly PaletteEntry[] = [];

  add(entry: PaletteEntry): void {
    this.list = [entry, ...this.list.filter(({ id }) => id !== entry.id)].slice(0, MOST_RECENT);
  }

  clear(): void {
    this.list = [];
  }
}

/** A smaller difference may come from the time that an answer takes, and from `Date`, which has no fractions of a second. */
const TOLERANCE_MS = 3000;

/** The time of the page. Components that read it are drawn again every second. */
class PageClock {
  readonly #ticks = signal(0);
  #offsetMs = 0;

  /** The server's clock, Unix seconds. */
  now = (): number => (this.localNow() + this.#offsetMs) / 1000;

  /** The reader's clock, milliseconds. */
  localNow = (): number => {
    void this.#ticks.value;
    return Date.now();
  };

  learn = (date: string): void => {
    const offset = Date.parse(date) - Date.now();
    this.#offsetMs = Math.abs(offset) > TOLERANCE_MS ? offset : 0;
  };

  tick(): void {
    this.#ticks.value += 1;
  }
}
