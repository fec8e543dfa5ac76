import type { Channel } from '../../domain/release/channel.ts';
import type { PodEvidence } from '../pods/evidence-book.ts';
import type { ObservedEdges } from './observer.ts';

/**
 * Whether every edge that gets requests has a release whole. One that has just failed to answer does not tell, and one beyond those that
 * are asked does not either. Without an edge nobody knows for whom the release waits. Edges that start or shut down do not count:
 * clients do not reach them.
 */
export function areWhole({ ready, asked }: ObservedEdges, channel: Channel, releaseId: string): boolean {
  const serving = asked.filter(({ endpoint }) => endpoint === 'ready');
  return ready > 0 && serving.length === ready && serving.every((edge) => isWhole(edge, channel, releaseId));
}

/** An edge can be ahead of its origin by the difference of the clocks. */
function isWhole({ health, failure }: PodEvidence, channel: Channel, releaseId: string): boolean {
  if (health === null || failure !== null) return false;
  if (health.announced?.[channel]?.release_id === releaseId) return true;
  const { distributable, release_id: currentId } = health.verdicts[channel];
  return distributable && currentId === releaseId;
}
