import { stringify } from 'yaml';
import { countText } from '../../../domain/count-text.ts';
import { createScriptTest } from '../../../domain/text/source-script.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { decodeText } from '../../../formats/text/decode-text.ts';
import type { TableEncodingName } from '../../../formats/text/table-encoding.ts';
import type { ContainerOutcome, ParsedUnit } from '../container/parsed-container.ts';
import type { ParseConfiguration } from '../rules/parse-config.ts';

type Script = ParseConfiguration['sourceScript'];

/** Scripts in the order in which they are tried: kana tells Japanese from Chinese, and most texts have some Latin letters. */
const SCRIPTS = [
  'japanese',
  'korean',
  'thai',
  'cyrillic',
  'chinese',
  'latin',
] as const satisfies readonly Script[];
const KANA = /[\p{Script=Hiragana}\p{Script=Katakana}]/u;

/** Names that hold code, settings or notes of developers, whose lines are no texts for players. */
const NO_TEXTS =
  /(?:^|\/)(?:\.[^/]+|README|LICEN[CS]E|CHANGELOG|package(?:-lock)?\.json|tsconfig\.json)(?:\.\w+)?$|(?:^|\/)\.[^/]+\/|\.(?:js|mjs|ts|css|html?|gd|cs|lua|py|sh|bat|md|tscn|tres|import|uid|meta|cfg|gradle|shader|hlsl|glsl|asmdef|log|tjs)$/i;
/** Formats whose fields are lines: all of a file is text, or nothing. */
const LINES: ReadonlySet<string> = new Set([
  'text',
  'tyrano',
  'renpy',
  'yarn',
  'properties',
  'strings',
  'po',
  'script',
]);

const MAX_FIELDS = 20_000;
const MAX_RULES = 900;
const MAX_GLOBS = 60;
const MAX_COMMENTS = 12;
const SAMPLES = 3;
const SAMPLE_CHARACTERS = 60;
/** Share of the texts of a field in the source language that read like sentences or names. */
const RUNNING = 0.4;

/** The language in the name of a file or of its folder: `menu_fr.properties`, `ja.po`, `de.lproj/`. */
const LANGUAGE =
  /(^|[/._-])(ar|be|bg|ca|cn|cs|da|de|el|en|eo|es|et|eu|fa|fi|fr|gl|he|hu|id|in|it|ja|jp|ko|kr|nl|no|pl|pt|ro|ru|sk|sv|th|tr|tw|uk|vi|zh)((?:[_-][A-Za-z]{2,4})?(?:\.[^./]+$|\.lproj\/|\/))/;
/** Variants of one file from which on the names are taken for languages. */
const LANGUAGES = 3;
const LANGUAGES_OF: Readonly<Partial<Record<Script, readonly string[]>>> = {
  japanese: ['ja', 'jp'],
  korean: ['ko', 'kr'],
  chinese: ['zh', 'cn', 'tw'],
  cyrillic: ['ru', 'uk', 'be', 'bg'],
  thai: ['th'],
  latin: ['en'],
};

/** What was seen of a field: one column, one member of the objects of a file, and so on. */
interface FieldCounts {
  readonly format: string;
  /** Texts of each script, and those of them that read like texts for people. */
  readonly texts: Partial<Record<Script, number>>;
  readonly running: Partial<Record<Script, number>>;
  readonly samples: Map<Script, Set<string>>;
}

interface GroupCounts {
  readonly fields: Map<string, FieldCounts>;
  /** Files that are not in UTF-8, with the encodings that read them. */
  readonly encodings: Map<string, string[]>;
}

/** Gathers what rules can be suggested from. Its memory is bounded by the number of different fields. */
export interface RuleSuggester {
  units(destination: string, units: readonly ParsedUnit[]): void;
  /** @param beginning reads the first bytes of the file */
  outcome(destination: string, outcome: ContainerOutcome, beginning: () => Promise<Buffer>): Promise<void>;
  /** The file of rules, and how many it has. */
  rules(): { readonly text: string; readonly count: number };
}

const SCRIPT_TESTS = SCRIPTS.map((script) => [script, createScriptTest(script)] as const);

