/** The state and the functions that every part of the page may use. */

import { createContext } from 'preact';
import { useContext, useEffect, useLayoutEffect } from 'preact/hooks';
import type { ConsoleContract, ConsoleOutline } from '../../contract/console/console-contract.ts';
import type { ApiClient } from '../api/api-client.ts';
import type { FeedPool } from '../api/feed-pool.ts';
import type { AdminIndex, ControlScope } from '../api/wire.ts';
import type { Values } from '../forms/form-model.ts';
import type { Keyboard, PageKey } from './keyboard.ts';
import type { ThemeChoice } from './theme.ts';

export interface Route {
  readonly view: string;
  readonly argument: string | null;
  readonly query: Readonly<Record<string, string>>;
}

export interface ActionRequest {
  readonly action: string;
  readonly title?: string;
  readonly about?: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Parameters that are shown and sent, and that the reader cannot change. */
  readonly fixed?: Values;
  readonly initial?: Values;
  readonly changesOnly?: boolean;
  /** The reason of the state that it ends: when the service has another one, nobody needs it any longer. */
  readonly heals?: string;
}

/**
 * The state of the page and the functions that change it. A component that reads a member of the state is drawn again
 * when that member changes.
 */
export interface App {
  /** The names and places of the contract. The rest comes on demand: {@link App.wholeContract}. */
  readonly contract: ConsoleOutline;
  /** The contract with its forms and the meaning of problems; `null` until {@link App.loadContract} has loaded it. */
  wholeContract(): ConsoleContract | null;
  loadContract(): Promise<ConsoleContract>;
  readonly api: ApiClient;
  readonly pool: FeedPool;
  readonly route: Route;
  readonly keyboard: Keyboard;
  /** The server's clock, estimated from its answers, Unix seconds. It moves on every second. */
  readonly now: () => number;
  /** The reader's clock, milliseconds; for the times of feeds. It moves on with {@link now}. */
  readonly localNow: () => number;
  /** One choice in the address, such as a filter; empty when the address does not name it. */
  readonly query: (name: string) => string;
  /** Changes choices in the address without a new entry in the browser's history; an empty one is removed. */
  readonly setQuery: (change: Readonly<Record<string, string | null>>) => void;
  readonly navigate: (hash: string) => void;
  index(): AdminIndex | null;
  canControl(): boolean;
  mayRun(action: string): boolean;
  hasScope(scope: ControlScope): boolean;
  openAction(request: ActionRequest): void;
  watchTask(id: string): void;
  /** Shows the result of an act of the person for some seconds, with a button for `undo` where it can be taken back. */
  readonly toast: (text: string, tone?: 'ok' | 'bad', undo?: () => void) => void;
  readonly themes: ThemeChoice;
  readonly announce: (about: string, text: string) => void;
  readonly logOut: () => Promise<void>;
  /**
   * Adds work that is done before the token is forgotten.
   *
   * @param work of a few seconds at most; resolves with a note for the login form, or `null`
   */
  readonly beforeLeave: (work: () => Promise<string | null>) => void;
}

export const AppContext = createContext<App | null>(null);

/** The state and functions of the page, in a component of it. */
export function useApp(): App {
  const app = useContext(AppContext);
  if (app === null) throw new Error('A component is outside of the page.');
  return app;
}

/** The whole contract in a component that needs its forms or problems; `null` until it has arrived. */
export function useWholeContract(): ConsoleContract | null {
  const app = useApp();
  useEffect(() => {
    // Without it, the component shows less; the next one that is opened asks again.
    app.loadContract().catch(() => undefined);
  }, [app]);
  return app.wholeContract();
}

/** Gives a page its keys while it is shown. The dialog that `?` opens lists them. */
export function usePageKeys(keys: readonly PageKey[]): void {
  const { keyboard } = useApp();
  // As soon as the page is drawn: a key must not run what an older drawing of it meant.
  useLayoutEffect(() => keyboard.add(keys));
}
