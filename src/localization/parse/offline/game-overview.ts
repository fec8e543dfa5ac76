import { countText } from '../../../domain/count-text.ts';
import { NAMED_FORMATS, isNamedFormat } from '../../../formats/sniff.ts';
import { printable, textTable } from '../../../platform/terminal/text-table.ts';
import type { ContainerOutcome, ParsedUnit } from '../container/parsed-container.ts';

/** Engines, and the files that only their games have. The first one that fits is named first. */
const ENGINES: readonly (readonly [name: string, file: RegExp])[] = [
  [
    'Unity',
    /(?:^|\/)(?:globalgamemanagers|data\.unity3d|UnityPlayer\.dll|catalog\.(?:json|bin)|[^/]+_Data\/)|\.(?:bundle|unity3d)$/,
  ],
  ["Ren'Py", /\.rpy[cm]?$|\.rpa$/],
  ['TyranoScript', /(?:^|\/)(?:tyrano\/|data\/scenario\/.*\.ks$)/],
  ['KiriKiri', /\.(?:tjs|xp3)$/],
  ['RPG Maker MV or MZ', /(?:^|\/)(?:js\/(?:rpg|rmmz)_core\.js|data\/(?:System|MapInfos)\.json)$/],
  ['RPG Maker XP, VX or VX Ace', /\.(?:rvdata2?|rxdata|rgss(?:ad|2a|3a))$/],
  ['Godot', /(?:^|\/)project\.godot$|\.(?:pck|tscn|tres)$/],
  ['Yarn Spinner', /\.yarn$/],
  ['Naninovel', /\.nani$/],
  ['Unreal Engine', /\.(?:uasset|umap|utoc|locres)$/],
];

/** Files of no known format that have no texts: pictures of Unity, icons, and catalogs, which are read when a translation is published. */
const NO_TEXT = /\.(?:resS|resource|ico)$|(?:^|\/)catalog[^/]*\.bin$/;

const NOT_READ_TEXT = `for files that are not read: convert texts to a format that is read, such as CSV, or give files of text lines a rule with
format: script; docs/reference/parse-formats.md#never-parsed says why, and docs/how-to/write-parse-rules.md how`;

const FOLDER_LEVELS = 3;
const LISTED = 20;

interface Group {
  files: number;
  texts: number;
  first: string;
}

/** What a folder of a game has, counted while it is parsed. */
export interface GameOverview {
  readonly engines: Map<string, string>;
  readonly formats: Map<string, Group>;
  readonly folders: Map<string, Group>;
  /** Files that no reader opens, by their format, or by their extension where that is not known. */
  readonly notRead: Map<string, Group>;
  readonly errors: Map<string, Group>;
}

export function emptyOverview(): GameOverview {
  return {
    engines: new Map(),
    formats: new Map(),
    folders: new Map(),
    notRead: new Map(),
    errors: new Map(),
  };
}

/** Counts texts by their format, which names the path to them. */
export function addUnits(overview: GameOverview, destination: string, units: readonly ParsedUnit[]): void {
  for (const { format } of units) count(overview.formats, format, destination, { files: 0, texts: 1 });
}

/** Counts a container. @param units its texts; those of a failed one do not count */
export function addContainer(
  overview: GameOverview,
  destination: string,
  { status, format, issues, skipped }: ContainerOutcome,
  units: number,
): void {
  for (const [engine, file] of ENGINES) {
    if (!overview.engines.has(engine) && file.test(destination)) overview.engines.set(engine, destination);
  }
  const texts = status === 'failed' ? 0 : units;
  if (texts > 0) count(overview.folders, folderOf(destination), destination, { files: 1, texts });
  if (isNamedFormat(format)) count(overview.notRead, format, destination, { files: 1, texts: 0 });
  else if (skipped.unknown_format !== undefined && texts === 0 && !NO_TEXT.test(destination)) {
    count(overview.notRead, extensionName(destination), destination, { files: 1, texts: 0 });
  }
  for (const { code } of issues) count(overview.errors, code, destination, { files: 1, texts: 0 });
}

