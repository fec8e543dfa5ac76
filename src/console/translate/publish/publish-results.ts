/** The results of tasks that publish and roll back, as far as the page shows them. A daemon of another version may leave members out. */

import type { Report } from '../../api/wire.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Why nothing can be published. */
interface Blocker {
  readonly code: string;
  readonly message: string;
}

/** A unit whose finding blocks the publication. */
interface BlockedUnit {
  readonly taskId: string;
  readonly unitId: string;
  readonly destination: string;
  readonly codes: readonly string[];
}

/** A file that gets another text. */
export interface ChangedFile {
  readonly destination: string;
  /** Translated units of the file; `null` when not known. */
  readonly units: number | null;
  /** Bytes of the file; `null` before it is built. */
  readonly size: number | null;
}

/** The result of a publication, or of its dry run. */
export interface PublishResult {
  /** Whether the current localized release has these texts already. */
  readonly isUnchanged: boolean;
  readonly baseReleaseId: string | null;
  readonly localizedReleaseId: string | null;
  /** From 0 to 1; `null` when not known. */
  readonly coverage: number | null;
  /** Units by what becomes of them. */
  readonly units: Readonly<Record<string, number>>;
  readonly blockers: readonly Blocker[];
  readonly blocked: readonly BlockedUnit[];
  readonly files: readonly ChangedFile[];
  /** All files, of which {@link files} has the first. */
  readonly fileCount: number;
}

/** The text of a unit that readers see. */
export interface ReadText {
  readonly isOfficial: boolean;
  /** `null` when it is not known any longer. */
  readonly text: string | null;
}

/** A line that readers see change. */
export interface TextChange {
  readonly unitId: string;
  readonly destination: string;
  readonly source: string | null;
  readonly before: ReadText;
  readonly after: ReadText;
}

/** The result of a rollback, or of its dry run. */
export interface RollbackResult {
  readonly from: string;
  /** `null`: the channel is withdrawn. */
  readonly to: string | null;
  /** `null` when the texts of a release are not known. */
  readonly changedUnits: number | null;
  readonly changes: readonly TextChange[];
  readonly files: readonly ChangedFile[];
  /** Units that are put on hold; `null` when a dry run does not know. */
  readonly heldUnits: number | null;
}

/** Whether a publication has to resume publishing after a rollback: one that stopped the automation, or withdrew the channel. */
export function mustResume(
  status: Pick<Report<'translation.status'>, 'automation' | 'publish_blockers'>,
): boolean {
  const isWithdrawn = status.publish_blockers.some(({ code }) => code === 'release_rolled_back');
  return isWithdrawn || status.automation.state === 'stopped';
}

/**
 * Whether releases were published, rolled back or withdrawn after a time: what a task said before is no longer so.
 *
 * @param at Unix seconds
 */
export function hasChangedSince(
  { history }: Pick<Report<'translation.status'>, 'history'>,
  at: number,
): boolean {
  return history.some(
    ({ at: since, rolled_back: rollback, state }) =>
      (state === 'current' && since > at) || (rollback !== null && rollback.at > at),
  );
}

/** Reads the result of `localized-publish`. */
export function readPublishResult(result: Fields): PublishResult {
  const files = listOf(result['files']).map(fileOf);
  return {
    isUnchanged: result['unchanged'] === true,
    baseReleaseId: textOf(result['base_release_id']),
    localizedReleaseId: textOf(result['localized_release_id']),
    coverage: numberOf(result['coverage']),
    units: countsOf(result['units']),
    blockers: listOf(result['blockers']).map(({ code, message }) => ({
      code: textOf(code) ?? '',
      message: textOf(message) ?? '',
    })),
    blocked: listOf(result['blocked_units']).map((unit) => ({
      taskId: textOf(unit['task_id']) ?? '',
      unitId: textOf(unit['unit_id']) ?? '',
      destination: textOf(unit['destination']) ?? '',
      codes: Array.isArray(unit['codes']) ? unit['codes'].map(String) : [],
    })),
    files,
    fileCount: numberOf(result['replaced_entries']) ?? numberOf(result['containers']) ?? files.length,
  };
}

/** Reads the result of `localized-rollback`. */
export function readRollbackResult(result: Fields): RollbackResult {
  return {
    from: textOf(result['rolled_back_release_id']) ?? '',
    to: textOf(result['localized_release_id']),
    changedUnits: numberOf(result['changed_units']),
    changes: listOf(result['changes']).map((change) => ({
      unitId: textOf(change['unit_id']) ?? '',
      destination: textOf(change['destination']) ?? '',
      source: textOf(change['source_text']),
      before: readTextOf(change['before']),
      after: readTextOf(change['after']),
    })),
    files: listOf(result['files']).map(fileOf),
    heldUnits: numberOf(result['held_units']),
  };
}

function fileOf(file: Fields): ChangedFile {
  return {
    destination: textOf(file['destination']) ?? '',
    units: numberOf(file['edited_units']) ?? numberOf(file['units']),
    size: numberOf(file['size']),
  };
}

function readTextOf(value: unknown): ReadText {
  const { official, text } = fieldsOf(value);
  return { isOfficial: official === true, text: textOf(text) };
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function countsOf(value: unknown): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(fieldsOf(value)).flatMap(([name, each]) =>
      typeof each === 'number' ? [[name, each] as const] : [],
    ),
  );
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