/** Creates a suggester. The files must be parsed with `sourceScript: any`, so that every string is seen. */
export function createRuleSuggester(): RuleSuggester {
  const groups = new Map<string, GroupCounts>();
  let fields = 0;
  const groupOf = (destination: string): GroupCounts => {
    const glob = globOf(destination);
    const group = groups.get(glob) ?? { fields: new Map(), encodings: new Map() };
    groups.set(glob, group);
    return group;
  };
  return {
    units: (destination, units) => {
      const group = groupOf(destination);
      for (const { fieldPath, format, sourceText } of units) {
        const path = fieldGlob(fieldPath);
        let counts = group.fields.get(path);
        if (counts === undefined) {
          if (fields === MAX_FIELDS) continue;
          fields += 1;
          counts = { format, texts: {}, running: {}, samples: new Map() };
          group.fields.set(path, counts);
        }
        countUnit(counts, sourceText);
      }
    },
    outcome: async (destination, { issues }, beginning) => {
      const group = groupOf(destination);
      if (!issues.some(({ code, archiveEntry }) => code === 'encoding_invalid' && archiveEntry === null))
        return;
      const encoding = encodingOf(await beginning());
      if (encoding === null) return;
      const files = group.encodings.get(encoding) ?? [];
      files.push(destination);
      group.encodings.set(encoding, files);
    },
    rules: () => rulesOf(groups),
  };
}

function countUnit(counts: FieldCounts, text: string): void {
  const script = scriptOf(text);
  if (script === null) return;
  counts.texts[script] = (counts.texts[script] ?? 0) + 1;
  if (!isRunning(text, script)) return;
  counts.running[script] = (counts.running[script] ?? 0) + 1;
  const samples = counts.samples.get(script) ?? new Set();
  counts.samples.set(script, samples);
  if (samples.size < SAMPLES) samples.add(sampleOf(text));
}

function scriptOf(text: string): Script | null {
  if (KANA.test(text)) return 'japanese';
  return SCRIPT_TESTS.find(([script, has]) => script !== 'japanese' && has(text))?.[0] ?? null;
}

