import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { formatOfFile, endingChoice } from '../../../contract/formats/exchange-formats.ts';
import { ExchangeFileError } from '../../../contract/formats/exchange-file-error.ts';
import type { LanguagePair } from '../../../domain/glossary/term.ts';
import { isRecord } from '../../../domain/is-record.ts';
import { isSameLanguage } from '../../../domain/text/language-tag.ts';
import { MEMORY_FORMATS } from '../../../exchange/memory/memory-formats.ts';
import type { TmxUnit } from '../../../exchange/tmx/tmx-record.ts';
import { createUnitReader } from '../../../exchange/units/unit-formats.ts';
import type { ReadResult } from '../../../exchange/units/unit-record.ts';
import { bufferOf } from '../../../platform/buffer-of.ts';
import { blake3OfText } from '../../../platform/hashing/text-blake3.ts';
import { messageOf } from '../../../platform/errors.ts';
import { errorCode } from '../../../platform/files/error-code.ts';
import type { TextPlace } from '../judge/text-place.ts';
import { QualityError } from './quality-error.ts';

/** A source with the translation that people reviewed. */
export interface ReferenceText {
  readonly sourceText: string;
  readonly reference: string;
  /** Where it is in the game; a file that does not say has empty names. */
  readonly place: TextPlace;
}

/** The chosen texts of a set, in the order of the file. */
export interface ReferenceSet {
  readonly texts: readonly ReferenceText[];
  /** Texts of the file that can be used, repetitions included. */
  readonly usable: number;
  /** What cannot be used, by the reason. */
  readonly leftOut: Readonly<Record<string, number>>;
}

/** Comparing longer texts takes too much memory. */
const MAX_CHARACTERS = 20_000;
const HEAD_BYTES = 64 * 1024;

type ReadText = ReferenceText | { readonly leftOut: string };

/**
 * Reads a set, and chooses texts of it: the same ones each time, wherever they are in the file. Memory is bounded by the number of
 * texts that are wanted.
 *
 * @throws QualityError when the file cannot be used
 */
export async function readReferenceSet(
  path: string,
  pair: LanguagePair,
  limit: number,
  signal: AbortSignal,
): Promise<ReferenceSet> {
  const choice = createChoice(limit);
  try {
    for await (const text of textsOf(path, pair, signal)) choice.add(text);
  } catch (error) {
    if (error instanceof ExchangeFileError) throw new QualityError(`${path}: ${error.message}`);
    if (errorCode(error) === null || signal.aborted) throw error;
    if (errorCode(error) !== 'ENOENT') throw new QualityError(`${path} cannot be read: ${messageOf(error)}`);
    throw new QualityError(
      `there is no file ${path}; slipway ctl memory export writes to the exchange folder of the daemon (exchange.root), so copy the file from there`,
    );
  }
  const set = choice.end();
  if (set.texts.length > 0) return set;
  const reasons = Object.entries(set.leftOut).map(
    ([reason, count]) => `${count} ${reason.replaceAll('_', ' ')}`,
  );
  throw new QualityError(
    `${path} has no text from ${pair.sourceLanguage} to ${pair.targetLanguage} with a reviewed translation` +
      (reasons.length === 0 ? '' : ` (left out: ${reasons.join(', ')})`),
  );
}

/** Keeps the texts whose digests are the lowest. */
function createChoice(limit: number) {
  interface Kept {
    readonly digest: string;
    readonly at: number;
    readonly text: ReferenceText;
  }
  let kept = new Map<string, Kept>();
  let bound: string | null = null;
  let usable = 0;
  const leftOut: Record<string, number> = {};
  const lowest = (): Map<string, Kept> => {
    const sorted = [...kept.values()].toSorted((one, other) => (one.digest < other.digest ? -1 : 1));
    return new Map(sorted.slice(0, limit).map((each) => [each.digest, each]));
  };
  return {
    add: (text: ReadText): void => {
      const reason = 'leftOut' in text ? text.leftOut : unusable(text);
      if (reason !== null || 'leftOut' in text) {
        if (reason !== null) leftOut[reason] = (leftOut[reason] ?? 0) + 1;
        return;
      }
      usable += 1;
      const digest = bufferOf(blake3OfText(`${text.sourceText}\0${text.reference}`)).toString('hex');
      if (kept.has(digest)) return;
      if (bound !== null && digest > bound) return;
      kept.set(digest, { digest, at: usable, text });
      if (kept.size < limit * 2) return;
      kept = lowest();
      bound = [...kept.keys()].at(-1) ?? null;
    },
    end: (): ReferenceSet => {
      const texts = [...lowest().values()].toSorted((one, other) => one.at - other.at);
      return { texts: texts.map(({ text }) => text), usable, leftOut };
    },
  };
}

