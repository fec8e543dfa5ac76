import { dialogLine } from '../../demo/game/dialog-line.ts';
import type { DialogRow } from '../../demo/game/dialog-row.ts';
import { translateDemoLine } from '../../demo/game/translate-line.ts';
import { csvTable, jsonRows } from '../../demo/game/text-tables.ts';
import { createRandom } from '../../demo/game/seeded-random.ts';
import type { ReleaseFiles } from './release-tree.ts';

/** The two official releases of the world of the console. */
export const CONSOLE_RELEASES = ['1.67.411-r89', '1.67.412-r90'] as const;

/** The files with text, by the state that the world leaves their translation tasks in. */
export const CONSOLE_FILES = {
  published: 'Scenario/Main/Chapter01.json',
  stale: 'Scenario/Main/Chapter02.json',
  drafts: 'Scenario/Main/Chapter03.json',
  leased: 'Scenario/Event/Hotspring.json',
  pending: 'Scenario/Event/Summer.json',
  held: 'Scenario/Side/Library.json',
  glossary: 'Scenario/Side/Clubroom.json',
  blocked: 'Tables/Buttons.csv',
  translated: 'Tables/Shop.csv',
  proofread: 'Tables/Mail.csv',
  failed: 'Tables/Items.csv',
  skipped: 'Debug/Notes.json',
} as const;

/** How many lines a file has. */
const LENGTHS: Readonly<Record<keyof typeof CONSOLE_FILES, number>> = {
  published: 120,
  stale: 160,
  drafts: 300,
  leased: 80,
  held: 40,
  glossary: 30,
  blocked: 24,
  translated: 36,
  proofread: 12,
  failed: 90,
  skipped: 6,
  pending: 60,
};

/** Limits of the fields of tables, so that targets can be too long. */
const TABLE_LIMITS = [{ maxWidth: 96, maxLines: 2 }];

/** The `parse` section for these releases: speakers are context. */
export const CONSOLE_PARSE = {
  rules: [
    { destination: ['Tables/**'], include: ['**TextJp'], speaker: ['Speaker'], limits: TABLE_LIMITS },
    { destination: ['**'], include: ['**TextJp'], speaker: ['Speaker'] },
  ],
} as const;

const MIB = 1024 * 1024;

/**
 * The files of a release. The second one changes, inserts, removes and moves lines of a chapter, has a new file with text and one
 * less, another film, and more sounds. The same arguments give the same bytes.
 */
export function consoleRelease(id: (typeof CONSOLE_RELEASES)[number]): ReleaseFiles {
  const isSecond = id === CONSOLE_RELEASES[1];
  const files = new Map<string, Buffer>();
  const known = new Set<string>();
  for (const kind of Object.keys(LENGTHS) as (keyof typeof CONSOLE_FILES)[]) {
    const destination = CONSOLE_FILES[kind];
    // The event of the summer begins with the second release. Nothing in it is translated by the work on another file.
    if (kind === 'pending' && !isSecond) continue;
    const first = linesOf(destination, LENGTHS[kind]);
    const lines = kind === 'stale' && isSecond ? editedLines(destination, first) : first;
    const rows = kind === 'pending' ? lines.filter(({ text }) => !known.has(text)) : lines;
    for (const { text } of rows) known.add(text);
    files.set(destination, Buffer.from(destination.endsWith('.csv') ? csvTable(rows) : jsonRows(rows)));
  }
  if (!isSecond) files.set('Scenario/Event/Spring.json', Buffer.from(jsonRows(linesOf('spring', 20))));
  const random = createRandom(isSecond ? 90 : 89);
  files.set('MediaResources/Movie/Opening.mp4', random.bytes(3 * MIB));
  const same = createRandom(7);
  for (let voice = 0; voice < (isSecond ? 12 : 8); voice += 1) {
    files.set(`MediaResources/Audio/JP_${String(voice).padStart(4, '0')}.ogg`, same.bytes(60_000));
  }
  return files;
}

function linesOf(script: string, count: number): DialogRow[] {
  return Array.from({ length: count }, (_, at) => dialogLine(script, at));
}

/** Said at another time, as an editor changes a line; a line that says no time becomes another one. */
function editedText(script: string, at: number, text: string): string {
  const edited = ['放課後', '雨の日'].map((time) => text.replace(/^[^、]+/, time));
  return (
    edited.find((each) => each !== text && translateDemoLine(each) !== null) ?? dialogLine(script, at, 1).text
  );
}

function editedLines(script: string, lines: readonly DialogRow[]): DialogRow[] {
  const changed = lines.map((line, at) =>
    at % 16 === 3 ? { ...line, text: editedText(script, at, line.text) } : line,
  );
  const inserted = Array.from({ length: 8 }, (_, at) => dialogLine(script, 500 + at));
  // Another id, and the same neighbours.
  const moved = changed.splice(60, 5).map((line) => ({ ...line, id: line.id + 300n }));
  changed.splice(100, 2);
  changed.splice(20, 0, ...inserted);
  return [...changed, ...moved];
}
