import { stringify } from 'yaml';
import { countText } from '../../../domain/count-text.ts';
import { createGlobFilter } from '../../../platform/config/glob-filter.ts';
import { isOwnLanguage, languagesOfFields, type Script } from './file-languages.ts';
import { globText, SCRIPTS, type FieldCounts, type FileGroup } from './gather-fields.ts';

/** Names that hold code, settings or notes of developers, whose lines are no texts for players. */
const NO_TEXTS =
  /(?:^|\/)(?:\.[^/]+|README|LICEN[CS]E|COPYING|NOTICE|AUTHORS|CHANGELOG|METADATA|RECORD|WHEEL|INSTALLER|package(?:-lock)?\.json|tsconfig\.json)(?:\.\w+)?$|(?:^|\/)\.[^/]+\/|\.(?:js|mjs|ts|css|html?|gd|cs|lua|py|sh|bat|md|tscn|tres|import|uid|meta|cfg|config|ini|gradle|shader|gdshader|hlsl|glsl|svg|fnt|asmdef|sln|csproj|unityweb|log|tjs|pem|info|aspx|browser)$/i;
/** Files and folders of programs and engines, in which no format holds texts for players. */
const NO_TEXT_FILES =
  /(?:^|\/)(?:\.[^/]+|node_modules|(?:site|python)-packages|AddressablesLink|Managed|Mono|MonoBleedingEdge|il2cpp_data)\/|\.(?:asmdef|config|csproj|inputactions|shadergraph|svg|tmp|webmanifest)$/;
/** Formats whose fields are lines: all of a file is text, or nothing. */
const LINES: ReadonlySet<string> = new Set(['text', 'script']);
/** Formats that name what players see, so that nothing must be chosen, and that show the language of a game. */
const TEXTS_ONLY: ReadonlySet<string> = new Set([
  'tyrano',
  'renpy',
  'yarn',
  'properties',
  'strings',
  'po',
  'rpg-maker',
  'android',
  'resx',
]);

const MAX_RULES = 900;
const MAX_GLOBS = 60;
const MAX_COMMENTS = 12;
/** Share of the texts of a field in the source language that read like sentences or names. */
const RUNNING = 0.4;

interface SuggestedRule {
  readonly rule: Readonly<Record<string, unknown>> & { readonly destination: readonly string[] };
  readonly comments: readonly string[];
}

