import { createScriptTest } from '../../../domain/text/source-script.ts';
import type { ContainerOutcome, ParsedUnit } from '../container/parsed-container.ts';
import { languageOfFile, type Script } from './file-languages.ts';
import { guessEncoding } from './guess-encoding.ts';

/** Scripts in the order in which they are tried: kana tells Japanese from Chinese, and most texts have some Latin letters. */
export const SCRIPTS = [
  'japanese',
  'korean',
  'thai',
  'cyrillic',
  'chinese',
  'latin',
] as const satisfies readonly Script[];
const KANA = /[\p{Script=Hiragana}\p{Script=Katakana}]/u;
const SCRIPT_TESTS = SCRIPTS.map((script) => [script, createScriptTest(script)] as const);

const MAX_FIELDS = 20_000;
const MAX_GROUPS = 20_000;
const SAMPLES = 3;
const SAMPLE_CHARACTERS = 60;

/** What was seen of a field: one column, one member of the objects of a file, and so on. */
export interface FieldCounts {
  readonly format: string;
  /** Texts of each script, and those of them that read like texts for people. */
  readonly texts: Partial<Record<Script, number>>;
  readonly running: Partial<Record<Script, number>>;
  readonly samples: Map<Script, Set<string>>;
}

interface FileKind {
  readonly glob: string;
  /** The language in their names, as {@link languageOfFile} says it. */
  readonly language: { readonly code: string | null; readonly stem: string; readonly least: number } | null;
}

/** The files of one kind. */
export interface FileGroup extends FileKind {
  /** The first file of them. */
  readonly first: string;
  readonly fields: Map<string, FieldCounts>;
  /** Files that are not in UTF-8, with the encodings that read them. */
  readonly encodings: Map<string, string[]>;
}

/** Gathers what rules can be suggested from. Its memory is bounded by the number of different fields. */
export interface FieldGatherer {
  units(destination: string, units: readonly ParsedUnit[]): void;
  /** @param beginning reads the first bytes of the file */
  outcome(destination: string, outcome: ContainerOutcome, beginning: () => Promise<Buffer>): Promise<void>;
  /** The groups in the order of their globs. */
  groups(): readonly FileGroup[];
}

/** Creates a gatherer. The files must be parsed with `sourceScript: any`, so that every string is seen. */
export function createFieldGatherer(): FieldGatherer {
  const groups = new Map<string, FileGroup>();
  let fields = 0;
  const groupOf = (destination: string): FileGroup => {
    const kind = kindOf(destination);
    const group = groups.get(kind.glob) ?? {
      ...kind,
      first: destination,
      fields: new Map(),
      encodings: new Map(),
    };
    if (groups.size < MAX_GROUPS) groups.set(kind.glob, group);
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
      const encoding = guessEncoding(await beginning());
      if (encoding === null) return;
      const files = group.encodings.get(encoding) ?? [];
      files.push(destination);
      group.encodings.set(encoding, files);
    },
    groups: () => [...groups.values()].toSorted((left, right) => (left.glob < right.glob ? -1 : 1)),
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

/** A class of .NET with its assembly. */
const ASSEMBLY = /^[\w.+`]+\.[\w.+`]+, |, (?:Version|Culture|PublicKeyToken)=/;

/** Whether a text looks like one for people: words, not a name of a file, an identifier, a colour or a number. */
function isRunning(text: string, script: Script): boolean {
  if (script !== 'latin') return true;
  if (/[\\/]/.test(text) && /\.\w{1,8}$/.test(text)) return false;
  if (/^[\w./\\:#@$%+-]*$/.test(text) && !/^[A-Z][a-z]+[.!?]?$/.test(text)) return false;
  if (ASSEMBLY.test(text)) return false;
  return /\p{L}{2,}[\p{P}]?\s+\p{L}/u.test(text) || /^[\p{L}' -]+[.!?…]*$/u.test(text);
}

function sampleOf(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= SAMPLE_CHARACTERS ? line : `${line.slice(0, SAMPLE_CHARACTERS).toWellFormed()}…`;
}

/** The kind of a file: those of a folder with one extension and one language. One without an extension is alone. */
function kindOf(destination: string): FileKind {
  const folder = destination.slice(0, destination.lastIndexOf('/') + 1);
  const extension = /\.[^./]{1,16}$/.exec(destination)?.[0];
  const found = languageOfFile(destination);
  if (found === null) {
    return {
      glob: extension === undefined ? globText(destination) : `${globText(folder)}*${globText(extension)}`,
      language: null,
    };
  }
  const { code, start, end, stem, least } = found;
  if (start < folder.length) {
    const ending = `*${extension ?? ''}`;
    return {
      glob: `${globText(folder)}*${globText(extension ?? '')}`,
      language: { code, stem: stem.slice(0, stem.lastIndexOf('/') + 1) + ending, least },
    };
  }
  // The separator in front of the language is part of the glob, and what is in front of that can be anything.
  const any = start === folder.length ? '' : '*';
  const from = start === folder.length ? start : start - 1;
  return {
    glob: globText(folder) + any + globText(destination.slice(from)),
    language: {
      code,
      stem: `${folder}${any}${destination.slice(from, start)}{}${destination.slice(end)}`,
      least,
    },
  };
}

/** A part of a path as a part of a glob, with the characters that have a meaning of their own there. */
export function globText(text: string): string {
  return text.replaceAll(/[*?[\]{}\\!()|,]/g, String.raw`\$&`);
}

/**
 * A field path with every index replaced, but that of a language in a table of I2 Localization. The names of fields stay, but for
 * stars, which a glob of fields cannot have as such.
 */
function fieldGlob(path: string): string {
  return path
    .replaceAll(/\*+/g, '*')
    .replaceAll(
      /(\bLanguages(?:_Touch)?)?\[('[^']*'|[^\]"]*)\]/g,
      (match, languages: string | undefined, index: string) => {
        if (languages !== undefined) return match;
        return /[./#[\]]/.test(index) ? '[**]' : '[*]';
      },
    )
    .replaceAll(/\/\d+(?=\/|$|#)/g, '/*');
}
