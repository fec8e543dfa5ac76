import { globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createTabs, type Tabs } from '../../../src/console/api/tabs.ts';
import { readRoute, writeRoute } from '../../../src/console/shell/address.ts';
import { matchEntries, type PaletteEntry } from '../../../src/console/shell/palette-entries.ts';
import { viewOf, VIEWS } from '../../../src/console/shell/views.ts';
import { Keyboard, type KeyPress } from '../../../src/console/state/keyboard.ts';
import { ThemeChoice } from '../../../src/console/state/theme.ts';
import { bestMatches } from '../../../src/console/text/match.ts';

describe('the address of a page', () => {
  it.each([
    ['#/tasks', { view: 'tasks', argument: null, query: {} }],
    ['#/tasks/01K?status=failed', { view: 'tasks', argument: '01K', query: { status: 'failed' } }],
    ['#/glossary/a%2Fb%3F?text=%E5%85%88+x', { view: 'glossary', argument: 'a/b?', query: { text: '先 x' } }],
    ['', { view: '', argument: null, query: {} }],
    ['#/tasks/%ZZ', { view: 'tasks', argument: '%ZZ', query: {} }],
  ])('is read: %s', (hash, route) => {
    expect(readRoute(hash)).toEqual(route);
  });

  it('is written as it is read, without empty choices', () => {
    const route = { view: 'glossary', argument: 'a/b?#&', query: { text: '先&=#', empty: '' } };
    expect(readRoute(writeRoute(route))).toEqual({ ...route, query: { text: '先&=#' } });
    expect(writeRoute({ view: 'tasks', argument: null, query: {} })).toBe('#/tasks');
  });

  it('opens its page, the overview without one, and says when there is no such page', async () => {
    for (const entry of VIEWS) expect(viewOf(readRoute(`#/${entry.id}`))).toBe(entry);
    expect(['', '#', '#/'].map((hash) => viewOf(readRoute(hash)).id)).toEqual(Array(3).fill('overview'));
    const unknown = viewOf(readRoute('#/nothing-here/x'));
    expect([unknown.title, VIEWS.includes(unknown)]).toEqual(['There is no such page', false]);
    expect((await unknown.load()).Body({})).toBeNull();
  });
});

/** The locks of a browser: the next request in the queue runs when the previous one has ended. */
function browserLocks() {
  const queues = new Map<string, Promise<unknown>>();
  const ends = new Map<string, () => void>();
  const of = (tab: string): LockManager =>
    ({
      request: async (name: string, run: unknown) => {
        const before = queues.get(name) ?? Promise.resolve();
        const { promise: closed, resolve } = Promise.withResolvers<void>();
        if (!ends.has(tab)) ends.set(tab, resolve);
        const turn = before.then(async () => await Promise.race([closed, (run as () => unknown)()]));
        queues.set(name, turn);
        await turn;
      },
    }) as LockManager;
  return { of, end: (tab: string) => ends.get(tab)?.() };
}

function memory(): Storage {
  const items = new Map<string, string>();
  return {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
  } as Storage;
}

