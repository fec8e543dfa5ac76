import { createHash } from 'node:crypto';
import type { BodyOf } from '../../../../contract/actions/body-of.ts';
import type { FieldError } from '../../../../contract/problems/service-error.ts';
import { blake3OfText } from '../../../../platform/hashing/text-blake3.ts';
import { unitIdBytes } from '../../../unit-id-text.ts';
import type { TaskArguments } from '../../../../engine/tasks/task.ts';
import type {
  GlossaryOverride,
  NamedUnit,
  NamedUnits,
  UndoRequest,
  UpdateResult,
} from '../store/task-update.ts';

const NOTHING_CHOSEN: UndoRequest = { run: null, author: null, since: null, after: -1 };
/** Seconds by which the clock of a reviewer's machine may be ahead. */
const CLOCK_TOLERANCE_SECONDS = 300;

type Body = BodyOf<'translation-task-update'>;

const ARGUMENT_FORMS =
  'must be one of expect=UNIT:REVISION, waive=UNIT:CHECK, hold=UNIT, dry_run=true, dry_run=false';

/** Parses `translation_results`; adds what is wrong to `errors`. */
export function parseResults(
  results: NonNullable<Body['translation_results']>,
  errors: FieldError[],
): UpdateResult[] {
  const seen = new Set<string>();
  return results.flatMap(({ unit_id: id, source_text: sourceText, translated_text: text }, index) => {
    const pointer = `/translation_results/${index}`;
    const unitId = unitIdOf(id, `${pointer}/unit_id`, errors);
    if (seen.has(id)) errors.push({ pointer: `${pointer}/unit_id`, message: 'is named twice' });
    seen.add(id);
    if (!text.isWellFormed()) {
      errors.push({
        pointer: `${pointer}/translated_text`,
        message: 'has half of a surrogate pair, which no text can hold',
      });
    }
    if (unitId === null) return [];
    const sourceDigest = blake3OfText(sourceText);
    return {
      unitId,
      sourceText,
      sourceDigest,
      text,
      pointer,
      findings: [],
      qaIdentity: null,
      judgedBy: null,
    };
  });
}

/**
 * Parses `undo_run=RUN`, `undo_author=TOKEN` and `undo_since=SECONDS`, and `undo_after=NUMBER`, the `undo_next` of the call before;
 * adds what is wrong to `errors`.
 *
 * @returns the choice as a field of the update, and the places of its entries
 */
export function parseUndo(
  { args = [], translation_results: results = [], status = 'in_progress' }: Body,
  errors: FieldError[],
): { readonly fields: { readonly undo?: UndoRequest }; readonly taken: ReadonlySet<number> } {
  let undo: UndoRequest | undefined;
  const taken = new Set<number>();
  for (const [index, entry] of args.entries()) {
    const [, name, value = ''] = /^undo_(run|author|since|after)=(.+)$/s.exec(entry) ?? [];
    if (name === undefined) continue;
    taken.add(index);
    const isNumber = name === 'since' || name === 'after';
    if (isNumber && !/^\d{1,12}$/.test(value)) {
      const what =
        name === 'since' ? 'the time must be in Unix seconds' : 'must be a number, the undo_next of a result';
      errors.push({ pointer: `/args/${index}`, message: what });
    }
    undo = { ...(undo ?? NOTHING_CHOSEN), [name]: isNumber ? Number(value) : value };
  }
  if (undo === undefined) return { fields: {}, taken };
  if (undo.run === null && undo.author === null && undo.since === null)
    errors.push({ pointer: '/args', message: 'undo_after needs undo_run, undo_author or undo_since' });
  if (results.length > 0 || status !== 'in_progress')
    errors.push({ pointer: '/args', message: 'an undo has no results, and no status but in_progress' });
  return { fields: { undo }, taken };
}

/**
 * Parses `expect=UNIT:REVISION`, `waive=UNIT:CHECK`, `hold=UNIT`, `dry_run=true`; adds what is wrong to `errors`.
 *
 * @param taken places of entries that something else has parsed
 */
export function parseArguments(
  args: readonly string[],
  errors: FieldError[],
  taken: ReadonlySet<number> = new Set(),
): NamedUnits {
  const expect: (NamedUnit & { revision: number })[] = [];
  const waive: (NamedUnit & { check: string })[] = [];
  const hold: NamedUnit[] = [];
  for (const [index, entry] of args.entries()) {
    if (taken.has(index) || /^dry_run=(?:true|false)$/.test(entry)) continue;
    const pointer = `/args/${index}`;
    const [, key, id = '', value] = /^(expect|waive|hold)=([^:]*)(?::(.*))?$/s.exec(entry) ?? [];
    if (key === undefined || (key === 'hold') !== (value === undefined)) {
      errors.push({ pointer, message: ARGUMENT_FORMS });
      continue;
    }
    const unitId = unitIdOf(id, pointer, errors);
    if (unitId === null) continue;
    if (key === 'hold') hold.push({ unitId, pointer });
    else if (key === 'waive') waive.push({ unitId, pointer, check: value ?? '' });
    else if (/^(?:0|[1-9]\d{0,14})$/.test(value ?? ''))
      expect.push({ unitId, pointer, revision: Number(value) });
    else errors.push({ pointer, message: 'the revision must be a whole number' });
  }
  return { expect, waive, hold, isTrial: args.includes('dry_run=true') };
}

/**
 * Parses `glossary_override`; adds what is wrong to `errors`.
 *
 * @param now Unix seconds
 */
export function parseOverride(
  override: Body['glossary_override'],
  now: number,
  errors: FieldError[],
): GlossaryOverride | null {
  if (override === undefined) return null;
  const { qa_identity: qaIdentity, reviewer, reason, provenance } = override;
  for (const field of ['reviewer', 'reason', 'provenance'] as const) {
    if (override[field].trim() === '')
      errors.push({ pointer: `/glossary_override/${field}`, message: 'must not be blank' });
  }
  const confirmedAt = Number(override.confirmed_unix_seconds);
  if (confirmedAt > now + CLOCK_TOLERANCE_SECONDS) {
    errors.push({
      pointer: '/glossary_override/confirmed_unix_seconds',
      message: 'must not be in the future',
    });
  }
  return { qaIdentity, reviewer, reason, provenance, confirmedAt };
}

/** The arguments of the recorded task: a digest stands for the texts, of which there may be megabytes. */
export function withoutTexts(body: Body | BodyOf<'translation-proofread'>): TaskArguments {
  const { translation_results: results, reviewer: _reviewer, reason: _reason, ...rest } = body;
  if (results === undefined) return rest;
  const digest = createHash('sha256').update(JSON.stringify(results)).digest('hex');
  return { ...rest, translation_results: { count: results.length, sha256: digest } };
}

function unitIdOf(text: string, pointer: string, errors: FieldError[]): Uint8Array | null {
  const bytes = unitIdBytes(text);
  if (bytes === null) errors.push({ pointer, message: 'must be a unit id, as parse.text_units gives it' });
  return bytes;
}
