import type { BodyOf } from '../../contract/actions/body-of.ts';
import { ServiceError, type FieldError } from '../../contract/problems/service-error.ts';
import { blake3OfText } from '../../platform/hashing/text-blake3.ts';
import { unitIdBytes } from '../parse/index/unit-id-text.ts';
import type { GlossaryOverride, NamedUnit, TaskUpdate, UpdateResult } from './work/task-update.ts';

/** Seconds by which the clock of a reviewer's machine may be ahead. */
const CLOCK_TOLERANCE_SECONDS = 300;

type Body = BodyOf<'translation-task-update'>;

type Arguments = Pick<TaskUpdate, 'expect' | 'waive' | 'hold' | 'isTrial'>;

/**
 * Parses the body of `translation-task-update` to an update whose targets are not checked yet.
 *
 * @param tokenId the token of the caller
 * @param now Unix seconds
 * @throws ServiceError `invalid_request`, with a pointer to each wrong field
 */
export function parseTaskUpdate(body: Body, tokenId: string | null, now: number): TaskUpdate {
  const errors: FieldError[] = [];
  const results = parseResults(body.translation_results ?? [], errors);
  const named = parseArguments(body.args ?? [], errors);
  const override = parseOverride(body.glossary_override, now, errors);
  if (named.waive.length > 0) {
    for (const field of ['reviewer', 'reason'] as const) {
      if ((body[field] ?? '').trim() === '')
        errors.push({ pointer: `/${field}`, message: 'is required to waive a finding' });
    }
  }
  if (body.lease_seconds !== undefined && (body.worker_id ?? '') === '') {
    errors.push({
      pointer: '/worker_id',
      message: 'is required with lease_seconds: it names the owner of the claim',
    });
  }
  if (errors.length > 0) {
    throw new ServiceError('invalid_request', 'the update is not valid; "errors" names each field', {
      errors: errors.slice(0, 100),
    });
  }
  return {
    taskId: body.task_id,
    status: body.status ?? null,
    results,
    failureReason: body.failure_reason ?? null,
    providerRunId: body.provider_run_id ?? null,
    provider: body.provider ?? null,
    glossaryGeneration: null,
    judgedFor: null,
    override,
    workerId: body.worker_id ?? null,
    leaseSeconds: body.lease_seconds === undefined ? null : Number(body.lease_seconds),
    reviewer: body.reviewer ?? null,
    reason: body.reason ?? null,
    force: body.force ?? false,
    tokenId,
    ...named,
  };
}

/** Whether an update waives findings, which is the decision of a reviewer. */
export function waivesFindings({ args = [] }: Body): boolean {
  return args.some((entry) => entry.startsWith('waive='));
}

function parseResults(
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
    return { unitId, sourceText, sourceDigest, text, pointer, findings: [], qaIdentity: null };
  });
}

const ARGUMENT_FORMS =
  'must be one of expect=UNIT:REVISION, waive=UNIT:CHECK, hold=UNIT, dry_run=true, dry_run=false';

/** `expect=UNIT:REVISION`, `waive=UNIT:CHECK`, `hold=UNIT`, `dry_run=true`. */
function parseArguments(args: readonly string[], errors: FieldError[]): Arguments {
  const expect: (NamedUnit & { revision: number })[] = [];
  const waive: (NamedUnit & { check: string })[] = [];
  const hold: NamedUnit[] = [];
  for (const [index, entry] of args.entries()) {
    if (/^dry_run=(?:true|false)$/.test(entry)) continue;
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

function parseOverride(
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

function unitIdOf(text: string, pointer: string, errors: FieldError[]): Uint8Array | null {
  const bytes = unitIdBytes(text);
  if (bytes === null) errors.push({ pointer, message: 'must be a unit id, as parse.text_units gives it' });
  return bytes;
}
