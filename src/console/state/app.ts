/** The state and the functions that every part of the page may use. */

import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { ConsoleContract } from '../../contract/console/console-contract.ts';
import type { ApiClient } from '../api/api-client.ts';
import type { FeedPool } from '../api/feed-pool.ts';
import type { AdminIndex } from '../api/wire.ts';
import type { Values } from '../forms/form-model.ts';

/** The reader's choices; forgotten with the page. */
export interface Settings {
  readonly taskStatus: string;
  readonly taskRows: number;
  readonly releaseChannel: string;
  readonly logTail: string;
  readonly logLevel: string;
  readonly logText: string;
}

/** The page that the address names. */
export interface Route {
  readonly view: string;
  readonly argument: string | null;
}

/** An action whose form is opened. */
export interface ActionRequest {
  readonly action: string;
  /** Parameters that are shown and sent, and that the reader cannot change. */
  readonly fixed?: Values;
  /** Initial values of the form. */
  readonly initial?: Values;
  /** Whether to leave out fields that still have their initial value. */
  readonly changesOnly?: boolean;
}

/**
 * The state of the page and the functions that change it. A component that reads a member of the state is drawn again
 * when that member changes.
 */
export interface App {
  readonly contract: ConsoleContract;
  readonly api: ApiClient;
  readonly pool: FeedPool;
  readonly route: Route;
  readonly settings: Settings;
  /** The server's clock, estimated from its answers, Unix seconds. It moves on once per second. */
  readonly now: () => number;
  /** The reader's clock, milliseconds; for the times of feeds. It moves on with {@link now}. */
  readonly localNow: () => number;
  index(): AdminIndex | null;
  canControl(): boolean;
  set(change: Partial<Settings>): void;
  openAction(request: ActionRequest): void;
  /** Requests the task repeatedly while the dialog is open. */
  watchTask(id: string): void;
  /** Tells screen readers a text, once. */
  readonly announce: (about: string, text: string) => void;
  readonly forgetToken: () => void;
}

/** Gives the parts of the page their {@link App}. */
export const AppContext = createContext<App | null>(null);

/** The state and functions of the page, in a component of it. */
export function useApp(): App {
  const app = useContext(AppContext);
  if (app === null) throw new Error('A component of the console is drawn outside of the page.');
  return app;
}