/** The file of rules that the gathered fields suggest, and how many it has. */
export function suggestRules(groups: readonly FileGroup[]): {
  readonly text: string;
  readonly count: number;
} {
  const sets = languageSets(groups);
  const script = languageOf(groups, sets);
  const others = otherLanguages(sets, script);
  const found: { readonly group: FileGroup; readonly rules: readonly SuggestedRule[] }[] = [];
  const skipped: FileGroup[] = [];
  // Globs of files in one language are part of globs for all files of their folder, and the first rule that matches counts.
  for (const group of groups.toSorted(
    (left, right) => Number(left.language === null) - Number(right.language === null),
  )) {
    if (others.has(group)) continue;
    const texts = textsOf(group, script);
    const own = texts === null || texts.length === 0 ? null : ruleOf(group, texts, script);
    const rules = [...encodingRules(group, own), ...(own === null ? [] : [own])];
    if (rules.length > 0 || (texts !== null && texts.length > 0)) found.push({ group, rules });
    if (own === null && texts?.length === 0) skipped.push(group);
  }
  const skippedGlobs = mergedGlobs(skipped, groups);
  const isSelected = createGlobFilter({
    include: [
      ...skippedGlobs,
      ...found.flatMap(({ rules }) => rules.flatMap(({ rule }) => rule.destination)),
    ],
    exclude: [],
  });
  const otherGlobs = [...others].map(({ glob }) => glob);
  const codes = [...new Set([...others].map(({ language }) => language?.code ?? 'translations'))].toSorted();
  const all = [
    ...skipRules(
      otherGlobs,
      `files of other languages (${codes.join(', ')}); where one of them is the source, set sourceScript and remove its globs`,
    ),
    ...found.flatMap(({ group: { glob, first }, rules }) => {
      // It needs none, but another one would match its files.
      const needsRule = rules.length === 0 && isSelected?.(first) === true;
      return needsRule ? [{ rule: { destination: [glob] }, comments: ['all texts of these files'] }] : rules;
    }),
    ...skipRules(skippedGlobs, 'no text for players in the source language was found'),
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

function encodingRules({ glob, encodings }: FileGroup, own: SuggestedRule | null): readonly SuggestedRule[] {
  if (NO_TEXT_FILES.test(glob) || isCode(glob)) return [];
  // The first rule that matches counts, so the one with the encoding names the fields too.
  return [...encodings].map(([encoding, files]) => ({
    rule: {
      ...own?.rule,
      destination: files.length <= MAX_GLOBS ? files.map(globText) : [glob],
      encoding,
    },
    comments: [`${countText(files.length, 'file')} not in UTF-8; check that the texts are right`],
  }));
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
function mergedGlobs(skipped: readonly FileGroup[], groups: readonly FileGroup[]): readonly string[] {
  const without = new Set(skipped);
  const kept = new Set(groups.filter((group) => !without.has(group)).map(({ glob }) => extensionOf(glob)));
  return [
    ...new Set(
      skipped.map(({ glob }) => {
        const extension = extensionOf(glob);
        return extension === '' || kept.has(extension) ? glob : `**/*${extension}`;
      }),
    ),
  ];
}

function extensionOf(glob: string): string {
  return /\.[^./*]{1,16}$/.exec(glob)?.[0] ?? '';
}

/** The groups that are one kind of files in several languages. */
type LanguageSet = readonly FileGroup[];

function languageSets(groups: readonly FileGroup[]): readonly LanguageSet[] {
  const named = groups.filter(({ language }) => language !== null);
  return Map.groupBy(named, ({ language }) => language?.stem)
    .values()
    .filter((set) => {
      const codes = new Set(set.map(({ language }) => language?.code));
      return codes.size >= (set[0]?.language?.least ?? 0);
    })
    .toArray();
}

/** The files of other languages than that of the game. Where it is not among them, nobody knows which ones these are. */
function otherLanguages(sets: readonly LanguageSet[], script: Script): ReadonlySet<FileGroup> {
  return new Set(
    sets.flatMap((set) => {
      const others = set.filter(({ language }) => !isOwnLanguage(language?.code ?? null, script));
      return others.length < set.length || set[0]?.language?.code === null ? others : [];
    }),
  );
}

/** The script of most texts that look like ones for people. Translations do not count. */
function languageOf(groups: readonly FileGroup[], sets: readonly LanguageSet[]): Script {
  const certain = totalsOf(groups, sets, ({ format }) => {
    return TEXTS_ONLY.has(innermost(format)) || format.startsWith('unity.');
  });
  const found = mostOf(certain);
  return found === 'any' ? mostOf(totalsOf(groups, sets, () => true)) : found;
}

function totalsOf(
  groups: readonly FileGroup[],
  sets: readonly LanguageSet[],
  isCounted: (counts: FieldCounts) => boolean,
): ReadonlyMap<Script, number> {
  const counted = groups.filter(({ glob }) => !isCode(glob) && !NO_TEXT_FILES.test(glob));
  const fields = counted.map((group) => ({ group, languages: languagesOfFields(group.fields.keys()) }));
  // Variants of a file have the same texts, of which as many count in each script.
  const variants = new Set(sets.flat());
  const totalOf = (script: Script, counted: Script): number => {
    const others = otherLanguages(sets, script);
    let total = 0;
    for (const { group, languages } of fields) {
      if (others.has(group)) continue;
      for (const [path, counts] of group.fields) {
        const code = languages.get(path);
        const isOwn = code === undefined || isOwnLanguage(code, script);
        const { texts, running } = counts;
        if (isOwn && isCounted(counts)) total += (variants.has(group) ? texts : running)[counted] ?? 0;
      }
    }
    return total;
  };
  const totals = new Map<Script, number>(SCRIPTS.map((script) => [script, totalOf(script, script)]));
  // A text in Chinese characters alone is Japanese where there is kana elsewhere.
  const kana = totals.get('japanese') ?? 0;
  if (kana * 10 > (totals.get('chinese') ?? 0)) {
    totals.set('japanese', kana + totalOf('japanese', 'chinese'));
    totals.set('chinese', 0);
  }
  return totals;
}

function mostOf(totals: ReadonlyMap<Script, number>): Script {
  const [[best, most] = ['any' as const, 0]]: readonly (readonly [Script, number])[] = [...totals].toSorted(
    ([, left], [, right]) => right - left,
  );
  return most === 0 ? 'any' : best;
}

function isCode(glob: string): boolean {
  return NO_TEXTS.test(glob.replace('*', 'x'));
}

/** The format of the innermost file. */
function innermost(format: string): string {
  return format.split('+').at(-1) ?? '';
}

type FoundField = readonly [path: string, counts: FieldCounts];

/** The fields with texts of the source language; `null` for a kind of files without any string. */
function textsOf({ glob, fields }: FileGroup, script: Script): readonly FoundField[] | null {
  if (fields.size === 0) return null;
  if (NO_TEXT_FILES.test(glob)) return [];
  const all = [...fields];
  if (isCode(glob) && all.every(([, { format }]) => format === 'text')) return [];
  const found = all.filter(([, counts]) => {
    const running = countIn(counts.running, script);
    return running > 0 && running >= countIn(counts.texts, script) * RUNNING;
  });
  const languages = languagesOfFields(fields.keys());
  const isOwn = ([path]: FoundField): boolean => isOwnLanguage(languages.get(path) ?? null, script);
  return found.some(isOwn) ? found.filter((field) => isOwn(field) || !languages.has(field[0])) : found;
}

/** Counts of a script. Chinese characters are those of Japanese too. */
function countIn(counts: FieldCounts['texts'], script: Script): number {
  return (counts[script] ?? 0) + (script === 'japanese' ? (counts.chinese ?? 0) : 0);
}

/** The rule for the fields of a kind of files. `null` where the defaults find just these. */
function ruleOf(
  { glob, fields }: FileGroup,
  texts: readonly FoundField[],
  script: Script,
): SuggestedRule | null {
  const isWhole = texts.every(([, { format }]) => {
    return LINES.has(innermost(format)) || TEXTS_ONLY.has(innermost(format));
  });
  if (isWhole) return null;
  const sorted = texts.toSorted(
    ([, left], [, right]) => countIn(right.running, script) - countIn(left.running, script),
  );
  const comments = sorted.slice(0, MAX_COMMENTS).map(([path, { running, samples }]) => {
    return `${path} (${countIn(running, script)}): ${[...(samples.get(script) ?? [])].join(' | ')}`;
  });
  if (sorted.length > MAX_COMMENTS) comments.push(`and ${sorted.length - MAX_COMMENTS} more fields`);
  // Nobody but the reader of the rules knows which of the languages beside each other is the source.
  const hasLanguages = texts.filter(([path]) => /\bLanguages(?:_Touch)?\[\d+\]$/.test(path)).length > 1;
  const selects = (texts.length < fields.size || hasLanguages) && texts.length <= MAX_GLOBS;
  if (!selects) return null;
  return { rule: { destination: [glob], include: sorted.map(([path]) => path) }, comments };
}
