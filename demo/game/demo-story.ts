import type { DialogRow } from './dialog-row.ts';
import { dialogLine } from './dialog-line.ts';

/** The demo releases, oldest first. */
export const DEMO_RELEASE_IDS = [
  '1.67.412528-r89_demo',
  '1.67.412528-r90_demo',
  '1.67.412528-r91_demo',
] as const;

/** One of {@link DEMO_RELEASE_IDS}. */
export type DemoReleaseId = (typeof DEMO_RELEASE_IDS)[number];

/** The text of a release. */
export interface DemoStory {
  /** Lines by the name of their scene or table. */
  readonly scripts: ReadonlyMap<string, readonly DialogRow[]>;
  /** Scripts whose bundle was built again with another tool, so that its bytes differ although the text does not. */
  readonly rebuilt: ReadonlySet<string>;
}

/** How the lines of a release differ from those of the previous release. All other lines are the same. */
interface DemoChanges {
  inserted: number;
  /** Lines with the identity of an old line and another text. */
  changed: number;
  removed: number;
  /** Lines with the text of an old line and another identity, because their index in a list without ids is another one. */
  moved: number;
}

type LineEdit =
  | { readonly do: 'insert' | 'remove'; readonly script: string; readonly at: number; readonly count: number }
  | { readonly do: 'change'; readonly script: string; readonly at: number }
  | { readonly do: 'move'; readonly script: string; readonly from: number; readonly to: number };

/** Edits of lines, or of all scripts of a file. */
type Edit = LineEdit | { readonly do: 'add' | 'drop' | 'rebuild'; readonly script: string };

const COUNTS = { scenes: 119, tables: 60, archives: 12, archiveTables: 8, chapters: 6, chapterScenes: 2 };
/** Inserted lines have numbers from here on. */
const INSERTED_FROM = 500;

/**
 * The edits that lead from each release to the next one. Lines that an edit gives another index or another neighbour occur
 * once in their file: of a repeated line nobody could say which one it was.
 */
const EDITS: ReadonlyArray<readonly Edit[]> = [
  [
    { do: 'insert', script: 'scene/0003', at: 5, count: 2 },
    { do: 'insert', script: 'chapter/1/0', at: 4, count: 1 },
    { do: 'insert', script: 'archive/04/2', at: 0, count: 3 },
    { do: 'change', script: 'table/000', at: 2 },
    { do: 'change', script: 'strings', at: 7 },
    { do: 'change', script: 'database', at: 10 },
    { do: 'change', script: 'archive/02/3', at: 1 },
    { do: 'remove', script: 'dialog', at: 20, count: 2 },
    { do: 'remove', script: 'scene/0007', at: 3, count: 1 },
    { do: 'move', script: 'notes/list', from: 2, to: 7 },
    { do: 'move', script: 'scene/0010', from: 1, to: 9 },
    { do: 'add', script: 'scene/0119' },
    { do: 'drop', script: 'table/060' },
    { do: 'rebuild', script: 'chapter/3' },
  ],
  [
    { do: 'insert', script: 'database', at: 30, count: 4 },
    { do: 'insert', script: 'strings', at: 12, count: 2 },
    { do: 'insert', script: 'notes/list', at: 3, count: 1 },
    { do: 'insert', script: 'inner', at: 2, count: 1 },
    { do: 'change', script: 'chapter/0/1', at: 8 },
    { do: 'change', script: 'dialog', at: 15 },
    { do: 'change', script: 'notes/text', at: 0 },
    { do: 'change', script: 'scene/0003', at: 5 },
    { do: 'remove', script: 'chapter/2/0', at: 6, count: 2 },
    { do: 'remove', script: 'table/001', at: 4, count: 3 },
    { do: 'move', script: 'chapter/4/1', from: 9, to: 3 },
    { do: 'move', script: 'table/002', from: 0, to: 7 },
    { do: 'add', script: 'chapter/6' },
    { do: 'drop', script: 'scene/0042' },
    { do: 'rebuild', script: 'chapter/5' },
  ],
];

/** The text of a release. The same every time. */
export function demoStory(releaseId: DemoReleaseId): DemoStory {
  return EDITS.slice(0, DEMO_RELEASE_IDS.indexOf(releaseId)).reduce(applyAll, firstStory());
}

/**
 * How a release differs from the previous one, counted from the edits that made it.
 *
 * @returns `null` for the first release
 */
