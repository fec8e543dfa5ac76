import { countText } from '../../../domain/count-text.ts';
import { bytesSource } from '../../../formats/byte-source.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { sniffFormat } from '../../../formats/sniff.ts';
import type { CompiledRule } from '../rules/compile-rules.ts';
import type { RuleFormat } from '../rules/parse-config.ts';
import { collectText } from './collect-text.ts';
import { decodedValue, isTextFormat, type TextFormat } from './text-formats.ts';
import { gameTexts } from './known-fields.ts';
import {
  fieldFileName,
  MAX_DEPTH,
  nestedName,
  tooDeep,
  type ContainerRun,
  type Part,
} from './container-run.ts';
import { type PartLocation, repeatedKey, uniqueTexts } from './parsed-container.ts';
import { MAX_PATH, type Collected, type CollectedText } from '../../../formats/collect/text-collector.ts';

export interface TextOrigin {
  readonly run: ContainerRun;
  readonly part: Part;
  readonly rule: CompiledRule;
  readonly location: PartLocation;
  /** The stable path to the file, object or table that the texts were collected from. */
  readonly keyPrefix: string;
  /** The field path up to `#` of the field that the file is inside of; empty for a file of its own. */
  readonly fieldPrefix: string;
}

/** Names and two columns or more in the first line, and something below it: what a table in a field looks like. */
const TABLE = /^[A-Za-z_][\w .-]*([,\t])[A-Za-z_][\w .-]*(?:\1[A-Za-z_][\w .-]*)*\r?\n./;
const JSON_START = /^\s*[[{]/;
const XML_START = /^\uFEFF?\s*<\?xml\s/;

/** UTF-16 code units of the name of a speaker or a scene, which many texts can share. A longer one is dropped. */
const MAX_CONTEXT = 1024;

/** Formats that hold other files; a file of them inside of a field is parsed as an entry. */
const CONTAINER_FORMATS: ReadonlySet<string> = new Set([
  'unity',
  'serialized',
  'zip',
  'gzip',
  'zlib',
  'sqlite',
  'flatbuffers',
]);

/** Hands over the collected texts that the rule selects, and parses the files inside of fields in their place. */
export async function emitTexts(origin: TextOrigin, collected: Collected): Promise<void> {
  const { run, rule, location, keyPrefix, fieldPrefix } = origin;
  run.skip('no_source_script', collected.dropped);
  run.skip('field_not_selected', collected.unselected ?? 0);
  if (collected.overlong > 0) {
    const message = `the paths of ${countText(collected.overlong, 'text')} have more than ${MAX_PATH} characters`;
    run.report(location, new FormatError('field_too_large', message), fieldPrefix);
  }
  const offered = gameTexts(collected, location.format, rule);
  run.skip('not_for_players', collected.texts.length - offered.length);
  const { texts, repeated } = uniqueTexts(offered);
  for (const { value, fieldPath } of repeated) {
    const path = fieldPrefix + fieldPath;
    const isUnit = typeof value !== 'string' || rule.hasSourceScript(value);
    if (isUnit && rule.isSelectedField(path)) run.report(location, repeatedKey(), path);
  }
  for (const text of texts) {
    const nested = rule.nestedFormat(text.fieldName);
    if (nested !== undefined && (await parseField(origin, text, nested))) continue;
    const { value, speaker, scene } = text;
    const fieldPath = fieldPrefix + text.fieldPath;
    if (typeof value !== 'string') run.skip('binary');
    else if (!rule.hasSourceScript(value)) run.skip('no_source_script');
    else if (!rule.isSelectedField(fieldPath) || !rule.meetsConditions(fieldPath, text.siblingOf)) {
      run.skip('field_not_selected');
    } else if (Buffer.byteLength(value) > run.limits.stringBytes) {
      const message = `a string of ${Buffer.byteLength(value)} bytes is longer than ${run.limits.stringBytes}`;
      run.report(location, new FormatError('field_too_large', message), fieldPath);
    } else {
      const keyPath = keyPrefix + text.keyPath;
      const length = Math.max(fieldPath.length, keyPath.length, location.archiveEntry?.length ?? 0);
      if (length > MAX_PATH) {
        const message = `the path of a text has ${length} characters, more than ${MAX_PATH}`;
        run.report(location, new FormatError('field_too_large', message), fieldPath);
        continue;
      }
      const context = { speaker: contextName(speaker), scene: contextName(scene) };
      await run.emitter.emit(location, { fieldPath, keyPath, sourceText: value, ...context });
    }
  }
}

/**
 * The format of the file inside of a field: as a rule names it, or as the value looks. `null` when the value is only a value.
 *
 * @param wanted by the rule
 */
export function fieldFormat(wanted: RuleFormat, value: string | Uint8Array): RuleFormat | null {
  if (wanted !== 'auto') return wanted;
  const guessed = typeof value === 'string' ? guessText(value) : sniffFormat(value, '');
  if (isTextFormat(guessed)) return guessed;
  return CONTAINER_FORMATS.has(guessed) ? 'auto' : null;
}

/** Parses the value of a field as a file; `false` when it is none. */
async function parseField(origin: TextOrigin, text: CollectedText, format: RuleFormat): Promise<boolean> {
  const { value } = text;
  if (format === 'skip') {
    origin.run.skip('skipped_by_rule');
    return true;
  }
  const found = fieldFormat(format, value);
  if (found === null) return false;
  if (isTextFormat(found)) {
    return await parseText(origin, text, found, format === 'auto' ? 'ignore' : 'report');
  }
  const { run, part, rule, location, fieldPrefix } = origin;
  if (fieldPrefix !== '') {
    // The path to an entry names one field, not a field of a text file in a field.
    const message = `a file of the format ${found} is in a field of a text file that is in a field itself`;
    run.report(location, new FormatError('nesting_unsupported', message), fieldPrefix + text.fieldPath);
    return true;
  }
  const name = fieldFileName(location.pathId, text.fieldPath);
  await run.parsePart({
    source: bytesSource(typeof value === 'string' ? Buffer.from(value) : value),
    name: text.fieldPath,
    ...nestedName(part, name, `${origin.keyPrefix}${text.keyPath}`),
    depth: part.depth + 1,
    given: { rule, format },
  });
  return true;
}

/**
 * Parses the text inside of a field. Its paths continue that of the field behind `#`.
 *
 * @param mistakes whether a value of which nothing can be read is an error, or no file at all
 */
async function parseText(
  origin: TextOrigin,
  { value, fieldPath, keyPath, speaker, scene }: CollectedText,
  format: TextFormat,
  mistakes: 'report' | 'ignore',
): Promise<boolean> {
  const { run, rule } = origin;
  const part = { ...origin.part, depth: origin.part.depth + 1 };
  const location = { ...origin.location, format: `${origin.location.format}+${format}` };
  const inner = {
    ...origin,
    part,
    location,
    fieldPrefix: `${origin.fieldPrefix}${fieldPath}#`,
    keyPrefix: `${origin.keyPrefix}${keyPath}#`,
  };
  const problems: { readonly error: FormatError; readonly path: string | null }[] = [];
  let collected: Collected = { texts: [], dropped: 0, overlong: 0 };
  try {
    if (part.depth > MAX_DEPTH) throw tooDeep();
    const decoded = decodedValue(value, rule);
    collected = collectText(decoded, format, rule, {
      limits: run.limits,
      reportPartError: (error, path) => problems.push({ error, path }),
    });
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    problems.push({ error, path: null });
  }
  const isEmpty = collected.texts.length + collected.dropped + collected.overlong === 0;
  if (mistakes === 'ignore' && isEmpty && problems.some(({ error }) => error.code.endsWith('_invalid'))) {
    return false;
  }
  for (const { error, path } of problems) run.report(location, error, `${inner.fieldPrefix}${path ?? ''}`);
  const texts = collected.texts.map((text) => ({
    ...text,
    speaker: text.speaker ?? speaker,
    scene: text.scene ?? scene,
  }));
  await emitTexts(inner, { ...collected, texts });
  return true;
}

function contextName(name: string | null): string | null {
  return name !== null && name.length > MAX_CONTEXT ? null : name;
}

function guessText(value: string): TextFormat | 'unknown' {
  if (JSON_START.test(value)) return 'json';
  if (XML_START.test(value)) return 'xml';
  const [, delimiter] = TABLE.exec(value) ?? [];
  if (delimiter === undefined) return 'unknown';
  return delimiter === ',' ? 'csv' : 'tsv';
}
