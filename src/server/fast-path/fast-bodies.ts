import { blockSpan } from '../../domain/release/blocks.ts';
import type { CdnParts } from '../bytes/cdn-handler.ts';
import { READ_BYTES } from '../bytes/verified-object.ts';
import type { FastPlan, Prepared, PreparedAnswers } from './prepared-answers.ts';

/** Most bytes of a body that the fast path sends. */
export const FAST_BODY_BYTES = READ_BYTES;

/** The body of an answer, in the order in which it is sent. */
export interface MemoryBodies {
  readonly bodies: readonly Buffer[];
  /** What stays in memory for as long as a client does not take them. */
  readonly heldBytes: number;
}

/** The bytes of a plan when all of them are in memory, else `null`. Give them back to the buffers when they are sent. */
export function bodiesInMemory(
  { answers, cdn }: { readonly answers: PreparedAnswers; readonly cdn: CdnParts },
  prepared: Prepared,
  { start, end }: FastPlan,
): MemoryBodies | null {
  const { cache, buffers, metrics } = cdn;
  const { entry } = prepared;
  const body = start === end ? null : answers.body(prepared);
  if (body !== null) {
    metrics.cacheHits.add(1);
    return { bodies: [body.subarray(start, end)], heldBytes: body.length };
  }
  const bodies: Buffer[] = [];
  let heldBytes = 0;
  for (const piece of blockPieces(start, end, entry.size)) {
    const offset = piece.block * READ_BYTES;
    const bytes = cache.get(entry.blake3, piece.block, piece.start - offset, piece.end - offset);
    if (bytes === undefined) {
      for (const found of bodies) buffers.giveBack(found);
      return null;
    }
    bodies.push(bytes);
    // A view keeps its whole block, also when the cache lets go of it.
    heldBytes += bytes.buffer.byteLength;
  }
  if (bodies.length > 0) metrics.cacheHits.add(bodies.length);
  return { bodies, heldBytes };
}

/** Reads the verified bytes of a plan. Give them back to the buffers when they are sent. @throws ByteFault */
export async function readBodies(
  { reader, cache }: CdnParts,
  { entry, generation, release }: Prepared,
  { start, end }: FastPlan,
): Promise<Buffer[]> {
  const opened = await reader.open(entry, generation, release.channel);
  try {
    const bodies: Buffer[] = [];
    for (const piece of blockPieces(start, end, entry.size)) {
      bodies.push(await opened.read(piece, cache.wants(entry.blake3, piece.block)));
    }
    return bodies;
  } finally {
    opened.release();
  }
}

interface BlockPiece {
  readonly block: number;
  readonly start: number;
  readonly end: number;
}

/** The pieces of `[start, end)` as they lie in blocks; `end - start` is at most {@link FAST_BODY_BYTES}. */
function blockPieces(start: number, end: number, size: number): readonly BlockPiece[] {
  const pieces: BlockPiece[] = [];
  for (let at = start; at < end;) {
    const block = Math.floor(at / READ_BYTES);
    const until = Math.min(end, blockSpan(block, size).end);
    pieces.push({ block, start: at, end: until });
    at = until;
  }
  return pieces;
}
