import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiFailure } from '../../../src/console/api/api-client.ts';
import {
  DraftDesk,
  LONGEST_WAIT_MS,
  PAUSE_MS,
  retryWait,
} from '../../../src/console/translate/editor/draft/draft-desk.ts';
import type { App } from '../../../src/console/state/app.ts';
import { createSuggestions } from '../../../src/console/translate/editor/draft/suggestions.ts';
import type { Unit } from '../../../src/console/translate/editor/unit.ts';
import { createDraftStore } from '../../../src/console/translate/editor/draft/draft-store.ts';
import { linesInBox } from '../../../src/console/translate/editor/unit/game-box.tsx';
import {
  fieldOffset,
  fromField,
  sizeOf,
  toField,
} from '../../../src/console/translate/editor/unit/target-field.tsx';
import {
  outcomeOfFailure,
  type SaveOutcome,
  cleanDraft,
  isUnsaved,
  nextDraft,
  type DraftEvent,
  type SaveAttempt,
  type UnitBase,
  type UnitDraft,
} from '../../../src/console/translate/editor/draft/unit-draft.ts';

const U1 = { taskId: 'tt_1', unitId: 'u1' };
const U2 = { taskId: 'tt_1', unitId: 'u2' };

function memoryStorage(limit = Infinity): Storage {
  const items = new Map<string, string>();
  return {
    get length() {
      return items.size;
    },
    key: (at) => [...items.keys()][at] ?? null,
    getItem: (key) => items.get(key) ?? null,
    removeItem: (key) => void items.delete(key),
    setItem: (key, value) => {
      if (value.length > limit) throw new Error('QuotaExceededError');
      items.set(key, value);
    },
  } as Storage;
}

interface Sent {
  readonly unitId: string;
  readonly attempt: SaveAttempt;
  readonly answer: (outcome: SaveOutcome) => void;
}

function makeDesk(
  storage = memoryStorage(),
  tab = 'tab-1',
  author = 'kana',
): { desk: DraftDesk; sent: Sent[] } {
  const sent: Sent[] = [];
  let keys = 0;
  const desk = new DraftDesk({
    send: async ({ unitId }, attempt) =>
      await new Promise((answer) => {
        sent.push({ unitId, attempt, answer });
      }),
    store: createDraftStore({ storage: () => storage, tab }),
    newKey: () => `${tab}-${(keys += 1)}`,
  });
  desk.identify(author);
  return { desk, sent };
}

const offline: SaveOutcome = { kind: 'delayed', reason: 'offline', message: 'x', retryAfter: null };

async function pass(milliseconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(milliseconds);
}