function unusable({ sourceText, reference }: ReferenceText): string | null {
  if (sourceText.trim() === '' || reference.trim() === '') return 'without_translation';
  return sourceText.length > MAX_CHARACTERS || reference.length > MAX_CHARACTERS ? 'too_long' : null;
}

async function* textsOf(path: string, pair: LanguagePair, signal: AbortSignal): AsyncGenerator<ReadText> {
  const pieces = createReadStream(path, { signal }) as AsyncIterable<Buffer>;
  const memory = formatOfFile('memory', path);
  if (memory === 'tmx' || (memory === 'jsonl' && (await isMemory(path)))) {
    const reader = MEMORY_FORMATS[memory].createReader(pair.sourceLanguage);
    for await (const bytes of pieces) yield* reader.write(bytes).flatMap((unit) => recordTexts(unit, pair));
    yield* reader.end().flatMap((unit) => recordTexts(unit, pair));
    return;
  }
  const format = formatOfFile('units', path);
  if (format === null) {
    const endings = `${endingChoice('memory')}, or units: ${endingChoice('units')}`;
    throw new QualityError(`${path}: the name of a set ends with ${endings}`);
  }
  const reader = createUnitReader(format);
  const textOf = (result: ReadResult): ReadText => {
    const { sourceLanguage = pair.sourceLanguage, targetLanguage = pair.targetLanguage } = reader.languages();
    const isOther =
      !isSameLanguage(sourceLanguage, pair.sourceLanguage) ||
      !isSameLanguage(targetLanguage, pair.targetLanguage);
    return isOther ? { leftOut: 'other_languages' } : unitText(result);
  };
  for await (const bytes of pieces) yield* reader.write(bytes).map(textOf);
  for await (const result of reader.end()) yield textOf(result);
}

/** Whether a file of JSON lines has records of a memory: its first line says so, or names the languages of an item. */
async function isMemory(path: string): Promise<boolean> {
  await using file = await open(path);
  const { bytesRead, buffer } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
  const [line = ''] = buffer.toString('utf8', 0, bytesRead).split('\n');
  try {
    const first: unknown = JSON.parse(line.replace(/^\ufeff/, ''));
    if (!isRecord(first)) return false;
    return typeof first['format'] === 'string'
      ? first['format'].startsWith('slipway-memory-')
      : 'target_language' in first;
  } catch {
    // The reader of the file says what is wrong with the line.
    return false;
  }
}

function recordTexts(unit: TmxUnit, pair: LanguagePair): readonly ReadText[] {
  if (unit.kind === 'problem') return [{ leftOut: 'not_readable' }];
  return unit.records.map((record) => {
    const isOther =
      !isSameLanguage(record.source_language, pair.sourceLanguage) ||
      !isSameLanguage(record.target_language, pair.targetLanguage);
    if (isOther) return { leftOut: 'other_languages' };
    // Files of other programs have no states: their translations were kept by people.
    if (record.state !== null && record.state !== 'trusted') return { leftOut: 'not_reviewed' };
    const { source_text: sourceText, target_text: reference, context } = record;
    return { sourceText, reference, place: placeOf(context) };
  });
}

function unitText(result: ReadResult): ReadText {
  if (result.kind === 'problem') return { leftOut: 'not_readable' };
  const { source_text: sourceText, target_text: reference, context, locator } = result.unit;
  const place = placeOf(context);
  if (locator === null) return { sourceText, reference: reference ?? '', place };
  const { destination, field_path: fieldPath, archive_entry: archiveEntry } = locator;
  return {
    sourceText,
    reference: reference ?? '',
    place: { ...place, destination, fieldPath, archiveEntry },
  };
}

function placeOf(context: Readonly<Record<string, string>>): TextPlace {
  return {
    destination: context['destination'] ?? '',
    archiveEntry: context['archive_entry'] ?? null,
    fieldPath: context['field_path'] ?? '',
    speaker: context['speaker'] ?? null,
    scene: context['scene'] ?? null,
  };
}