/** Whether a text looks like one for people: words, not a name of a file, an identifier, a colour or a number. */
function isRunning(text: string, script: Script): boolean {
  if (script !== 'latin') return true;
  if (/[\\/]/.test(text) && /\.\w{1,8}$/.test(text)) return false;
  if (/^[\w./\\:#@$%+-]*$/.test(text) && !/^[A-Z][a-z]+[.!?]?$/.test(text)) return false;
  return /\p{L}{2,}[\p{P}]?\s+\p{L}/u.test(text) || /^[\p{L}' -]+[.!?…]*$/u.test(text);
}

function sampleOf(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= SAMPLE_CHARACTERS ? line : `${line.slice(0, SAMPLE_CHARACTERS).toWellFormed()}…`;
}

/** The files of one kind: those of a folder with one extension. Digits at the end of folders' names can vary. */
function globOf(destination: string): string {
  const folder = destination.slice(0, destination.lastIndexOf('/') + 1);
  const extension = /\.[^./]{1,16}$/.exec(destination)?.[0] ?? '';
  const escaped = globText(folder);
  const name = destination.slice(folder.length);
  const [, before, language, behind] = LANGUAGE.exec(name) ?? [];
  if (language === undefined) return `${escaped}*${globText(extension)}`;
  return `${escaped}${before === '' ? '' : `*${before}`}${language}${globText(behind ?? '')}`;
}

/** A part of a path as a part of a glob. Characters with a meaning of their own can be any. */
function globText(text: string): string {
  return text.replaceAll(/[*?[\]{}\\!()|]+/g, '*');
}

/** A field path with every index replaced. The names of fields stay. */
function fieldGlob(path: string): string {
  return path.replaceAll(/\[(?:\d+|'[^']*'|[^\]"]*)\]/g, '[*]').replaceAll(/\/\d+(?=\/|$|#)/g, '/*');
}

const CANDIDATES: readonly (TableEncodingName | 'utf-16le' | 'utf-16be')[] = [
  'utf-16le',
  'utf-16be',
  'cp932',
  'euc-jp',
  'gb18030',
  'big5',
  'euc-kr',
  'windows-1251',
  'windows-1252',
];

/** The likeliest of the encodings that read the beginning of a file; `null` when none gives a text. */
function encodingOf(beginning: Buffer): string | null {
  const scored = CANDIDATES.flatMap((encoding) => {
    const text = decoded(beginning, encoding);
    return text === null ? [] : [{ encoding, score: likeliness(text) }];
  });
  const [best] = scored.toSorted((left, right) => right.score - left.score);
  return best === undefined || best.score <= 0 ? null : best.encoding;
}

function decoded(bytes: Buffer, encoding: (typeof CANDIDATES)[number]): string | null {
  // The beginning can end within a character.
  for (const cut of [0, 1, 2, 3]) {
    try {
      return decodeText(bytes.subarray(0, bytes.length - cut), encoding).text;
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
    }
  }
  return null;
}

const LIKELY = /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]|[一-龥]|[а-яё]|[ -~\s]/giu;
const UNLIKELY = /[\p{Co}\p{Cn}\p{Cc}]|[^\p{L}\p{N}\p{P}\p{Z}\p{S}\s]|[ｦ-ﾟ]/gu;

function likeliness(text: string): number {
  const good = text.match(LIKELY)?.length ?? 0;
  const bad = (text.match(UNLIKELY)?.length ?? 0) - (text.match(/[\r\n\t]/g)?.length ?? 0);
  // A wrong encoding of several bytes gives fewer characters; a right one of one byte gives more.
  return text.length === 0 ? 0 : (good - 4 * Math.max(0, bad)) / text.length + wordsOf(text);
}

/** Common characters of each language, which a wrong encoding does not give. */
function wordsOf(text: string): number {
  const found =
    text.match(/[のはをにがたです]|[的是了我不在你]|[이가은는을를다]|(?:[оеаинт]{1}[а-я])/g)?.length ?? 0;
  return found / text.length;
}

interface SuggestedRule {
  readonly rule: Readonly<Record<string, unknown>>;
  readonly comments: readonly string[];
}

function rulesOf(groups: ReadonlyMap<string, GroupCounts>): {
  readonly text: string;
  readonly count: number;
} {
  const script = languageOf(groups);
  const others = otherLanguages([...groups.keys()], script);
  const rules: SuggestedRule[] = [];
  const skipped: string[] = [];
  for (const [glob, group] of [...groups].toSorted(([left], [right]) => (left < right ? -1 : 1))) {
    if (others.has(glob)) continue;
    const texts = textsOf(glob, group, script);
    const own = texts === null || texts.length === 0 ? null : ruleOf(glob, group, texts, script);
    // The first rule that matches counts, so the one with the encoding names the fields too.
    for (const [encoding, files] of group.encodings) {
      const destination = files.length <= MAX_GLOBS ? files.map(globText) : [glob];
      const comments = [`${countText(files.length, 'file')} not in UTF-8; check that the texts are right`];
      rules.push({ rule: { ...own?.rule, destination, encoding }, comments });
    }
    if (own !== null) rules.push(own);
    else if (texts?.length === 0) skipped.push(glob);
  }
  const all = [
    ...rules,
    ...skipRules([...others], 'files of other languages'),
    ...skipRules(mergedGlobs(skipped, groups), 'no text for players in the source language was found'),
  ];
  const kept = all.slice(0, MAX_RULES);
  return { text: fileOf(kept, script), count: kept.length };
}

function fileOf(rules: readonly SuggestedRule[], script: Script): string {
  const body = rules.map(({ rule, comments }) => {
    const lines = [
      // Names come from the game, and a line end would end the comment.
      ...comments.map((comment) => `# ${comment.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')}`),
      stringify([rule], { lineWidth: 0 }).trimEnd(),
    ];
    return lines.map((line) => line.replaceAll(/^/gm, '    ')).join('\n');
  });
  return [
    '# Rules to start from, made by `slipway parse --suggest`. Each names the fields with texts of the game, with samples.',
    '# Remove what players never see, then run `slipway parse DIR --rules` with this file.',
    'parse:',
    `  sourceScript: ${script}`,
    rules.length === 0 ? '  rules: []' : '  rules:',
    ...body,
    '',
  ].join('\n');
}

function skipRules(globs: readonly string[], comment: string): readonly SuggestedRule[] {
  const rules: SuggestedRule[] = [];
  for (let at = 0; at < globs.length; at += MAX_GLOBS) {
    const destination = globs.slice(at, at + MAX_GLOBS);
    rules.push({ rule: { destination, format: 'skip' }, comments: [comment] });
  }
  return rules;
}

/** One glob for an extension of which no folder has a text. */
function mergedGlobs(
  skipped: readonly string[],
  groups: ReadonlyMap<string, GroupCounts>,
): readonly string[] {
  const kept = new Set([...groups.keys()].filter((glob) => !skipped.includes(glob)).map(extensionOf));
  return [
    ...new Set(
      skipped.map((glob) => {
        const extension = extensionOf(glob);
        return extension === '' || kept.has(extension) ? glob : `**/*${extension}`;
      }),
    ),
  ];
}

function extensionOf(glob: string): string {
  return /\.[^./*]{1,16}$/.exec(glob)?.[0] ?? '';
}

/** The files of other languages than that of the game, where one file has several. */
function otherLanguages(globs: readonly string[], script: Script): ReadonlySet<string> {
  const own = LANGUAGES_OF[script] ?? [];
  const variants = new Map<string, { readonly glob: string; readonly language: string }[]>();
  for (const glob of globs) {
    const language = LANGUAGE.exec(glob)?.[2];
    if (language === undefined) continue;
    const stem = glob.replace(LANGUAGE, '$1{}');
    variants.set(stem, [...(variants.get(stem) ?? []), { glob, language }]);
  }
  const others = [...variants.values()].filter(
    (files) => new Set(files.map(({ language }) => language)).size >= LANGUAGES,
  );
  return new Set(others.flat().flatMap(({ glob, language }) => (own.includes(language) ? [] : [glob])));
}

/** The script of most texts that look like ones for people. */
function languageOf(groups: ReadonlyMap<string, GroupCounts>): Script {
  const totals = new Map<Script, number>();
  for (const [glob, { fields }] of groups) {
    if (isCode(glob)) continue;
    for (const { running } of fields.values()) {
      for (const script of SCRIPTS) totals.set(script, (totals.get(script) ?? 0) + (running[script] ?? 0));
    }
  }
  // A text in Chinese characters alone is Japanese where there is kana elsewhere.
  const kana = totals.get('japanese') ?? 0;
  const han = totals.get('chinese') ?? 0;
  if (kana * 10 > han) {
    totals.set('japanese', kana + han);
    totals.set('chinese', 0);
  }
  const [[best, most] = ['any' as const, 0]]: readonly (readonly [Script, number])[] = [...totals].toSorted(
    ([, left], [, right]) => right - left,
  );
  return most === 0 ? 'any' : best;
}

function isCode(glob: string): boolean {
  return NO_TEXTS.test(glob.replace('*', 'x'));
}

type FoundField = readonly [path: string, counts: FieldCounts];

/** The fields with texts of the source language; `null` for a kind of files without any string. */
function textsOf(glob: string, { fields }: GroupCounts, script: Script): readonly FoundField[] | null {
  if (fields.size === 0) return null;
  const all = [...fields];
  if (isCode(glob) && all.every(([, { format }]) => format === 'text')) return [];
  return all.filter(([, counts]) => {
    const running = countIn(counts.running, script);
    return running > 0 && running >= countIn(counts.texts, script) * RUNNING;
  });
}

/** Counts of a script. Chinese characters are those of Japanese too. */
function countIn(counts: FieldCounts['texts'], script: Script): number {
  return (counts[script] ?? 0) + (script === 'japanese' ? (counts.chinese ?? 0) : 0);
}

/** The rule for the fields of a kind of files. `null` where the defaults find just these. */
function ruleOf(
  glob: string,
  { fields }: GroupCounts,
  texts: readonly FoundField[],
  script: Script,
): SuggestedRule | null {
  const isWhole = texts.every(([, { format }]) => LINES.has(format.split('+').at(-1) ?? ''));
  if (isWhole) return null;
  const sorted = texts.toSorted(
    ([, left], [, right]) => countIn(right.running, script) - countIn(left.running, script),
  );
  const comments = sorted.slice(0, MAX_COMMENTS).map(([path, { running, samples }]) => {
    return `${path} (${countIn(running, script)}): ${[...(samples.get(script) ?? [])].join(' | ')}`;
  });
  if (sorted.length > MAX_COMMENTS) comments.push(`and ${sorted.length - MAX_COMMENTS} more fields`);
  const selects = texts.length < fields.size && texts.length <= MAX_GLOBS;
  if (!selects) return null;
  return { rule: { destination: [glob], include: sorted.map(([path]) => path) }, comments };
}