describe('drafts on their way to the server', () => {
  const BASE = { revision: 1, source: 'はい', target: 'Yes' };

  const stored = (revision: number): SaveOutcome => ({ kind: 'stored', revision, at: 9, state: 'draft' });

  describe('the desk of drafts', () => {
    beforeEach(() => {
      vi.useFakeTimers();
    });
    afterEach(() => {
      vi.useRealTimers();
    });

    const phase = (desk: DraftDesk, unitId: string): string | undefined =>
      desk.drafts.value.get(unitId)?.phase.kind;

    it('sends a text when the person pauses, once', async () => {
      const { desk, sent } = makeDesk();
      desk.see(U1, BASE);
      desk.type(U1, 'Y');
      await pass(PAUSE_MS - 1);
      desk.type(U1, 'Ye');
      await pass(PAUSE_MS - 1);
      expect(sent).toHaveLength(0);
      await pass(1);
      expect(sent.map(({ attempt }) => [attempt.text, attempt.revision])).toEqual([['Ye', 1]]);
      sent[0]?.answer(stored(2));
      await pass(60_000);
      expect([sent.length, phase(desk, 'u1')]).toEqual([1, 'saved']);
    });

    it('sends a text that is typed without a pause after a while', async () => {
      const { desk, sent } = makeDesk();
      desk.see(U1, BASE);
      for (let typed = 0; typed < LONGEST_WAIT_MS / 500 + 1; typed += 1) {
        desk.type(U1, `text ${typed}`);
        await pass(500);
      }
      expect(sent).toHaveLength(1);
    });

    it('has one text of a task on its way at a time, and sends the others after it', async () => {
      const { desk, sent } = makeDesk();
      desk.see(U1, BASE);
      desk.see(U2, BASE);
      desk.type(U1, 'a');
      desk.type(U2, 'b');
      desk.saveNow();
      await pass(0);
      await pass(60_000);
      expect(sent.map(({ unitId }) => unitId)).toEqual(['u1']);
      sent[0]?.answer(stored(2));
      await pass(0);
      expect(sent.map(({ unitId }) => unitId)).toEqual(['u1', 'u2']);
    });

    it('sends the text that was typed meanwhile behind it, with the new revision', async () => {
      const { desk, sent } = makeDesk();
      desk.see(U1, BASE);
      desk.type(U1, 'a');
      await pass(PAUSE_MS);
      desk.type(U1, 'ab');
      sent[0]?.answer(stored(7));
      await pass(PAUSE_MS);
      expect(sent[1]?.attempt).toMatchObject({ text: 'ab', revision: 7 });
      expect(sent[1]?.attempt.key).not.toBe(sent[0]?.attempt.key);
    });

    it('repeats a text that got no answer with the same key, ever more slowly', async () => {
      const { desk, sent } = makeDesk();
      desk.see(U1, BASE);
      desk.type(U1, 'a');
      await pass(PAUSE_MS);
      for (const wait of [1000, 2000, 4000]) {
        sent.at(-1)?.answer(offline);
        await pass(wait - 1);
        const before = sent.length;
        await pass(1);
        expect(sent.length).toBe(before + 1);
      }
      expect(new Set(sent.map(({ attempt }) => attempt.key)).size).toBe(1);
      expect([retryWait(20, null), retryWait(1, 45), retryWait(1, 86_400)]).toEqual([
        30_000, 45_000, 600_000,
      ]);
    });

    it('waits as long as the server asks, for all units', async () => {
      const { desk, sent } = makeDesk();
      desk.see(U1, BASE);
      desk.see(U2, BASE);
      desk.type(U1, 'a');
      await pass(PAUSE_MS);
      desk.type(U2, 'b');
      sent[0]?.answer({ kind: 'delayed', reason: 'busy', message: 'x', retryAfter: 45 });
      await pass(44_999);
      expect(sent).toHaveLength(1);
      await pass(1);
      expect(sent).toHaveLength(2);
    });

    it('stops at a lost login, and continues after the next one', async () => {
      const { desk, sent } = makeDesk();
      desk.see(U1, BASE);
      desk.type(U1, 'a');
      await pass(PAUSE_MS);
      sent[0]?.answer({ kind: 'delayed', reason: 'login', message: 'x', retryAfter: null });
      await pass(3_600_000);
      expect([sent.length, phase(desk, 'u1')]).toEqual([1, 'waiting']);
      desk.identify('kana');
      await pass(0);
      expect(sent[1]?.attempt).toEqual(sent[0]?.attempt);
    });

    it('continues when the next login was there before the refusal of the last one', async () => {
      const { desk, sent } = makeDesk();
      desk.see(U1, BASE);
      desk.type(U1, 'a');
      await pass(PAUSE_MS);
      desk.identify(null);
      desk.identify('kana');
      sent[0]?.answer({ kind: 'delayed', reason: 'login', message: 'x', retryAfter: null });
      await pass(10_000);
      expect(sent[1]?.attempt).toEqual(sent[0]?.attempt);
    });

    it('does not send a conflict until the person decides', async () => {
      const { desk, sent } = makeDesk();
      desk.see(U1, BASE);
      desk.type(U1, 'mine');
      await pass(PAUSE_MS);
      sent[0]?.answer({ kind: 'refused', code: 'revision_changed', detail: 'x' });
      await pass(0);
      desk.see(U1, { revision: 4, source: 'はい', target: 'theirs' });
      await pass(600_000);
      expect(sent).toHaveLength(1);
      desk.choose('u1', 'mine');
      await pass(0);
      expect(sent[1]?.attempt).toMatchObject({ text: 'mine', revision: 4 });
    });

    it('gives unsent texts to the next page, which sends them with their keys', async () => {
      const storage = memoryStorage();
      const first = makeDesk(storage);
      first.desk.see(U1, BASE);
      first.desk.see(U2, BASE);
      first.desk.type(U1, 'sent, no answer');
      await pass(PAUSE_MS);
      first.desk.type(U2, 'not sent');
      first.desk.identify(null);
      const { desk, sent } = makeDesk(storage, 'tab-2');
      // The unit may be shown before the old page has ended.
      desk.see(U1, BASE);
      desk.adopt('tab-1');
      await pass(PAUSE_MS);
      expect(sent[0]?.attempt).toEqual(first.sent[0]?.attempt);
      sent[0]?.answer(stored(2));
      await pass(PAUSE_MS);
      expect(sent[1]?.attempt).toMatchObject({ text: 'not sent', revision: 1 });
      sent[1]?.answer(stored(2));
      await pass(0);
      expect(storage.length).toBe(0);
    });

    it('keeps the drafts of two tabs of one unit apart, and follows with that of the ended one', async () => {
      const storage = memoryStorage();
      const other = makeDesk(storage, 'tab-2');
      const { desk, sent } = makeDesk(storage);
      for (const each of [other.desk, desk]) each.see(U1, BASE);
      other.desk.type(U1, 'theirs');
      desk.type(U1, 'mine');
      expect(storage.length).toBe(2);
      other.desk.identify(null);
      desk.adopt('tab-2');
      expect([desk.drafts.value.get('u1')?.text, storage.length]).toEqual(['mine', 2]);
      await pass(PAUSE_MS);
      sent[0]?.answer(stored(2));
      await pass(0);
      // Its revision is that of its own begin, so that it cannot replace the text that was stored since.
      expect(sent[1]?.attempt).toMatchObject({ text: 'theirs', revision: 1 });
      sent[1]?.answer({ kind: 'refused', code: 'revision_changed', detail: 'x' });
      await pass(0);
      desk.see(U1, { ...BASE, revision: 2, target: 'mine' });
      expect([phase(desk, 'u1'), storage.length]).toEqual(['conflict', 1]);
    });

    it('keeps the decision that a draft waits for over a reload', async () => {
      const storage = memoryStorage();
      const first = makeDesk(storage);
      first.desk.see(U1, BASE);
      first.desk.type(U1, 'mine');
      await pass(PAUSE_MS);
      first.sent[0]?.answer({ kind: 'refused', code: 'lease_held', detail: 'momoi holds it' });
      await pass(0);
      first.desk.identify(null);
      const { desk, sent } = makeDesk(storage, 'tab-2');
      desk.adopt('tab-1');
      await pass(600_000);
      expect(sent).toEqual([]);
      expect(desk.drafts.value.get('u1')).toMatchObject({
        text: 'mine',
        phase: { kind: 'conflict', conflict: { code: 'lease_held' } },
      });
    });

    it('sends nothing under another token, and continues when its own is back', async () => {
      const storage = memoryStorage();
      const first = makeDesk(storage);
      first.desk.see(U1, BASE);
      first.desk.type(U1, 'of kana');
      first.desk.identify(null);
      const { desk, sent } = makeDesk(storage, 'tab-2', 'rin');
      desk.adopt('tab-1');
      desk.type(U1, 'rin cannot change it');
      await pass(600_000);
      expect(sent).toEqual([]);
      expect(desk.drafts.value.get('u1')).toMatchObject({
        text: 'of kana',
        phase: { kind: 'conflict', conflict: { code: 'other_author' } },
      });
      desk.identify(null);
      desk.identify('kana');
      await pass(PAUSE_MS);
      expect(sent.map(({ attempt }) => attempt.text)).toEqual(['of kana']);
    });

    it('sends the text of another token when the person takes it over, compared with what it was written for', async () => {
      const storage = memoryStorage();
      const first = makeDesk(storage);
      first.desk.see(U1, BASE);
      first.desk.type(U1, 'of kana');
      first.desk.identify(null);
      const { desk, sent } = makeDesk(storage, 'tab-2', 'rin');
      desk.adopt('tab-1');
      const newer = { ...BASE, revision: 3, target: 'of momoi' };
      desk.see(U1, newer);
      desk.choose('u1', 'mine');
      desk.see(U1, newer);
      expect(desk.drafts.value.get('u1')).toMatchObject({
        author: 'rin',
        phase: { kind: 'conflict', conflict: { code: 'revision_changed', theirs: newer } },
      });
      desk.choose('u1', 'mine');
      await pass(0);
      expect(sent[0]?.attempt).toMatchObject({ text: 'of kana', revision: 3 });
    });

    it('does not take the text of a token that left while it was on its way for that of the next one', async () => {
      const { desk, sent } = makeDesk();
      desk.see(U1, BASE);
      desk.type(U1, 'of kana');
      await pass(PAUSE_MS);
      desk.identify(null);
      desk.identify('rin');
      sent[0]?.answer({ kind: 'delayed', reason: 'login', message: 'x', retryAfter: null });
      await pass(600_000);
      expect(sent).toHaveLength(1);
      expect(phase(desk, 'u1')).toBe('conflict');
    });

    it('forgets units without an unsaved text, and no other ones', () => {
      const { desk } = makeDesk();
      desk.see(U1, BASE);
      desk.type(U1, 'mine');
      for (let unit = 0; unit < 1000; unit += 1) desk.see({ taskId: 'tt_1', unitId: `v${unit}` }, BASE);
      expect(desk.drafts.value.size).toBeLessThan(400);
      expect(desk.drafts.value.get('u1')?.text).toBe('mine');
      desk.identify(null);
    });

    it('says when the browser keeps no more, and still saves', async () => {
      const { desk, sent } = makeDesk(memoryStorage(300));
      desk.see(U1, BASE);
      desk.type(U1, 'x'.repeat(400));
      expect(desk.isUnkept.value).toBe(true);
      await pass(PAUSE_MS);
      sent[0]?.answer(stored(2));
      await pass(0);
      expect([desk.isUnkept.value, phase(desk, 'u1')]).toEqual([false, 'saved']);
    });

    it('reads nothing that another program wrote into the storage', () => {
      const storage = memoryStorage();
      for (const [at, text] of ['', '{', 'null', '[]', '{"taskId":"tt_1","unitId":"u","text":7}'].entries())
        storage.setItem(`slipway.draft.${at}`, text);
      expect(createDraftStore({ storage: () => storage, tab: 't' }).others()).toEqual([]);
      const off = createDraftStore({
        storage: () => {
          throw new Error('off');
        },
        tab: 't',
      });
      expect(off.others()).toEqual([]);
    });

    it('says so as long as the browser keeps one of the texts not', async () => {
      const { desk, sent } = makeDesk(memoryStorage(400));
      desk.see(U1, BASE);
      desk.see(U2, BASE);
      desk.type(U1, 'x'.repeat(500));
      desk.type(U2, 'short');
      expect(desk.isUnkept.value).toBe(true);
      await pass(PAUSE_MS);
      sent[0]?.answer(stored(2));
      await pass(0);
      expect(desk.isUnkept.value).toBe(false);
    });

    it('tells immediately that a unit cannot be settled while nothing is sent', async () => {
      const { desk, sent } = makeDesk();
      desk.see(U1, BASE);
      desk.see(U2, BASE);
      desk.type(U1, 'a');
      await pass(PAUSE_MS);
      desk.type(U2, 'b');
      const waiting = desk.settled('u2');
      sent[0]?.answer({ kind: 'delayed', reason: 'busy', message: 'x', retryAfter: 600 });
      await pass(0);
      expect(await waiting).toBeNull();
      expect(await desk.settled('u2')).toBeNull();
    });

    it('tells when a unit is settled', async () => {
      const { desk, sent } = makeDesk();
      desk.see(U1, BASE);
      expect((await desk.settled('u1'))?.phase.kind).toBe('clean');
      desk.type(U1, 'a');
      const waiting = desk.settled('u1');
      await pass(0);
      sent[0]?.answer(stored(2));
      expect((await waiting)?.phase.kind).toBe('saved');
    });
  });

  describe('a failure to save', () => {
    const failure = (status: number, problem: object = {}): ApiFailure =>
      new ApiFailure('why', { status, problem, retryAfter: null });

    it('is passing when nobody answers, or the server is busy or wants another login', () => {
      const reasons = [failure(0), failure(401), failure(429), failure(503), failure(502)].map((each) => {
        const outcome = outcomeOfFailure(each);
        return outcome.kind === 'delayed' ? outcome.reason : outcome.kind;
      });
      expect(reasons).toEqual(['offline', 'login', 'busy', 'busy', 'busy']);
    });

    it('is a matter for a person when the daemon refuses', () => {
      const rejected = (status: number, code: string): SaveOutcome =>
        outcomeOfFailure(failure(502, { code: 'daemon_rejected', daemon: { status, code } }));
      expect(rejected(409, 'revision_changed')).toMatchObject({ kind: 'refused', code: 'revision_changed' });
      expect(rejected(409, 'data_full')).toMatchObject({ kind: 'delayed' });
      expect(rejected(503, 'backend_unavailable')).toMatchObject({ kind: 'delayed' });
      expect(outcomeOfFailure(failure(400, { code: 'invalid_request' }))).toMatchObject({
        kind: 'refused',
        code: 'invalid_request',
      });
      expect(outcomeOfFailure(failure(403, { code: 'scope_missing' }))).toMatchObject({
        code: 'scope_missing',
      });
    });
  });
});