export function expectedChanges(releaseId: DemoReleaseId): DemoChanges | null {
  const step = DEMO_RELEASE_IDS.indexOf(releaseId) - 1;
  const before = DEMO_RELEASE_IDS[step];
  if (before === undefined) return null;
  const old = demoStory(before);
  const changes: DemoChanges = { inserted: 0, changed: 0, removed: 0, moved: 0 };
  for (const edit of EDITS[step] ?? []) count(changes, edit, old);
  return changes;
}

/** Whether the rows of a script carry ids; only their index tells the lines of the others apart. */
export function hasRowIds(script: string): boolean {
  return !script.startsWith('chapter/') && script !== 'notes/list';
}

function count(changes: DemoChanges, edit: Edit, { scripts }: DemoStory): void {
  const length = scripts.get(edit.script)?.length ?? 0;
  switch (edit.do) {
    case 'insert':
      changes.inserted += edit.count;
      if (!hasRowIds(edit.script)) changes.moved += length - edit.at;
      break;
    case 'remove':
      changes.removed += edit.count;
      if (!hasRowIds(edit.script)) changes.moved += length - edit.at - edit.count;
      break;
    case 'change':
      changes.changed += 1;
      break;
    case 'move':
      if (!hasRowIds(edit.script)) changes.moved += Math.abs(edit.to - edit.from) + 1;
      break;
    case 'add':
      changes.inserted += newScripts(edit.script).reduce((sum, [, lines]) => sum + lines.length, 0);
      break;
    case 'drop':
      changes.removed += length;
      break;
    case 'rebuild':
      break;
  }
}

function applyAll(story: DemoStory, edits: readonly Edit[]): DemoStory {
  const scripts = new Map(story.scripts);
  const rebuilt = new Set(story.rebuilt);
  for (const edit of edits) {
    switch (edit.do) {
      case 'rebuild':
        rebuilt.add(edit.script);
        break;
      case 'add':
        for (const [script, lines] of newScripts(edit.script)) scripts.set(script, lines);
        break;
      case 'drop':
        scripts.delete(edit.script);
        break;
      default:
        scripts.set(edit.script, editLines(edit, scripts.get(edit.script) ?? []));
    }
  }
  return { scripts, rebuilt };
}

function editLines(edit: LineEdit, lines: readonly DialogRow[]): DialogRow[] {
  const { script } = edit;
  switch (edit.do) {
    case 'insert':
      return lines.toSpliced(edit.at, 0, ...writeLines(script, edit.count, INSERTED_FROM));
    case 'remove':
      return lines.toSpliced(edit.at, edit.count);
    case 'change':
      return lines.map((line, at) =>
        at === edit.at ? { ...line, text: dialogLine(script, at, 1).text } : line,
      );
    case 'move': {
      const line = lines.slice(edit.from, edit.from + 1);
      return lines.toSpliced(edit.from, 1).toSpliced(edit.to, 0, ...line);
    }
  }
}

function firstStory(): DemoStory {
  const two = (number: number): string => String(number).padStart(2, '0');
  const names = [
    ...numbers(COUNTS.scenes).map((scene) => `scene/${String(scene).padStart(4, '0')}`),
    // The last table is that of an event that ends with the first release.
    ...numbers(COUNTS.tables + 1).map((table) => `table/${String(table).padStart(3, '0')}`),
    ...numbers(COUNTS.archives).flatMap((archive) =>
      numbers(COUNTS.archiveTables).map((table) => `archive/${two(archive)}/${table}`),
    ),
    ...numbers(COUNTS.chapters).map((chapter) => `chapter/${chapter}`),
    'inner',
    'strings',
    'notes/list',
    'notes/table',
    'notes/text',
    'dialog',
    'database',
  ];
  return { scripts: new Map(names.flatMap(newScripts)), rebuilt: new Set() };
}

/** Writes a script, or all scripts of a chapter. */
function newScripts(name: string): (readonly [string, readonly DialogRow[]])[] {
  if (/^chapter\/\d+$/.test(name)) {
    return numbers(COUNTS.chapterScenes).map((scene) => [
      `${name}/${scene}`,
      writeLines(`${name}/${scene}`, 16),
    ]);
  }
  return [[name, writeLines(name, LENGTHS.get(name.replace(/\/\d.*$/, '')) ?? 20)]];
}

/** Lines of a new script, by its kind. */
const LENGTHS: ReadonlyMap<string, number> = new Map([
  ['scene', 20],
  ['table', 40],
  ['archive', 30],
  ['strings', 60],
  ['notes/text', 1],
  ['dialog', 200],
  ['database', 300],
]);

function writeLines(script: string, count: number, from = 0): DialogRow[] {
  return numbers(count).map((line) => dialogLine(script, from + line));
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, number) => number);
}
