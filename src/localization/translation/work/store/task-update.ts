import type { ProblemCode } from '../../../../contract/problems/problems.ts';
import type { AuthorKind, Finding, JudgedBy } from './target-rows.ts';
import type { ReportedTask } from './task-page.ts';
import type { TargetsChanged } from '../../../text-events.ts';
import { NAMES_WITHOUT_PROVIDER } from '../../../../contract/actions/provider-names.ts';
import type { UndoChoice } from '../../../../domain/translation/undo-decision.ts';
import { countText } from '../../../../domain/count-text.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import type { BuiltFor } from './builds.ts';

/** A target that a caller wants to store. */
export interface UpdateResult {
  readonly unitId: Uint8Array;
  readonly sourceText: string;
  /** Of the source text of the caller. */
  readonly sourceDigest: Uint8Array;
  readonly text: string;
  /** Where it is in the body. */
  readonly pointer: string;
  /** The findings on the target; empty before it was checked. */
  readonly findings: readonly Finding[];
  /** Of the Glossary diagnosis; `null` without one. */
  readonly qaIdentity: string | null;
  /** `null` before it was judged. */
  readonly judgedBy: JudgedBy | null;
}

/** A unit that an entry of `args` names. */
export interface NamedUnit {
  readonly unitId: Uint8Array;
  /** Where it is in the body. */
  readonly pointer: string;
}

/** The units that the entries of `args` name. */
export interface NamedUnits {
  /** Units that must have this revision; 0 for a unit without a target. */
  readonly expect: readonly (NamedUnit & { readonly revision: number })[];
  readonly waive: readonly (NamedUnit & { readonly check: string })[];
  readonly hold: readonly NamedUnit[];
  /** Whether nothing is stored: the answer is that of the same call without it. */
  readonly isTrial: boolean;
}

/** A decision to accept what the Glossary blocks. */
export interface GlossaryOverride {
  readonly qaIdentity: string;
  readonly reviewer: string;
  readonly reason: string;
  readonly provenance: string;
  /** Unix seconds. */
  readonly confirmedAt: number;
}

/** The stored targets to take back, from one place of the task on. */
export interface UndoRequest extends UndoChoice {
  /** The unit of the task after which it begins, as the call before has named it; -1 for the first one. */
  readonly after: number;
}

/** An update of a translation task. */
export interface TaskUpdate extends NamedUnits {
  readonly taskId: string;
  readonly status: 'pending' | 'in_progress' | 'translated' | 'failed' | 'skipped' | null;
  readonly results: readonly UpdateResult[];
  readonly undo?: UndoRequest;
  readonly failureReason: string | null;
  readonly providerRunId: string | null;
  readonly provider: string | null;
  /** The tasks in whose places the results were judged; `null` before that, and without results. */
  readonly judgedFor: BuiltFor | null;
  readonly override: GlossaryOverride | null;
  readonly workerId: string | null;
  readonly leaseSeconds: number | null;
  readonly reviewer: string | null;
  readonly reason: string | null;
  /** Whether the leases and the claims of others do not count. */
  readonly force: boolean;
  readonly tokenId: string | null;
}

/** A refused update. Nothing was changed. */
export interface UpdateRefusal {
  readonly isRefused: true;
  readonly code: ProblemCode;
  readonly detail: string;
  readonly errors: readonly { readonly pointer: string; readonly message: string }[];
}

/** A unit after an update. */
export interface UpdatedUnit {
  readonly unitId: Uint8Array;
  /** The id that the caller used; another one where the named task is superseded. */
  readonly requestedId: Uint8Array;
  readonly revision: number;
  readonly state: string;
}

/** An update that was made. */
export interface UpdateDone {
  readonly isRefused: false;
  readonly task: ReportedTask;
  /** The tasks that have the units now, where the named task is superseded. */
  readonly appliedTo: readonly string[];
  readonly written: readonly UpdatedUnit[];
  /** Results that change nothing: stored before by the same run of a provider, or taken back without a target. */
  readonly repeated: number;
  /** Targets that an undo has replaced, by the id that the caller uses. */
  readonly takenBack: readonly { readonly requestedId: Uint8Array; readonly text: string }[];
  /** `null` for a trial. */
  readonly event: TargetsChanged | null;
}

/** Results of an update in one container. */
interface ExaminedContainer {
  readonly destination: string;
  /** Whether a proofread has accepted units of the container. */
  readonly wasProofread: boolean;
  /** The index of each result in the update, and the ordinal of its unit in the file. */
  readonly units: readonly { readonly result: number; readonly ordinal: number }[];
}

/** An update that could be made, and where its targets are to be judged. */
export interface ExaminedUpdate {
  readonly isRefused: false;
  readonly builtFor: BuiltFor;
  readonly containers: readonly ExaminedContainer[];
}

/** The refusal of an update. */
export function refuse(
  code: ProblemCode,
  detail: string,
  errors: UpdateRefusal['errors'] = [],
): UpdateRefusal {
  return { isRefused: true, code, detail, errors };
}

/** The kind of author that made the targets of an update. Other providers are programs. */
export function authorKindOf({ provider, providerRunId }: TaskUpdate): AuthorKind {
  if (provider === null) return providerRunId === null ? 'person' : 'machine';
  return NAMES_WITHOUT_PROVIDER.get(provider) ?? 'machine';
}

/** Ends the transaction of an update that is refused after it has begun to write. */
export class UpdateRefused extends Error {
  readonly refusal: UpdateRefusal;

  constructor(refusal: UpdateRefusal) {
    super(refusal.detail);
    this.refusal = refusal;
  }
}

/** Most units that a refusal names. */
export const NAMED_UNITS = 20;

/** Names a blocked unit with the identity that an override must have. */
export function nameBlocked(unitId: Uint8Array, qaIdentity: string | null): string {
  return qaIdentity === null ? unitIdText(unitId) : `${unitIdText(unitId)} (${qaIdentity})`;
}

/** The sentence of a refusal because of blocked units. @param named some of them */
export function blockedDetail(count: number, named: readonly string[]): string {
  return `${countText(count, 'unit has', 'units have')} blocking findings: ${named.join(', ')}; correct, waive or override them, or send in_progress`;
}