const typed = (text: string): DraftEvent => ({ kind: 'typed', text });
const sent = (key = 'k1'): DraftEvent => ({ kind: 'sent', key });

const refused = (code: string): DraftEvent => ({ kind: 'refused', code, detail: 'no' });
const delayed: DraftEvent = { kind: 'delayed', reason: 'offline', message: 'no answer' };

describe('the draft of a unit', () => {
  const BASE: UnitBase = { revision: 3, source: 'はい', target: 'Yes' };

  function after(...events: readonly DraftEvent[]): UnitDraft {
    return events.reduce(nextDraft, cleanDraft('tt', 'u', BASE));
  }

  const stored = (revision: number): DraftEvent => ({ kind: 'stored', revision, at: 100, state: 'draft' });

  const seen = (change: Partial<UnitBase>): DraftEvent => ({ kind: 'seen', server: { ...BASE, ...change } });

  it('is clean until its text differs, and again when it does not', () => {
    expect(after().phase.kind).toBe('clean');
    expect(after(typed('Yep')).phase.kind).toBe('edited');
    expect(after(typed('Yep'), typed('Yes')).phase.kind).toBe('clean');
  });

  it('is saved with the revision that the next text expects', () => {
    const draft = after(typed('Yep'), sent(), stored(4));
    expect(draft).toMatchObject({ phase: { kind: 'saved', at: 100 }, base: { revision: 4, target: 'Yep' } });
    expect(nextDraft(nextDraft(draft, typed('Yeah')), sent('k2')).attempt).toMatchObject({
      key: 'k2',
      revision: 4,
      text: 'Yeah',
    });
  });

  it('is edited again when it was typed on while it was sent', () => {
    const draft = after(typed('Yep'), sent(), typed('Yep!'), stored(4));
    expect(draft).toMatchObject({ text: 'Yep!', phase: { kind: 'edited' }, base: { target: 'Yep' } });
  });

  it('sends the same text with the same key until there is an answer', () => {
    const draft = after(typed('Yep'), sent('k1'), delayed, typed('Yeah'), sent('k2'));
    expect(draft.attempt).toMatchObject({ key: 'k1', text: 'Yep', revision: 3 });
    expect(draft.text).toBe('Yeah');
    expect(isUnsaved(draft)).toBe(true);
  });

  it('follows the server while nothing is typed', () => {
    expect(after(seen({ revision: 4, target: 'Aye' }))).toMatchObject({
      text: 'Aye',
      phase: { kind: 'clean' },
      base: { revision: 4 },
    });
  });

  it('keeps the typed text when someone else changes the target, and asks', () => {
    const draft = after(typed('Yep'), seen({ revision: 5, target: 'Aye' }));
    expect(draft).toMatchObject({
      text: 'Yep',
      phase: { kind: 'conflict', conflict: { code: 'revision_changed', theirs: { target: 'Aye' } } },
    });
    expect(nextDraft(draft, { kind: 'chosen', choice: 'theirs' })).toMatchObject({
      text: 'Aye',
      phase: { kind: 'clean' },
    });
    const mine = nextDraft(draft, { kind: 'chosen', choice: 'mine' });
    expect(mine).toMatchObject({ text: 'Yep', phase: { kind: 'edited' }, base: { revision: 5 } });
  });

  it('asks when the source has changed, also with an equal target', () => {
    const draft = after(typed('Yep'), seen({ source: 'いいえ', revision: 5 }));
    expect(draft.phase).toMatchObject({
      conflict: { code: 'source_mismatch', theirs: { source: 'いいえ' } },
    });
    const mine = nextDraft(draft, { kind: 'chosen', choice: 'mine' });
    expect(nextDraft(mine, sent()).attempt).toMatchObject({ source: 'いいえ', revision: 5 });
  });

  it('asks nothing when only the state of the unit has changed, or the server has the same text', () => {
    expect(after(typed('Yep'), seen({ revision: 9 }))).toMatchObject({
      text: 'Yep',
      phase: { kind: 'edited' },
      base: { revision: 9 },
    });
    expect(after(typed('Yep'), seen({ revision: 9, target: 'Yep' })).phase.kind).toBe('clean');
  });

  it('learns after a refusal what the server has', () => {
    const draft = after(typed('Yep'), sent(), refused('revision_changed'));
    expect(draft).toMatchObject({ attempt: null, phase: { conflict: { theirs: null } } });
    expect(nextDraft(draft, seen({ revision: 6, target: 'Aye' })).phase).toMatchObject({
      conflict: { theirs: { target: 'Aye' } },
    });
    expect(nextDraft(draft, seen({ revision: 6, target: 'Yep' })).phase.kind).toBe('clean');
  });

  it('is not sent again for what the server had before the refusal, and is for a newer state of the same text', () => {
    const draft = after(typed('Yep'), sent(), refused('revision_changed'), seen({}));
    expect(draft.phase.kind).toBe('conflict');
    expect(nextDraft(draft, seen({ revision: 4 }))).toMatchObject({
      text: 'Yep',
      phase: { kind: 'edited' },
      base: { revision: 4 },
    });
  });

  it('stays refused by a holder until a person decides, and is forced then', () => {
    const draft = after(typed('Yep'), sent(), refused('lease_held'), typed('Yep!'), seen({}));
    expect(draft.phase).toMatchObject({ kind: 'conflict', conflict: { code: 'lease_held' } });
    const forced = nextDraft(draft, { kind: 'chosen', choice: 'force' });
    expect(nextDraft(forced, sent('k2')).attempt).toMatchObject({ force: true, text: 'Yep!' });
    const again = nextDraft(draft, { kind: 'chosen', choice: 'retry' });
    expect(nextDraft(again, sent('k3')).attempt).toMatchObject({ force: false });
  });

  it('tries another text after a refusal of the text', () => {
    expect(after(typed('\ud800'), sent(), refused('invalid_request'), typed('Yep')).phase.kind).toBe(
      'edited',
    );
  });

  it('ignores what the server had before the last save', () => {
    const draft = after(typed('Yep'), sent(), stored(4), seen({ revision: 3, target: 'Yes' }));
    expect(draft).toMatchObject({ text: 'Yep', phase: { kind: 'saved' } });
  });

  it('never loses a typed text, whatever happens, unless the person takes the other text', () => {
    const events: readonly DraftEvent[] = [
      sent('x'),
      stored(7),
      delayed,
      refused('revision_changed'),
      refused('lease_held'),
      refused('qa_blocked'),
      seen({}),
      seen({ revision: 8, target: 'Aye' }),
      seen({ source: 'いいえ', revision: 2 }),
      { kind: 'chosen', choice: 'mine' },
      { kind: 'chosen', choice: 'force' },
      { kind: 'chosen', choice: 'retry' },
    ];
    let seed = 5;
    for (let round = 0; round < 3000; round += 1) {
      let draft = after(typed('TYPED'));
      for (let step = 0; step < 8; step += 1) {
        seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
        const event = events[seed % events.length];
        // An answer comes only to a text that was sent.
        const isAnswer = event !== undefined && ['stored', 'delayed', 'refused'].includes(event.kind);
        if (event === undefined || (isAnswer && draft.attempt === null)) continue;
        draft = nextDraft(draft, event);
        const isOnServer = draft.base.target === 'TYPED';
        if (isOnServer) break;
        expect(draft.text).toBe('TYPED');
        expect(isUnsaved(draft)).toBe(true);
      }
    }
  });
});

