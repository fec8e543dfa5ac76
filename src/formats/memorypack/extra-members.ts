import { setImmediate as nextTurn } from 'node:timers/promises';
import { MemoryPackError } from './memory-pack-cursor.ts';
import type { ExtraMembers, ObjectLayout, ScalarKind } from './memory-pack-layout.ts';
import { readMemoryPack, UnknownMembersError } from './read-memory-pack.ts';

/** Maximum number of members behind those of a layout: a guess about more of them takes too long. */
const EXTRA_MAX = 3;
const KINDS: readonly ScalarKind[] = ['boolean', 'int32', 'int64', 'string', 'strings'];
/** The trials of one document together read at most this many times its bytes, and {@link TRIALS_BYTES} more. */
const TRIALS_READS = 4;
const TRIALS_BYTES = 8 * 1024 * 1024;
/** Elements read between two turns of the event loop. */
const ELEMENTS_PER_TURN = 2000;

/**
 * Finds out what the members are that the objects of a document have behind those of their layouts. MemoryPack does not
 * write the kinds of members. The kinds are those with which the rest of the document is sound: its lengths fit, its
 * texts are UTF-8 of the stated length, its truth values are 0 or 1. Where several kinds are possible, those count with
 * which the most bytes of the document are read.
 *
 * @returns the kinds by layout; empty when no object has extra members
 * @throws MemoryPackError of the trial that came furthest
 */
export async function findExtraMembers(bytes: Buffer, root: ObjectLayout): Promise<ExtraMembers> {
  let best: { readonly extras: ExtraMembers; readonly end: number } | null = null;
  let failure: MemoryPackError | null = null;
  let bytesLeft = bytes.length * TRIALS_READS + TRIALS_BYTES;
  const pending: ExtraMembers[] = [new Map()];
  for (let extras = pending.pop(); extras !== undefined; extras = pending.pop()) {
    const trial = await tryExtras(bytes, root, extras);
    bytesLeft -= trial.end;
    if (trial.error === null) {
      if (best === null || trial.end > best.end) best = { extras, end: trial.end };
      if (trial.end === bytes.length) break;
    } else if (isOpen(trial.error, extras)) {
      for (const kinds of sequences(trial.error.extra).toReversed()) {
        pending.push(new Map(extras).set(trial.error.layout, kinds));
      }
    } else if (failure === null || trial.error.offset > failure.offset) failure = trial.error;
    if (bytesLeft < 0) break;
  }
  if (best !== null) return best.extras;
  throw failure ?? new MemoryPackError('its objects have members that cannot be read', 0);
}

/** Whether the trial failed only because kinds are still to be guessed. */
function isOpen(error: MemoryPackError, extras: ExtraMembers): error is UnknownMembersError {
  return error instanceof UnknownMembersError && error.extra <= EXTRA_MAX && !extras.has(error.layout);
}

async function tryExtras(
  bytes: Buffer,
  root: ObjectLayout,
  extras: ExtraMembers,
): Promise<{
  readonly error: MemoryPackError | null;
  readonly end: number;
}> {
  const elements = readMemoryPack(bytes, root, extras);
  try {
    for (let read = 1; ; read += 1) {
      const next = elements.next();
      if (next.done === true) return { error: null, end: next.value };
      if (next.value === null || read % ELEMENTS_PER_TURN === 0) await nextTurn();
    }
  } catch (error) {
    if (!(error instanceof MemoryPackError)) throw error;
    return { error, end: error.offset };
  }
}

/** Every sequence of kinds of this length. */
function sequences(length: number): readonly (readonly ScalarKind[])[] {
  if (length === 0) return [[]];
  return sequences(length - 1).flatMap((rest) => KINDS.map((kind) => [...rest, kind]));
}