function count(
  groups: Map<string, Group>,
  key: string,
  first: string,
  { files, texts }: { readonly files: number; readonly texts: number },
): void {
  const group = groups.get(key) ?? { files: 0, texts: 0, first };
  groups.set(key, { files: group.files + files, texts: group.texts + texts, first: group.first });
}

function folderOf(destination: string): string {
  const folders = destination.split('/').slice(0, -1);
  return folders.length === 0 ? '.' : folders.slice(0, FOLDER_LEVELS).join('/');
}

function extensionName(destination: string): string {
  const extension = /\.([^./]{1,16})$/.exec(destination)?.[1];
  return extension === undefined ? 'no extension' : `.${extension}`;
}

/**
 * The part of the summary that says what kind of game it is, and what to do next.
 *
 * @param counted what is counted: with rules to suggest, every string is read
 * @param next what to do next; empty where something behind says it
 */
export function overviewText(overview: GameOverview, counted: 'TEXTS' | 'STRINGS', next: string): string {
  const { engines, formats, folders, notRead, errors } = overview;
  const parts = [
    [...engines].map(([engine, file]) => `engine: ${engine} (${printable(file)})`).join('\n'),
    table(
      ['FORMAT', counted, 'FIRST FILE'],
      largest(formats, ({ texts }) => texts).map(([name, { texts, first }]) => [name, String(texts), first]),
    ),
    table(
      ['FOLDER', 'FILES', counted],
      largest(folders, ({ texts }) => texts).map(([name, { files, texts }]) => [
        name,
        String(files),
        String(texts),
      ]),
    ),
    table(
      ['NOT READ', 'FILES', 'FIRST FILE'],
      largest(notRead, ({ files }) => files).map(([name, { files, first }]) => [
        isNamedFormat(name) ? `${name} (${NAMED_FORMATS[name]})` : name,
        String(files),
        first,
      ]),
    ),
    table(
      ['ERROR', 'COUNT', 'FIRST FILE'],
      largest(errors, ({ files }) => files).map(([name, { files, first }]) => [name, String(files), first]),
    ),
    notRead.size === 0 ? '' : NOT_READ_TEXT,
    next === '' ? '' : `next: ${next}`,
  ];
  return parts
    .filter((part) => part !== '')
    .map((part) => `\n${part.trimEnd()}\n`)
    .join('');
}

/** The same for programs. */
export function overviewFields({
  engines,
  formats,
  folders,
  notRead,
}: GameOverview): Readonly<Record<string, unknown>> {
  const counts = (
    groups: Map<string, Group>,
    of: (group: Group) => number,
  ): Readonly<Record<string, number>> =>
    Object.fromEntries(largest(groups, of).map(([name, group]) => [name, of(group)]));
  return {
    engines: [...engines.keys()],
    texts_by_format: counts(formats, ({ texts }) => texts),
    texts_by_folder: counts(folders, ({ texts }) => texts),
    files_not_read: counts(notRead, ({ files }) => files),
  };
}

function largest(
  groups: Map<string, Group>,
  of: (group: Group) => number,
): readonly (readonly [string, Group])[] {
  return [...groups].toSorted(([, left], [, right]) => of(right) - of(left)).slice(0, LISTED);
}

function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  return rows.length === 0 ? '' : textTable(titles, rows);
}

/** What to do next after a parse of a folder. @param rules the file of rules that was used; `null` for none */
export function nextText(folder: string, rules: string | null): string {
  return rules === null
    ? `slipway parse ${printable(folder)} --suggest rules.yaml writes rules to start from`
    : `make run UPSTREAM=${printable(folder)} RULES=${printable(rules)} serves the folder and indexes these texts`;
}

/** The end of a run that has written rules. */
export function suggestedText(folder: string, rules: string, count: number): string {
  return `
The counts are of all strings; the rules select the texts among them.
${countText(count, 'rule')} written to ${printable(rules)}; read them, then: slipway parse ${printable(folder)} --rules ${printable(rules)}
`;
}