describe('the suggestions of a page', () => {
  const unit = (id: string, digest: string): Unit =>
    ({ unit_id: id, source_digest: digest }) as unknown as Unit;

  function page(results: readonly object[]) {
    const left = [...results];
    const app = {
      contract: { reports: [{ report: 'task.status', path: '/admin/task' }] },
      api: {
        control: async () => await Promise.resolve({ task_id: 't' }),
        read: async () => {
          const task = left.shift();
          return task instanceof Error ? await Promise.reject(task) : await Promise.resolve({ task });
        },
      },
    } as unknown as App;
    return createSuggestions(app, 0);
  }

  const done = (...suggestions: readonly object[]): object => ({
    status: 'succeeded',
    result: { suggestions },
  });

  it('are for the source that they translate, and forgotten with the token, also when they come late', async () => {
    const answer = done({ unit_id: 'u1', source_digest: 'd1', target_text: 'x' });
    const suggestions = page([answer, answer]);
    expect(await suggestions.ask('tt_1', 'u1')).toBe(1);
    expect(suggestions.for(unit('u1', 'd1'))?.target_text).toBe('x');
    expect(suggestions.for(unit('u1', 'd2'))).toBeUndefined();
    suggestions.forget();
    expect(suggestions.for(unit('u1', 'd1'))).toBeUndefined();
    const late = suggestions.ask('tt_1', 'u1');
    suggestions.forget();
    expect(await late).toBe(0);
    expect(suggestions.for(unit('u1', 'd1'))).toBeUndefined();
    expect(suggestions.state.value).toBe('idle');
  });

  it('arrive although a reading of their run fails', async () => {
    const answer = done({ unit_id: 'u1', source_digest: 'd1', target_text: 'x' });
    const suggestions = page([{ status: 'running' }, new ApiFailure('busy', { status: 503 }), answer]);
    expect(await suggestions.ask('tt_1', 'u1')).toBe(1);
  });

  it('fail at the unit that was asked for', async () => {
    const suggestions = page([{ status: 'failed', failure_reason: 'no money' }]);
    expect(await suggestions.ask('tt_1', 'u1')).toBe(0);
    expect(suggestions.state.value).toMatchObject({ unit: 'u1', failure: { message: 'no money' } });
  });
});