describe('the tabs of a browser', () => {
  it('learn when another one has ended, one after another', async () => {
    const locks = browserLocks();
    const make = (own: string): Tabs =>
      createTabs({ own, locks: locks.of(own), storage: memory, events: new EventTarget() as Window });
    make('a');
    const told: string[] = [];
    for (const own of ['b', 'c']) {
      const tabs = make(own);
      tabs.whenEnded('a', () => told.push(own));
      tabs.whenEnded(own, () => told.push('itself'));
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(told).toEqual([]);
    locks.end('a');
    await new Promise((resolve) => setImmediate(resolve));
    expect(told).toEqual(['b', 'c']);
  });

  it('know it without locks, too, from tabs that close and from those that fall silent', () => {
    const storage = memory();
    let now = 0;
    const beats: Array<() => void> = [];
    const make = (own: string): { tabs: Tabs; events: EventTarget; beat: () => void } => {
      const events = new EventTarget();
      const tabs = createTabs({
        own,
        locks: undefined,
        storage: () => storage,
        events: events as Window,
        now: () => now,
        timers: { setInterval: (run: () => void) => beats.push(run) } as unknown as typeof globalThis,
      });
      return { tabs, events, beat: beats.at(-1) ?? (() => undefined) };
    };
    const [closed, silent, own] = [make('closed'), make('silent'), make('own')];
    const told: string[] = [];
    for (const tab of ['closed', 'silent', 'own']) own.tabs.whenEnded(tab, () => told.push(tab));
    own.beat();
    expect(told).toEqual([]);
    closed.events.dispatchEvent(new Event('pagehide'));
    now = 100_000;
    silent.beat();
    own.beat();
    expect(told).toEqual(['closed']);
    now = 300_000;
    own.beat();
    expect(told).toEqual(['closed', 'silent']);
  });
});

describe('the theme of the page', () => {
  it('follows the system until the reader chooses, and keeps the choice', () => {
    const kept = new Map<string, string>();
    const storage = (): Storage =>
      ({
        getItem: (key) => kept.get(key) ?? null,
        setItem: (key, value) => void kept.set(key, value),
      }) as Storage;
    const root = { dataset: {} } as HTMLElement;
    const first = new ThemeChoice(storage, root);
    expect([first.theme.value, root.dataset]).toEqual(['system', {}]);
    first.choose('dark');
    expect([first.theme.value, root.dataset]).toEqual(['dark', { theme: 'dark' }]);
    const later = { dataset: {} } as HTMLElement;
    const second = new ThemeChoice(storage, later);
    expect(later.dataset).toEqual({ theme: 'dark' });
    second.choose('system');
    expect(later.dataset).toEqual({});
  });

  it('works without storage, and with a value that it does not know', () => {
    const root = { dataset: {} } as HTMLElement;
    const refusing = (): never => {
      throw new Error('SecurityError');
    };
    const choice = new ThemeChoice(refusing, root);
    choice.choose('light');
    expect(root.dataset).toEqual({ theme: 'light' });
    const odd = { getItem: (_key: string) => 'sepia' } as Storage;
    expect(new ThemeChoice(() => odd, { dataset: {} } as HTMLElement).theme.value).toBe('system');
  });
});

function press(change: Partial<KeyPress>): KeyPress {
  return {
    key: '',
    code: '',
    ctrlKey: false,
    metaKey: false,
    altKey: false,
    shiftKey: false,
    isComposing: false,
    isTyping: false,
    isInForm: false,
    ...change,
  };
}

describe('the keys of a page', () => {
  it.each<[string, Partial<KeyPress>, boolean]>([
    ['j', { key: 'j', code: 'KeyJ' }, true],
    ['j', { key: 'J', code: 'KeyJ', shiftKey: true }, false],
    ['Shift+j', { key: 'J', code: 'KeyJ', shiftKey: true }, true],
    ['?', { key: '?', code: 'Slash', shiftKey: true }, true],
    ['j', { key: 'j', code: 'KeyJ', isTyping: true }, false],
    ['Control+k', { key: 'k', code: 'KeyK', ctrlKey: true, isTyping: true }, true],
    ['Control+k', { key: 'k', code: 'KeyK', metaKey: true }, true],
    ['Control+Enter', { key: 'Enter', code: 'Enter', ctrlKey: true, isTyping: true }, true],
    ['Control+Enter', { key: 'Enter', code: 'Enter', ctrlKey: true, isComposing: true }, false],
    // On a Mac, Alt and a digit make another character.
    ['Alt+1', { key: '¡', code: 'Digit1', altKey: true, isTyping: true }, true],
    // The place of a key does not count without Alt.
    ['2', { key: 'é', code: 'Digit2' }, false],
  ])('%s is pressed by %o: %s', (keys, event, runs) => {
    const keyboard = new Keyboard();
    let count = 0;
    keyboard.add([{ keys, text: 'counts', run: () => (count += 1) }]);
    expect([keyboard.press(press(event)), count]).toEqual([runs, runs ? 1 : 0]);
  });

  it('rest in a form, so that its reason does not decide something else; the search works there, too', () => {
    const keyboard = new Keyboard();
    const pressed: string[] = [];
    keyboard.add([
      { keys: 'Control+Enter', text: 'Accept', run: () => pressed.push('accept') },
      { keys: 'Control+k', text: 'Search', run: () => pressed.push('search'), worksInForms: true },
    ]);
    const inForm = { ctrlKey: true, isTyping: true, isInForm: true };
    expect(keyboard.press(press({ ...inForm, key: 'Enter' }))).toBe(false);
    expect(keyboard.press(press({ ...inForm, key: 'k' }))).toBe(true);
    expect(pressed).toEqual(['search']);
  });

  it('rest on the buttons of a form, too, and Control+Enter there belongs to the form', () => {
    const keyboard = new Keyboard();
    keyboard.add([{ keys: 'Control+Enter', text: 'Accept', run: () => undefined }]);
    expect(keyboard.press(press({ key: 'Enter', ctrlKey: true, isInForm: true }))).toBe(false);
  });

  it.each<[string, Partial<KeyPress>, boolean]>([
    ['ç is text', { key: 'ç', code: 'KeyC', altKey: true, isTyping: true }, false],
    ['the accent of ñ is text', { key: 'Dead', code: 'KeyN', altKey: true, isTyping: true }, false],
    ['Option moves the caret', { key: 'ArrowDown', code: 'ArrowDown', altKey: true, isTyping: true }, false],
    ['Control and Option', { key: 'ç', code: 'KeyC', altKey: true, ctrlKey: true, isTyping: true }, true],
    ['a list has no text', { key: 'ç', code: 'KeyC', altKey: true }, true],
  ])('on a Mac: %s', (_what, event, runs) => {
    const keyboard = new Keyboard(true);
    keyboard.add([
      { keys: 'Alt+c', text: 'Copy', run: () => undefined },
      { keys: 'Alt+n', text: 'Next', run: () => undefined },
      { keys: 'Alt+ArrowDown', text: 'Down', run: () => undefined },
    ]);
    expect(keyboard.press(press(event))).toBe(runs);
    const plain = new Keyboard();
    const names = ['Control+Enter', 'Alt+ArrowDown', 'j', '?'].map((keys) => plain.nameOf(keys));
    expect([keyboard.nameOf('Alt+c'), ...names]).toEqual(['Ctrl Option C', 'Ctrl Enter', 'Alt ↓', 'j', '?']);
  });

  it('belong to the page while it is shown, and the last ones win', () => {
    const keyboard = new Keyboard();
    const pressed: string[] = [];
    keyboard.add([{ keys: 'j', text: 'of the frame', run: () => pressed.push('frame') }]);
    const remove = keyboard.add([{ keys: 'j', text: 'of the page', run: () => pressed.push('page') }]);
    keyboard.press(press({ key: 'j' }));
    remove();
    keyboard.press(press({ key: 'j' }));
    expect(pressed).toEqual(['page', 'frame']);
    expect(keyboard.keys.value.map(({ text }) => text)).toEqual(['of the frame']);
  });
});

const found = (query: string, texts: readonly string[]): readonly string[] =>
  bestMatches(texts, query, { textOf: (text) => text, limit: 3 });

const entry = (kind: string, text: string): PaletteEntry => ({ id: text, kind, text, open: () => undefined });

describe('the palette finds', () => {
  it('an action before its tasks, also those that were opened last', () => {
    const task = entry('Task', 'sync succeeded 01K');
    const others = [
      entry('Action', 'Repair and sync'),
      entry('Page', 'Tasks'),
      task,
      entry('Task', 'sync failed 01J'),
    ];
    expect(matchEntries([task], others, 'sync').map(({ text }) => text)).toEqual([
      'Repair and sync',
      'sync succeeded 01K',
      'sync failed 01J',
    ]);
    expect(matchEntries([task], others, ' ')[0]).toBe(task);
  });

  it('every word, and the begin of a word before its middle', () => {
    expect(found('pub', ['Republish', 'Localized publish', 'Publish', 'Sync'])).toEqual([
      'Publish',
      'Localized publish',
      'Republish',
    ]);
    expect(found('loc roll', ['Localized publish', 'Localized rollback'])).toEqual(['Localized rollback']);
  });

  it('everything for an empty query, up to the limit and in order', () => {
    expect(found(' ', ['c', 'b', 'a', 'd'])).toEqual(['c', 'b', 'a']);
  });

  it('texts of other scripts', () => {
    expect(found('先生', ['大切な先生', '生徒'])).toEqual(['大切な先生']);
  });
});

const ROOT = resolve(import.meta.dirname, '../../..');
const GALLERY = 'test/unit/console/gallery';
const COMPONENTS = ['src/console/components/**/*.tsx', 'src/console/charts/**/*.tsx'];

/** The modules of this repository that a module imports. */
function importsOf(file: string): readonly string[] {
  const text = readFileSync(join(ROOT, file), 'utf8').replaceAll(/^import type [^;]*;/gm, '');
  return [...text.matchAll(/\bfrom '(\.[^']+)'/g)].map(([, path = '']) => join(dirname(file), path));
}

describe('the gallery of the components', () => {
  const components = new Set(COMPONENTS.flatMap((pattern) => globSync(pattern, { cwd: ROOT })));
  const view = `${GALLERY}/components-view.tsx`;

  it('draws every component and every chart, by itself or as a part of another one', () => {
    expect(components.size).toBeGreaterThan(25);
    const drawn = [view];
    // The list grows while it is walked.
    for (const file of drawn) {
      const next = importsOf(file).filter((each) => components.has(each) || each.startsWith(GALLERY));
      drawn.push(...next.filter((each) => !drawn.includes(each)));
    }
    expect([...components].filter((file) => !drawn.includes(file))).toEqual([]);
  });

  it('lists every sample', () => {
    const listed = importsOf(view);
    const samples = globSync(`${GALLERY}/*-sample.tsx`, { cwd: ROOT });
    expect(samples.filter((file) => !listed.includes(file))).toEqual([]);
  });
});
