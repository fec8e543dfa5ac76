/** The work of one person in this tab. It outlives the pages and a lost login, so that no text depends on the page that is shown. */

import { effect, signal, type ReadonlySignal } from '@preact/signals';
import { postAction } from '../../../actions/post-action.ts';
import { failureOf } from '../../../api/api-client.ts';
import { attempt } from '../../../api/attempt.ts';
import { randomKey } from '../../../api/random-key.ts';
import { createTabs } from '../../../api/tabs.ts';
import type { Accepted } from '../../../api/wire.ts';
import type { App } from '../../../state/app.ts';
import { DraftDesk } from './draft-desk.ts';
import { DRAFT_PREFIX } from './draft-prefix.ts';
import { createDraftStore, type DraftStore } from './draft-store.ts';
import { outcomeOfFailure, type SaveOutcome, isUnsaved, type SaveAttempt } from './unit-draft.ts';
import { CLAIM_SECONDS, saveBody } from './update-bodies.ts';

type EditorAction = 'translation-task-update' | 'translation-proofread';

interface EditorSession {
  readonly desk: DraftDesk;
  /** The name under which the person claims and reviews; empty when nobody has given one. Each token has its own. */
  readonly person: ReadonlySignal<string>;
  readonly setPerson: (name: string) => void;
  /** The name under which a unit is claimed: the same as long as a claim lasts, also when the person changes the name. */
  readonly claimant: (unitId: string) => string;
  /**
   * Sends an action.
   *
   * @throws ApiFailure
   */
  readonly act: (action: EditorAction, body: object) => Promise<Accepted>;
}

/** Begins the key of the name that belongs to a token. */
const PERSON_PREFIX = 'slipway.person.';
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
  const names = createNames();
  const tab = randomKey();
  const store = createDraftStore({ storage: () => localStorage, tab });
  const claims = new Map<string, { readonly owner: string; readonly until: number }>();
  const claimant = (unitId: string): string => {
    const claim = claims.get(unitId);
    return claim !== undefined && claim.until > app.now() ? claim.owner : personOf(app);
  };
  const claimed = (unitId: string, owner: string): void => {
    for (const [id, { until }] of claims) if (until <= app.now()) claims.delete(id);
    claims.set(unitId, { owner, until: app.now() + CLAIM_SECONDS });
  };
  const desk = new DraftDesk({
    store,
    newKey: randomKey,
    send: async (unit, sent): Promise<SaveOutcome> => {
      try {
        const owner = claimant(unit.unitId);
        const { result } = await send(app, 'translation-task-update', saveBody(unit, sent, owner), sent.key);
        claimed(unit.unitId, owner);
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
  let holder: string | null = null;
  effect(() => {
    const id = app.index()?.token.id ?? null;
    if (id === holder) return;
    holder = id;
    claims.clear();
    names.choose(id);
    desk.identify(id);
  });
  return {
    desk,
    person: names.name,
    setPerson: names.set,
    claimant,
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

function createNames(): {
  readonly name: ReadonlySignal<string>;
  readonly set: (name: string) => void;
  readonly choose: (tokenId: string | null) => void;
} {
  const name = signal('');
  let key: string | null = null;
  const read = (): void => {
    const of = key;
    name.value = of === null ? '' : (attempt(() => localStorage.getItem(of)) ?? '');
  };
  window.addEventListener('storage', (event) => {
    if (event.key !== null && event.key === key) read();
  });
  return {
    name,
    set: (given) => {
      name.value = given;
      const of = key;
      if (of !== null) attempt(() => localStorage.setItem(of, given));
    },
    choose: (tokenId) => {
      key = tokenId === null ? null : PERSON_PREFIX + tokenId;
      read();
    },
  };
}

/** The name of the person, otherwise that of the token. A component that reads it is drawn again when it changes. */
export function personOf(app: App): string {
  const given = sessionOf(app).person.value.trim();
  return given === '' ? (app.index()?.token.id ?? '') : given;
}

async function send(app: App, action: EditorAction, body: object, key: string): Promise<Accepted> {
  return await postAction(app, action, JSON.stringify(body), key);
}

function writtenOf(
  result: Accepted['result'],
  { revision, text }: SaveAttempt,
): { readonly revision: number; readonly state: string } {
  const [first] = (result?.['units'] ?? []) as ReadonlyArray<{
    readonly revision?: number;
    readonly state?: string;
  }>;
  return {
    revision: first?.revision ?? revision,
    state: first?.state ?? (text === '' ? 'untranslated' : 'draft'),
  };
}