describe('the text of a field', () => {
  it('gets the line ends of the source back', () => {
    expect(fromField(toField('a\r\nb\rc\nd'), 'x\r\ny')).toBe('a\r\nb\r\nc\r\nd');
    expect(fromField('a\nb', 'x\ry')).toBe('a\rb');
    expect(fromField('a\nb', 'x')).toBe('a\nb');
  });

  it('has the places of findings one character earlier for each line end of two', () => {
    expect([0, 1, 3, 4].map((offset) => fieldOffset('a\r\nb', offset))).toEqual([0, 1, 2, 3]);
  });

  it('is counted in characters and lines as the checks do', () => {
    expect(sizeOf('😀\\nb<br>c\r\nd')).toEqual({ characters: 12, lines: 4 });
    expect(sizeOf('')).toEqual({ characters: 0, lines: 0 });
  });

  it('overflows its box behind the columns and the lines, without its tags', () => {
    const box = { columns: 8, lines: 2, font_width: 1 };
    expect(linesInBox('<b>先生、</b>ab!\r\nok<br>third', box)).toEqual([
      { fits: '先生、ab', over: '!' },
      { fits: 'ok', over: '' },
      { fits: '', over: 'third' },
    ]);
    // Ten letters of 0.8 columns fill the box exactly, and a combining mark takes no room.
    expect(linesInBox('abcdefghije\u0301', { ...box, font_width: 0.8 })).toEqual([
      { fits: 'abcdefghij', over: 'e\u0301' },
    ]);
    expect(linesInBox('a\u0301'.repeat(8), box)[0]?.over).toBe('');
    expect(linesInBox('very long\\nx', { ...box, columns: null, lines: 1 })).toEqual([
      { fits: 'very long', over: '' },
      { fits: '', over: 'x' },
    ]);
  });
});
