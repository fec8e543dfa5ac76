/** The work of one person in this tab. It outlives the pages and a lost login, so that no text depends on the page that is shown. */

import { effect } from '@preact/signals';
import { postAction } from '../../../actions/post-action.ts';
import { failureOf } from '../../../api/api-client.ts';
import { randomKey } from '../../../api/random-key.ts';
import { createTabs } from '../../../api/tabs.ts';
import type { Accepted } from '../../../api/wire.ts';
import type { App } from '../../../state/app.ts';
import { DraftDesk } from './draft-desk.ts';
import { DRAFT_PREFIX } from './draft-prefix.ts';
import { createDraftStore, type DraftStore } from './draft-store.ts';
import { createSuggestions, type Suggestions } from './suggestions.ts';
import { outcomeOfFailure, type SaveOutcome, isUnsaved, type SaveAttempt } from './unit-draft.ts';
import { saveBody } from './update-bodies.ts';

type EditorAction = 'translation-task-update' | 'translation-proofread';

interface EditorSession {
  readonly desk: DraftDesk;
  readonly suggestions: Suggestions;
  /**
   * Sends an action.
   *
   * @throws ApiFailure
   */
  readonly act: (action: EditorAction, body: object) => Promise<Accepted>;
}

/** How long a person who leaves waits for texts that are being sent, milliseconds. */
const LAST_WAIT_MS = 5000;

const sessions = new WeakMap<App['api'], EditorSession>();

/** The session of the page; there is one, from the first use on. */
export function sessionOf(app: App): EditorSession {
  const known = sessions.get(app.api) ?? createSession(app);
  sessions.set(app.api, known);
  return known;
}

function createSession(app: App): EditorSession {
  const tab = randomKey();
  const store = createDraftStore({ storage: () => localStorage, tab });
  const desk = new DraftDesk({
    store,
    newKey: randomKey,
    send: async (unit, sent): Promise<SaveOutcome> => {
      try {
        const body = saveBody(unit, sent, personOf(app));
        const { result } = await send(app, 'translation-task-update', body, sent.key);
        return { kind: 'stored', at: app.now(), ...writtenOf(result, sent) };
      } catch (error) {
        return outcomeOfFailure(failureOf(error));
      }
    },
  });
  takeUpLeftDrafts(desk, store, tab);
  window.addEventListener('beforeunload', (event) => {
    if (desk.isUnkept.peek()) event.preventDefault();
  });
  app.beforeLeave(async () => await finish(desk));
  const suggestions = createSuggestions(app);
  let holder: string | null = null;
  effect(() => {
    const id = app.index()?.token.id ?? null;
    if (id === holder) return;
    holder = id;
    desk.identify(id);
    suggestions.forget();
  });
  return {
    desk,
    suggestions,
    act: async (action, body) => await send(app, action, body, randomKey()),
  };
}

function takeUpLeftDrafts(desk: DraftDesk, store: DraftStore, own: string): void {
  const tabs = createTabs({
    own,
    locks: navigator.locks,
    storage: () => localStorage,
    events: window,
  });
  const watch = (): void => {
    for (const tab of new Set(store.others().map((left) => left.tab)))
      tabs.whenEnded(tab, () => desk.adopt(tab));
  };
  watch();
  window.addEventListener('storage', ({ key, oldValue }) => {
    if (oldValue === null && key?.startsWith(DRAFT_PREFIX) === true) watch();
  });
}

/** Sends the open texts before the token is forgotten. @returns a note about texts that are not on the server; `null` without one */
async function finish(desk: DraftDesk): Promise<string | null> {
  const open = (): string[] => [...desk.drafts.peek().values()].filter(isUnsaved).map(({ unitId }) => unitId);
  desk.saveNow();
  await Promise.race([
    Promise.all(open().map(async (unitId) => await desk.settled(unitId))),
    new Promise((resolve) => setTimeout(resolve, LAST_WAIT_MS)),
  ]);
  const { length } = open();
  if (length === 0) return null;
  const what = length === 1 ? 'One text is' : `${length} texts are`;
  return desk.isUnkept.peek()
    ? `${what} not on the server, and this browser cannot keep all of them. Log in again before you close the page.`
    : `${what} not on the server. This browser keeps them until the same token logs in here again.`;
}

/** The name under which the person claims and decides: that of the token; empty until it is known. */
export function personOf(app: App): string {
  return app.index()?.token.id ?? '';
}

async function send(app: App, action: EditorAction, body: object, key: string): Promise<Accepted> {
  return await postAction(app, action, JSON.stringify(body), key);
}

function writtenOf(
  result: Accepted['result'],
  { revision, text }: SaveAttempt,
): { readonly revision: number; readonly state: string } {
  const written = writtenUnit(result);
  return {
    revision: written?.revision ?? revision,
    state: written?.state ?? (text === '' ? 'untranslated' : 'draft'),
  };
}

interface WrittenUnit {
  readonly revision?: number;
  readonly state?: string;
}

/** What an action about one unit has written. */
export function writtenUnit(result: Accepted['result']): WrittenUnit | undefined {
  return ((result?.['units'] ?? []) as readonly WrittenUnit[])[0];
}
