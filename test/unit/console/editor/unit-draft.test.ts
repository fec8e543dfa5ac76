import { describe, expect, it } from 'vitest';
import {
  cleanDraft,
  isUnsaved,
  nextDraft,
  type DraftEvent,
  type UnitBase,
  type UnitDraft,
} from '../../../../src/console/translate/editor/unit-draft.ts';

const BASE: UnitBase = { revision: 3, source: 'はい', target: 'Yes' };

function after(...events: readonly DraftEvent[]): UnitDraft {
  return events.reduce(nextDraft, cleanDraft('tt', 'u', BASE));
}

const typed = (text: string): DraftEvent => ({ kind: 'typed', text });
const sent = (key = 'k1'): DraftEvent => ({ kind: 'sent', key });
const stored = (revision: number): DraftEvent => ({ kind: 'stored', revision, at: 100, state: 'draft' });
const refused = (code: string): DraftEvent => ({ kind: 'refused', code, detail: 'no' });
const delayed: DraftEvent = { kind: 'delayed', reason: 'offline', message: 'no answer' };
const seen = (change: Partial<UnitBase>): DraftEvent => ({ kind: 'seen', server: { ...BASE, ...change } });

describe('the draft of a unit', () => {
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
