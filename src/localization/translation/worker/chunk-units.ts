import { unitIdText } from '../../unit-id-text.ts';
import type { LeasedUnit, OpenChunk } from '../work/leases/free-chunks.ts';
import type { SourceUnit, UnitSource } from '../judge/unit-source.ts';
import { bufferOf } from '../../../platform/buffer-of.ts';

/** A unit of a chunk that needs a target. */
export interface ChunkUnit {
  readonly leased: LeasedUnit;
  readonly source: SourceUnit;
  readonly key: string;
}

/** Units with one translation: the first is translated, and the others get the same text. */
export interface Repetition {
  readonly leader: ChunkUnit;
  readonly followers: readonly ChunkUnit[];
  /** Of the leader; batches are measured by it. */
  readonly sourceText: string;
}

/** Neighbours on each side: contexts of the memory and prompts use them. */
const NEIGHBOURS = 3;

/** Reads the texts of a chunk. */
export async function readChunk(
  units: UnitSource,
  chunk: OpenChunk,
  signal: AbortSignal,
): Promise<readonly ChunkUnit[]> {
  if (chunk.units.length === 0) return [];
  const { releaseId, generation, destination } = chunk;
  const ordinals = chunk.units.map(({ ordinal }) => ordinal);
  const request = { releaseId, generation, destination, ordinals, neighbours: NEIGHBOURS };
  const sources = await units.unitsOf(request, signal);
  return chunk.units.flatMap((leased, index) => {
    const source = sources[index];
    return source === undefined ? [] : [{ leased, source, key: unitIdText(leased.unitId) }];
  });
}

/** Groups the repetitions among units, in the order of their first unit. */
export function groupRepetitions(units: readonly ChunkUnit[]): readonly Repetition[] {
  const groups = Map.groupBy(units, ({ leased }) => hexOf(leased.repetition));
  return [...groups.values()].flatMap(([leader, ...followers]) =>
    leader === undefined ? [] : [{ leader, followers, sourceText: leader.source.unit.sourceText }],
  );
}

function hexOf(bytes: Uint8Array): string {
  return bufferOf(bytes).toString('hex');
}
